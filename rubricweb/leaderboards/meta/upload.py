"""An uploaded leaderboard as a file that the reader can open: it tells formats apart by the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files.uploadedfile import UploadedFile


@contextmanager
def stored(file: UploadedFile[bytes]) -> Iterator[Path]:
    """The file under its own name, for as long as the block runs."""
    with TemporaryDirectory(prefix="rubricweb-") as folder:
        path = Path(folder) / (Path(file.name or "").name or "leaderboard")
        path.write_bytes(file.read())
        yield path
