"""An uploaded leaderboard as a file that the reader can open: it tells formats apart by the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from django.core.files.uploadedfile import UploadedFile

MAX_NAME_BYTES = 200


@contextmanager
def stored(file: UploadedFile[bytes]) -> Iterator[Path]:
    """Return the file under its own name, for as long as the block runs."""
    with TemporaryDirectory(prefix="rubricweb-") as folder:
        path = Path(folder) / _file_name(file.name or "")
        path.write_bytes(file.read())
        yield path


def _file_name(stated: str) -> str:
    """As the person's machine has it, but no longer than ours allows; only errors show it."""
    return Path(stated).name.encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "leaderboard"
