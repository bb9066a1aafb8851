"""Archive, delete and restore collections in the background, and put their grades into cold storage.

Also take back what people held who leave.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import OperationalError, connection, transaction
from django.db.models import Count, Max
from django.utils import timezone

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role, may_create
from rubricweb.archives import tables
from rubricweb.archives.models import Archive, Deletion, Restoration
from rubricweb.archives.removal import is_large, why_not
from rubricweb.archives.restoring import Restored, RestoredRows, Terms, Unwanted, restore_archive
from rubricweb.campaigns.models import Turn
from rubricweb.core import audit
from rubricweb.core.models import AuditEntry
from rubricweb.corpus import pools
from rubricweb.corpus.models import Collection
from rubricweb.grades import cold, matrices
from rubricweb.grades.human_models import HumanStamp
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.imports import staging
from rubricweb.jobs import leases, queue
from rubricweb.jobs.kinds import kind_of
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.review.models import Flag, SavedView

STAMPED = (Grade,)
"""Tables too large to count, whose changes move stamps."""

UNPACKED = 10
"""How many times larger than the largest upload an uploaded archive may be, unpacked."""
NOTED_EVERY = 1.0
"""Seconds after which the page may learn how many rows are restored."""


def state_digest(collection: Collection) -> str:
    """Return a digest that differs after each change: an action (audit entry), a rating or a grade."""
    digest = hashlib.sha256()
    for part in _state(collection):
        digest.update(f"{part}\n".encode())
    return digest.hexdigest()


def _state(collection: Collection) -> Iterator[object]:
    yield Collection.objects.values_list("stamp", flat=True).get(pk=collection.pk)
    for table in tables.archived():
        rows = table.archived_rows(collection).order_by()
        if table.model in (MatrixStamp, HumanStamp):
            yield from rows.order_by("pk").values_list("pk", "number")
        elif table.model is AuditEntry:
            yield rows.aggregate(last=Max("pk"))
        elif table.model not in STAMPED:
            yield table.label, sorted(rows.aggregate(count=Count("pk"), last=Max("pk")).items())


@transaction.atomic
def start_archive(collection: Collection, *, by: User) -> Archive:
    """Have a worker write an archive in place of earlier ones. One that is under way is returned."""
    collection = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
    earlier = list(collection.archives.all())
    if live := next((archive for archive in earlier if archive.is_live), None):
        return live
    for archive in earlier:
        transaction.on_commit(partial(Path.unlink, archive.path, missing_ok=True))
        archive.delete()
    archive = Archive.objects.create(collection=collection, slug=collection.slug, by=by)
    audit.record("collection archived", collection, by=by, detail=collection.slug)
    queue.enqueue([archive])
    return archive


def newest_archive(collection: Collection) -> Archive | None:
    archive: Archive | None = collection.archives.select_related("by").first()
    return archive


def is_up_to_date(archive: Archive | None) -> bool:
    """Return whether the archive is there and nothing has changed since."""
    if archive is None or not archive.is_there:
        return False
    return archive.state_digest == state_digest(archive.collection)


def start_deletion(collection: Collection, *, by: User, without_archive: bool) -> Deletion:
    """Delete a small collection now, and have a worker delete a large one.

    A deletion that is under way is returned. One that failed says in `error` why nothing is deleted.
    """
    with transaction.atomic():
        collection = Collection.objects.select_for_update(no_key=True).get(pk=collection.pk)
        if live := live_deletion(collection):
            return live
        fields = {"slug": collection.slug, "name": collection.name, "goes_without_archive": without_archive}
        deletion = Deletion.objects.create(collection_key=collection.pk, by=by, **fields)
        Collection.objects.filter(pk=collection.pk).update(is_being_deleted=True)
        if is_large(collection):
            queue.enqueue([deletion])
            return deletion
    work_on("deletion", deletion.pk)
    deletion.refresh_from_db()
    return deletion


def live_deletion(collection: Collection) -> Deletion | None:
    live = Deletion.objects.filter(collection_key=collection.pk, state__in=Deletion.LIVE)
    return live.first() if collection.is_being_deleted else None


def retry_deletion(deletion: Deletion) -> None:
    """Have a worker go on with a deletion that failed after its collection was hidden."""
    failed = Deletion.objects.filter(pk=deletion.pk, state=Deletion.State.FAILED)
    with transaction.atomic():
        if failed.update(state=Deletion.State.QUEUED, attempts=0, error=""):
            queue.enqueue([deletion])


def give_back(person: User, collection: Collection | None) -> None:
    """Free the person's assigned cells and open flags, in one collection or in all."""
    turns = Turn.objects.filter(person=person).exclude(state__in=Turn.DONE)
    flags = Flag.objects.filter(assignee=person, resolved_at=None)
    views = SavedView.objects.filter(user=person)
    if collection is not None:
        turns = turns.filter(campaign__collection=collection)
        flags = flags.filter(bank__collection=collection)
        views = views.filter(collection=collection)
    turns.update(person=None, assigned_by=None, state=Turn.State.PENDING, lease_until=None, mode="")
    flags.update(assignee=None)
    views.delete()


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
        queue.enqueue([row])
    return row


@transaction.atomic
def cancel_restoration(work: Restoration) -> None:
    """End it with nothing restored; a worker that is at it stops within a second or at its next rows."""
    live = Restoration.objects.filter(pk=work.pk, state__in=Restoration.LIVE)
    if live.update(state=Restoration.State.CANCELLED, lease_until=None):
        kind_of(work).on_ended(work, error="")


def restore(lease: leases.Lease[Restoration]) -> None:
    """Restore it, all or nothing, with the end of the work.

    Raises BadFormat, NotAllowed where whoever asked for it may create no collections any more, and LeaseLost
    once cancelled.
    """
    work, progress = lease.work, RestoredRows()
    if work.by is None or not (work.by.is_active and may_create(work.by)):
        raise NotAllowed("The person who uploaded it may no longer restore collections.")
    person = work.by

    def end(restored: Restored) -> None:
        collection = Collection.objects.get(pk=restored.collection_id)
        set_role(person, collection, role=Role.ORGANIZER, by=person)
        leases.finish(
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
            raise leases.LeaseLost from None


def clear_on_commit(work: Restoration) -> None:
    """Delete the uploaded archive; the row that describes it stays."""
    transaction.on_commit(partial(shutil.rmtree, work.path.parent, ignore_errors=True))


@contextmanager
def _noting(lease: leases.Lease[Restoration], progress: RestoredRows) -> Iterator[None]:
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


def cool(collection: Collection, *, by: User | None) -> int:
    """Move all grades to files; return how many. Raises CannotMove, and then nothing is changed.

    The files are written while people work; what they change meanwhile refuses the move.
    """
    if collection.cold_at:
        raise cold.CannotMove(f"{collection.slug} is in cold storage already.")
    if reason := why_not(collection):
        raise cold.CannotMove(reason)
    matrices.keep_all_snapshots(collection)
    pools.keep_snapshots_of(collection.pk)
    before = _stamps(collection)
    with cold.new_folder(collection.pk) as folder:
        written = cold.write(collection, folder)
        with transaction.atomic():
            locked = Collection.objects.select_for_update().get(pk=collection.pk)
            if reason := why_not(locked):
                raise cold.CannotMove(reason)
            grades = Grade.objects.filter(topic__in=collection.topics.all())
            is_changed = _stamps(collection, locked=True) != before or grades.count() != written
            if locked.cold_at or is_changed:
                raise cold.CannotMove("Grades have changed meanwhile. Try again.")
            if not written:
                raise cold.CannotMove(f"{collection.slug} has no grades.")
            cold.keep(folder, collection.pk)
            grades.order_by()._raw_delete(using="default")
            Collection.objects.filter(pk=collection.pk).update(cold_at=timezone.now())
            audit.record("grades put into cold storage", collection, by=by, detail=f"{written:,} grades")
    collection.refresh_from_db()
    _keep_usual_board(collection)
    return written


def _keep_usual_board(collection: Collection) -> None:
    """Keep the board that the collection opens with, so that nobody waits for it."""
    form = BoardForm({}, collection=collection)
    if form.graders and form.is_valid():
        board(form.spec)


def thaw(collection: Collection, *, by: User | None) -> int:
    """Bring all grades back as rows; return how many. Raises CannotMove, and then nothing is changed."""
    with transaction.atomic():
        if not Collection.objects.select_for_update().get(pk=collection.pk).cold_at:
            raise cold.CannotMove(f"{collection.slug} is not in cold storage.")
        expected = sum(grades for *_, grades in _stamps(collection, locked=True))
        brought = cold.bring_back(collection)
        if brought != expected:
            raise cold.CannotMove(f"The files have {brought:,} grades where there were {expected:,}.")
        Collection.objects.filter(pk=collection.pk).update(cold_at=None)
        audit.record("grades brought back from cold storage", collection, by=by, detail=f"{brought:,} grades")
        transaction.on_commit(partial(cold.remove, collection.pk))
    return brought


def _stamps(collection: Collection, *, locked: bool = False) -> list[tuple[int, int, int]]:
    """Return (key, number, grades) of the stamps of the collection's grades."""
    stamps = MatrixStamp.objects.filter(topic__collection=collection).order_by("pk")
    rows = stamps.select_for_update(of=("self",)) if locked else stamps
    return list(rows.values_list("pk", "number", "grades"))
