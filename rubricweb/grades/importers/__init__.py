"""Whole collections from files, in one transaction: `collection` calls the importers of corpus, banks and
grades.
"""

from rubricweb.grades.importers.collection import (
    DEFAULT_BANK,
    ImportFiles,
    ImportSummary,
    import_collection,
)

__all__ = ["DEFAULT_BANK", "ImportFiles", "ImportSummary", "import_collection"]
