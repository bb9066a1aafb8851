"""Uploaded files that belong to rows of a collection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Model

from rubricweb.archives import tables
from rubricweb.corpus.models import Collection
from rubricweb.imports import staging
from rubricweb.imports.models import ImportFile
from rubricweb.releases.models import Release
from rubricweb.submissions import files
from rubricweb.submissions.models import Submission


def _release(row: Release) -> Path:
    return row.path


PLACES: dict[type[Model], Callable[[Any], Path]] = {
    ImportFile: staging.path_of,
    Submission: files.path_of,
    Release: _release,
}
"""By model whose rows stand for a file: where the file is."""


def files_of(collection: Collection) -> Iterator[tuple[Model, Path]]:
    """The files that are there, each with its row."""
    for table in tables.archived():
        if table.model in PLACES:
            for row in table.rows(collection).order_by("pk"):
                path = PLACES[table.model](row)
                if path.is_file():
                    yield row, path


def remove(paths: list[Path]) -> None:
    """Delete files, with folders that are empty then."""
    for path in paths:
        path.unlink(missing_ok=True)
        for folder in (path.parent, path.parent.parent):
            is_own = folder != Path(settings.DATA_DIR) and folder.is_dir()
            if is_own and not any(folder.iterdir()):
                folder.rmdir()
