"""Restore an archive that somebody uploaded: keep the file, and have a worker make a collection of it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, connection, transaction

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role, may_create
from rubricweb.archives.models import Restoration
from rubricweb.archives.restoring import Progress, Restored, Terms, Unwanted, restore_archive
from rubricweb.corpus.models import Collection
from rubricweb.imports import staging
from rubricweb.jobs import dispatch, endings
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.leases import Lease, LeaseLost

UNPACKED = 10
"""How many times larger than the largest upload an uploaded archive may be, unpacked."""
NOTED_EVERY = 1.0
"""Seconds after which the page may learn how many rows are restored."""


class NotAllowed(Exception):
    """The text says why."""


def start_restoration(upload: UploadedFile[bytes], *, slug: str, by: User) -> Restoration:
    """Keep the uploaded archive, and have a worker restore it as `slug`, or as what it was called.

    No transaction: a large file is not copied while others wait to write. Until it is here, no worker may
    take the row, so it begins as cancelled.
    """
    row = Restoration.objects.create(
        file_name=staging.shown_name(upload.name or ""), slug=slug, by=by, state=Restoration.State.CANCELLED
    )
    row.path.parent.mkdir(parents=True)
    with row.path.open("wb") as target:
        for chunk in upload.chunks():
            target.write(chunk)
    row.size, row.state = row.path.stat().st_size, Restoration.State.QUEUED
    with transaction.atomic():
        row.save(update_fields=["size", "state"])
        dispatch.enqueue([row])
    return row


@transaction.atomic
def cancel_restoration(work: Restoration) -> None:
    """End it with nothing restored; a worker that is at it stops within a second or at its next rows."""
    live = Restoration.objects.filter(pk=work.pk, state__in=Restoration.LIVE)
    if live.update(state=Restoration.State.CANCELLED, lease_until=None):
        kind_of(work).has_ended(work, error="")


def restore(lease: Lease[Restoration]) -> None:
    """Restore it, all or nothing, with the end of the work.

    Raises BadFormat, NotAllowed where whoever asked for it may create no collections any more, and LeaseLost
    once cancelled.
    """
    work, progress = lease.work, Progress()
    if work.by is None or not (work.by.is_active and may_create(work.by)):
        raise NotAllowed("The person who uploaded it may no longer restore collections.")
    person = work.by

    def end(restored: Restored) -> None:
        collection = Collection.objects.get(pk=restored.collection_id)
        set_role(person, collection, role=Role.ORGANIZER, by=person)
        endings.finish(
            lease,
            slug=restored.slug,
            collection_key=restored.collection_id,
            total=progress.total,
            done=progress.total,
            members=restored.members,
            strangers=restored.strangers,
        )

    terms = Terms(work.slug, work.by, max_bytes=UNPACKED * settings.UPLOAD_BYTES)
    with _noting(lease, progress):
        try:
            restore_archive(work.path, terms, progress=progress, then=end)
        except Unwanted:
            raise LeaseLost from None


def clear_on_commit(work: Restoration) -> None:
    """Delete the uploaded archive; the row that describes it stays."""
    transaction.on_commit(partial(shutil.rmtree, work.path.parent, ignore_errors=True))


@contextmanager
def _noting(lease: Lease[Restoration], progress: Progress) -> Iterator[None]:
    """Save the progress from another thread, since the rows are made in a transaction that nobody sees."""
    is_over = threading.Event()

    def note() -> None:
        try:
            while not is_over.wait(NOTED_EVERY):
                with suppress(OperationalError):  # somebody else writes for long
                    held = lease.held().update(total=progress.total, done=progress.done)
                    progress.is_unwanted = not held
        finally:
            connection.close()

    thread = threading.Thread(target=note, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
