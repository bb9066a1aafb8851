"""Imports that keep nobody waiting, and what an import would do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.core import copies
from rubricweb.grades.importers.collection import ImportFiles, ImportSummary, import_collection

LARGE_BYTES = 250_000
"""Files that together are at least this large, packed or not, hold SQLite's lock too long."""

Then = Callable[[ImportSummary], object]


def import_files(
    slug: str,
    *,
    files: ImportFiles,
    by: User | None,
    first: Callable[[], object] = lambda: None,
    then: Then = lambda summary: None,
) -> ImportSummary:
    """As `import_collection`; large files are imported in a copy of a SQLite database and then taken over.

    `first` is called before the import, where the import is made. `then` is called within the transaction
    that makes it true. Raises BadFormat, and `copies.Overtaken` if others changed meanwhile what the import
    changes.
    """

    def work() -> ImportSummary:
        first()
        return import_collection(slug, files=files, by=by)

    if not _is_large(files):
        with transaction.atomic():
            summary = work()
            then(summary)
        return summary
    with copies.changes_of(work) as (summary, changes):
        with changes.taken_over():
            then(summary)
        return summary


def preview_import(slug: str, *, files: ImportFiles, by: User | None) -> ImportSummary:
    """Return what an import would do; nothing is changed. Raises BadFormat."""
    if not _is_large(files):
        with transaction.atomic():
            summary = import_collection(slug, files=files, by=by)
            transaction.set_rollback(True)
        return summary
    with copies.changes_of(partial(import_collection, slug, files=files, by=by)) as (summary, _):
        return summary


def _is_large(files: ImportFiles) -> bool:
    return sum(path.stat().st_size for path in paths_of(files)) >= LARGE_BYTES and copies.are_possible()


def paths_of(files: ImportFiles) -> list[Path]:
    """Return all files of the import that exist, those of folders included."""
    named = [files.queries, files.qrels, files.official, files.runs, *files.run_files]
    named += [files.labels, files.labels_of]
    named += [*files.passages, *files.graded, *files.nugget_grades, *files.banks, *files.responses]
    named += [*files.ratings, *files.flags, *files.votes, *files.support]
    paths = [path for path in named if path]
    inside = [path for folder in paths if folder.is_dir() for path in folder.iterdir()]
    return [path for path in (*paths, *inside) if path.is_file()]
