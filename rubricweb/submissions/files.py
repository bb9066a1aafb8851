"""Where submitted files lie: `submissions/` in the data folder, each as it was sent."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from grading.errors import BadFormat
from rubricweb.core.forms import write_chunks
from rubricweb.corpus.models import Collection
from rubricweb.imports import zips
from rubricweb.imports.staging import file_name, shown_name
from rubricweb.submissions.models import Submission

INCOMING = "incoming-"


def path_of(submission: Submission) -> Path:
    """Each file has a folder of its own, named by its key, so that no name leads anywhere."""
    return Path(settings.DATA_DIR) / "submissions" / str(submission.pk) / file_name(submission.name)


def paths_of(collection: Collection) -> dict[int, Path]:
    """The files of a collection that are kept, by submission."""
    kept = Submission.objects.filter(call__collection=collection, is_kept=True)
    return {submission.pk: path_of(submission) for submission in kept}


def is_here(submission: Submission) -> bool:
    return path_of(submission).is_file()


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file that belongs to no submission yet."""

    path: Path
    name: str
    """As its sender called it, for people."""
    size: int
    """Bytes."""
    digest: str
    """SHA-256, in hexadecimal."""


@contextmanager
def incoming(name: str, chunks: Iterable[bytes]) -> Iterator[Incoming]:
    """Write a file, which goes with the block unless a submission keeps it."""
    folder = Path(settings.DATA_DIR) / "submissions"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=INCOMING) as own:
        path = Path(own) / "file"
        size, digest = write_chunks(path, chunks)
        yield Incoming(path, shown_name(name), size, digest)


def keep(submission: Submission, file: Incoming) -> None:
    """Have the file be that of the submission, whose name is the file's."""
    path = path_of(submission)
    path.parent.mkdir(parents=True, exist_ok=True)
    file.path.replace(path)


def remove(submission: Submission) -> None:
    """Delete the file; its row stays."""
    shutil.rmtree(path_of(submission).parent, ignore_errors=True)


@contextmanager
def unpacked(path: Path, *, name: str) -> Iterator[Path]:
    """Yield the file to read: that of a zip for as long as the block. Raises BadFormat for a bad zip."""
    if not zips.is_zip(path):
        yield path
        return
    entries = zips.entries(path, name=name)
    if len(entries) != 1:
        raise BadFormat(f"the zip has {len(entries):,} files, expected one, the run")
    with tempfile.TemporaryDirectory(dir=settings.DATA_DIR, prefix="submission-") as folder:
        target = Path(folder) / file_name(entries[0])
        with target.open("wb") as stream:
            stream.writelines(zips.chunks(path, entries[0], name=name))
        yield target


def is_larger(path: Path, size: int) -> bool:
    """Whether a file has more bytes than `size` once it is unpacked; False for one that is damaged."""
    with suppress(OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile):
        if zips.is_zip(path):
            with zipfile.ZipFile(path) as archive:
                return sum(entry.file_size for entry in archive.infolist()) > size
        with path.open("rb") as stream:
            is_gzip = stream.read(2) == b"\x1f\x8b"
        if is_gzip:
            with gzip.open(path) as stream:
                return len(stream.read(size + 1)) > size
    return path.stat().st_size > size
