"""Whole collections from files, in one transaction: `collection` conducts corpus, banks and grades."""

from rubricweb.grades.importers.collection import ImportFiles, ImportSummary, import_collection

__all__ = ["ImportFiles", "ImportSummary", "import_collection"]
