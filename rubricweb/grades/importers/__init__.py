"""Imports of whole collections: `collection` calls the importers of corpus, banks and grades."""

from rubricweb.grades.importers.collection import (
    DEFAULT_BANK,
    NUGGET_GRADER,
    ImportFiles,
    ImportSummary,
    import_collection,
)

__all__ = [
    "DEFAULT_BANK",
    "NUGGET_GRADER",
    "ImportFiles",
    "ImportSummary",
    "import_collection",
]
