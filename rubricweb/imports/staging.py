"""Where uploaded files lie until their import has ended: `imports/` in the data folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from functools import partial
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from grading.errors import BadFormat
from rubricweb.core.forms import write_chunks
from rubricweb.imports import zips
from rubricweb.imports.models import NAME_LIMIT, Import, ImportFile

MAX_NAME_BYTES = 200
"""Bytes of a file name that every file system takes."""
PASTED = "pasted.txt"


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
    if not zips.is_zip(path_of(file)):
        return [file]
    unpacked: list[ImportFile] = []
    try:
        for entry in zips.entries(path_of(file), name=file.name):
            chunks = zips.chunks(path_of(file), entry, name=file.name)
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
