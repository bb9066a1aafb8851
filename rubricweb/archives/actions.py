"""Archive a collection in the background, delete it, and take back what people held who leave."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from django.db import transaction

from rubricweb.accounts.models import User
from rubricweb.archives import freshness
from rubricweb.archives.models import Archive, Deletion
from rubricweb.archives.removal import CannotDelete, is_large
from rubricweb.campaigns.models import Turn
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.jobs import dispatch
from rubricweb.jobs.worker import work_on
from rubricweb.review.models import Flag, SavedView


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
    dispatch.enqueue([archive])
    return archive


def newest_archive(collection: Collection) -> Archive | None:
    archive: Archive | None = collection.archives.select_related("by").first()
    return archive


def is_up_to_date(archive: Archive | None) -> bool:
    """Whether the archive is there and nothing has changed since."""
    if archive is None or not archive.is_there:
        return False
    return archive.state_digest == freshness.state_digest(archive.collection)


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
            dispatch.enqueue([deletion])
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
            dispatch.enqueue([deletion])


def require_archive(collection: Collection) -> None:
    """Raise CannotDelete unless the archive of the collection is up to date."""
    if not is_up_to_date(newest_archive(collection)):
        raise CannotDelete("The collection has changed since it was archived.")


def give_back(person: User, collection: Collection | None) -> None:
    """In one collection or in all: assigned cells are anybody's again, open flags nobody's."""
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
