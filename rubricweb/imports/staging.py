"""Where uploaded files lie until their import has ended: `imports/` in the data folder.

A zip is unpacked without trusting it: everything is looked at before anything is written.
"""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from grading.errors import BadFormat
from rubricweb.core.forms import write_chunks
from rubricweb.imports.models import NAME_LIMIT, Import, ImportFile

MAX_NAME_BYTES = 200
"""Bytes of a file name that every file system takes."""
PASTED = "pasted.txt"
MAX_ENTRIES = 1_000
MAX_UNPACKED_BYTES = 5_000_000_000
"""The limit of all files of a zip together (5 GB)."""
MAX_RATIO = 300
"""How many times larger than packed a file may be; text packs to a tenth, a bomb to a thousandth."""
SMALL_BYTES = 10_000_000
"""A file up to this size may have any ratio."""
CHUNK_BYTES = 1_048_576
_MAGIC = b"PK\x03\x04", b"PK\x05\x06"
_IGNORED_FOLDER = "__macosx"
_IGNORED_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})
"""What macOS and Windows add, in lower case."""


def folder_of(batch: Import) -> Path:
    return Path(settings.DATA_DIR) / "imports" / str(batch.pk)


def path_of(file: ImportFile) -> Path:
    """Return where the file lies: a folder named by its key, so that no uploaded name leads anywhere."""
    return folder_of(file.batch) / str(file.pk) / file_name(file.name)


def is_here(batch: Import) -> bool:
    """Return whether this machine has all files of the import."""
    return all(path_of(file).is_file() for file in batch.files.filter(is_left_out=False))


def stage_upload(batch: Import, upload: UploadedFile[bytes]) -> list[ImportFile]:
    """Keep an uploaded file, or the files of a zip. Raises BadFormat for a zip that cannot be trusted."""
    file = _stage(batch, shown_name(upload.name or ""), upload.chunks())
    if not is_zip(path_of(file)):
        return [file]
    unpacked: list[ImportFile] = []
    try:
        for entry in zip_entries(path_of(file), name=file.name):
            chunks = zip_chunks(path_of(file), entry, name=file.name)
            unpacked.append(_stage(batch, shown_name(entry), chunks))
    except BadFormat:
        for staged in batch.files.filter(pk__gt=file.pk):
            remove(staged)
        raise
    finally:
        remove(file)
    return unpacked


def stage_text(batch: Import, text: str) -> ImportFile:
    """Keep pasted text as a file."""
    return _stage(batch, PASTED, [text.replace("\r\n", "\n").encode()])


def refuse(batch: Import, name: str, problem: str) -> ImportFile:
    """Remember an upload that was not kept, and why."""
    fields = {"name": shown_name(name), "size": 0, "digest": "", "problem": problem}
    return ImportFile.objects.create(batch=batch, is_left_out=True, **fields)


def remove(file: ImportFile) -> None:
    """Delete the file and its row."""
    shutil.rmtree(path_of(file).parent, ignore_errors=True)
    file.delete()


def clear_on_commit(batch: Import) -> None:
    """Delete the staged files; the rows that describe them stay."""
    transaction.on_commit(partial(shutil.rmtree, folder_of(batch), ignore_errors=True))


def _stage(batch: Import, name: str, chunks: Iterable[bytes]) -> ImportFile:
    file = ImportFile.objects.create(batch=batch, name=name, size=0, digest="")
    path = path_of(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        file.size, file.digest = write_chunks(path, chunks)
    except OSError:  # such as a full disk
        remove(file)
        raise
    file.save(update_fields=["size", "digest"])
    return file


def shown_name(name: str) -> str:
    """Return the uploaded name without characters that no database or page can have."""
    cleaned = "".join(character for character in name.replace("\\", "/") if character.isprintable())
    return cleaned[-NAME_LIMIT:].strip() or "file"


def file_name(name: str) -> str:
    """Return the last part of the name, which readers put into their messages."""
    last = PurePosixPath(name).name.encode()[-MAX_NAME_BYTES:].decode(errors="ignore")
    return "file" if last in ("", ".", "..") else last


def is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _MAGIC


def zip_entries(path: Path, *, name: str, max_bytes: int | None = None) -> list[str]:
    """Return the names of the files in the zip at `path`, which people know as `name`.

    Raises `BadFormat` for a zip that is damaged, empty, encrypted, has too many or too large files, or two of
    one name, or names a place outside of itself or a symbolic link, or unpacks to more than `max_bytes`
    (MAX_UNPACKED_BYTES).
    """
    limit = MAX_UNPACKED_BYTES if max_bytes is None else max_bytes
    try:
        with zipfile.ZipFile(path) as archive:
            listed = [entry for entry in archive.infolist() if not _is_ignored(entry)]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise BadFormat(f"the zip is damaged ({error}), expected a whole zip file", file=name) from error
    if len(listed) > MAX_ENTRIES:
        raise BadFormat(f"the zip has {len(listed):,} files, expected at most {MAX_ENTRIES:,}", file=name)
    first: dict[PurePosixPath, str] = {}
    for entry in listed:
        if problem := _problem(entry):
            raise BadFormat(problem, file=f"{name}: {entry.filename}")
        if other := first.get(place := _place(entry)):
            problem = f"is in the zip twice, here and as {other}, expected each name once"
            raise BadFormat(problem, file=f"{name}: {entry.filename}")
        first[place] = entry.filename
    size = sum(entry.file_size for entry in listed)
    if size > limit:
        problem = f"the zip unpacks to {size:,} bytes, expected at most {limit:,}"
        raise BadFormat(problem, file=name)
    if not listed:
        raise BadFormat("the zip has no files, expected at least one", file=name)
    return [entry.filename for entry in listed]


def zip_chunks(path: Path, entry: str, *, name: str) -> Iterator[bytes]:
    """Yield the bytes of one file. Raises `BadFormat` where they are not what the zip says of them."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(entry) as stream:
            left = archive.getinfo(entry).file_size
            while chunk := stream.read(CHUNK_BYTES):
                left -= len(chunk)
                if left < 0:
                    raise BadFormat("is longer than the zip says, expected its size", file=f"{name}: {entry}")
                yield chunk
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        problem = f"cannot be unpacked ({error}), expected a whole zip file"
        raise BadFormat(problem, file=f"{name}: {entry}") from error


def _is_ignored(entry: zipfile.ZipInfo) -> bool:
    """Return whether it is a folder, or a file that macOS or Windows add."""
    parts = [part.casefold() for part in _place(entry).parts]
    return entry.is_dir() or not parts or parts[0] == _IGNORED_FOLDER or parts[-1] in _IGNORED_FILES


def _place(entry: zipfile.ZipInfo) -> PurePosixPath:
    return PurePosixPath(entry.filename.replace("\\", "/"))


def _problem(entry: zipfile.ZipInfo) -> str:
    """Return why this file of the zip is refused; empty if it is not."""
    place = _place(entry)
    if place.is_absolute() or ".." in place.parts or ":" in place.parts[0] or not place.name:
        return "names a place outside of the zip, expected a path within it"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a symbolic link, expected a file"
    if entry.flag_bits & 1:
        return "is encrypted, expected a zip without a password"
    if place.suffix.casefold() == ".zip":
        return "is a zip within the zip, expected files"
    if entry.file_size > SMALL_BYTES and entry.file_size > MAX_RATIO * max(1, entry.compress_size):
        times = entry.file_size // max(1, entry.compress_size)
        return f"unpacks to {times:,} times its size, expected at most {MAX_RATIO}"
    return ""
