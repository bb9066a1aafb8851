"""What people do with imports: upload, leave files out, check, start, discard."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from grading.errors import BadFormat
from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from rubricweb.imports import staging
from rubricweb.imports.contents import ImportOptions
from rubricweb.imports.models import Import, ImportFile
from rubricweb.jobs import queue

KEPT_FOR = timedelta(days=7)
"""How long files that nobody imports are kept."""
_ANEW = {"state": Import.State.QUEUED, "attempts": 0, "error": "", "doing": "", "done": 0}


def begin_import(collection: Collection, *, by: User) -> Import:
    """Create an import without files. Files of imports that nobody went on with are deleted."""
    old = Import.objects.open().filter(created_at__lt=timezone.now() - KEPT_FOR)
    for batch in old.exclude(state__in=Import.LIVE):
        discard(batch)
    options = ImportOptions().as_json()
    return Import.objects.create(collection=collection, by=by, options=options, state=Import.State.DONE)


def add_files(
    batch: Import, uploads: Iterable[UploadedFile[bytes]], *, text: str = "", too_large: Iterable[str] = ()
) -> None:
    """Keep uploaded files and pasted text. What is refused is left out, and its row says why.

    No transaction: a large file is not copied while others wait to write.
    """
    for upload in uploads:
        try:
            staging.stage_upload(batch, upload)
        except BadFormat as error:
            staging.refuse(batch, error.file, error.problem)
    if text.strip():
        staging.stage_text(batch, text)
    for name in too_large:
        problem = f"the upload is too large, expected at most {settings.UPLOAD_BYTES:,} bytes at once"
        staging.refuse(batch, name, problem)


@transaction.atomic
def start_check(batch: Import, options: ImportOptions | None = None) -> Import:
    """Have a worker read the files, and say what their import would change."""
    if options is not None:
        batch.options = options.as_json()
    return _start(batch, Import.Step.CHECK)


@transaction.atomic
def start_import(batch: Import) -> Import:
    """Have a worker import the files as they were checked."""
    return _start(batch, Import.Step.WRITE)


@transaction.atomic
def start_undo(batch: Import, *, by: User) -> Import:
    """Have a worker remove what the import added; `undo.why_not` says beforehand whether it can."""
    made = Import.objects.imported().filter(pk=batch.pk, undone_at=None).exclude(state__in=Import.LIVE)
    if made.update(step=Import.Step.UNDO, undone_by=by, total=0, **_ANEW, queued_at=timezone.now()):
        batch.refresh_from_db()
        queue.enqueue([batch])
    return batch


def _start(batch: Import, step: Import.Step) -> Import:
    """Queue a step of an import, unless a worker has it or it is imported."""
    changes = {
        "step": step,
        "options": batch.options,
        **_ANEW,
        "queued_at": timezone.now(),
        "total": batch.files.filter(is_left_out=False).aggregate(sum=Sum("size"))["sum"] or 0,
    }
    rows = Import.objects.open().filter(pk=batch.pk).exclude(state__in=Import.LIVE)
    if rows.update(**changes):
        batch.refresh_from_db()
        queue.enqueue([batch])
    return batch


@transaction.atomic
def leave_out(file: ImportFile) -> ImportFile:
    """Import the other files without this one, which can be taken in again."""
    return _change(file, is_left_out=True)


@transaction.atomic
def leave_out_all(batch: Import, files: Iterable[ImportFile]) -> Import:
    """Leave out several files of an import, which is then checked once."""
    batch.files.filter(pk__in=[file.pk for file in files]).update(is_left_out=True)
    return _start(batch, Import.Step.CHECK)


@transaction.atomic
def take_in(file: ImportFile) -> ImportFile:
    return _change(file, is_left_out=False)


@transaction.atomic
def choose_format(file: ImportFile, name: str) -> ImportFile:
    """Read the file as the format of that name; empty recognises it again."""
    return _change(file, chosen_format=name)


@transaction.atomic
def name_author(file: ImportFile, author: str) -> ImportFile:
    """Say who made the labels or assignments of the file; an empty name takes that back."""
    return _change(file, author=author)


@transaction.atomic
def choose_format_of_all(file: ImportFile, name: str) -> ImportFile:
    """Set the format of all files of the import that wait for the same choice as this one."""
    for other in file.batch.files.filter(is_left_out=False).exclude(pk=file.pk):
        if other.question == file.question:
            other.chosen_format = name
            other.save(update_fields=["chosen_format"])
    return choose_format(file, name)


def _change(file: ImportFile, **fields: object) -> ImportFile:
    for name, value in fields.items():
        setattr(file, name, value)
    file.save(update_fields=list(fields))
    _start(file.batch, Import.Step.CHECK)
    return file


@transaction.atomic
def discard(batch: Import) -> None:
    """Forget an import that was not made, with its files."""
    staging.clear_on_commit(batch)
    batch.delete()
