"""Whole collections from files, all or nothing: `collection` calls the importers of corpus, banks and grades;
`in_copies` makes large imports without holding SQLite's lock.
"""

from rubricweb.grades.importers.collection import (
    DEFAULT_BANK,
    NUGGET_GRADER,
    ImportFiles,
    ImportSummary,
    import_collection,
)
from rubricweb.grades.importers.in_copies import import_files, paths_of, preview_import

__all__ = [
    "DEFAULT_BANK",
    "NUGGET_GRADER",
    "ImportFiles",
    "ImportSummary",
    "import_collection",
    "import_files",
    "paths_of",
    "preview_import",
]
