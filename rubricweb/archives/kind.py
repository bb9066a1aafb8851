"""Archives, deletions and restorations as kinds of background work."""

from __future__ import annotations

import hashlib

from django.db import connection, transaction
from django.template.defaultfilters import filesizeformat

from grading.errors import BadFormat
from rubricweb.archives import actions, removal
from rubricweb.archives.layout import CannotArchive, write_archive
from rubricweb.archives.models import Archive, Deletion, Restoration
from rubricweb.core import events
from rubricweb.corpus.models import Collection
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.listing import TaskListing


class Archives(TaskKind[Archive]):
    name = "archive"
    model = Archive
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: leases.Lease[Archive]) -> None:
        """Write the archive; the state is read first, so a change meanwhile outdates it."""
        archive = lease.work
        archive.path.parent.mkdir(parents=True, exist_ok=True)
        state = actions.state_digest(archive.collection)
        try:
            manifest = write_archive(archive.collection, archive.path)
        except CannotArchive as error:
            leases.fail(lease, error=str(error))
            return
        with archive.path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        rows = sum(part.rows for part in manifest.tables.values())
        size = archive.path.stat().st_size
        leases.finish(lease, state_digest=state, row_count=rows, size=size, sha256=sha256)

    def need(self, work: Archive) -> Need:
        return Need("archives", "an archive of a collection")

    def label(self, work: Archive) -> str:
        return f"archive of {work.slug}"

    def changed(self, work: Archive) -> None:
        events.publish_on_commit(work.collection.channel, "progress")


class Deletions(TaskKind[Deletion]):
    name = "deletion"
    collection = "collection_key"
    model = Deletion
    related = ("by",)
    is_retried = True

    def run(self, lease: leases.Lease[Deletion]) -> None:
        """Delete the collection for everybody in one transaction, or leave it whole."""
        try:
            with transaction.atomic():
                is_removed = self._delete(lease)
                if is_removed:
                    leases.finish(lease)
        except removal.CannotDelete as reason:
            leases.fail(lease, error=str(reason))
            return
        if not is_removed:
            removal.remove_hidden(Collection.including_gone.get(pk=lease.work.collection_key))
            leases.finish(lease)

    def need(self, work: Deletion) -> Need:
        return Need("deletions", "the deletion of a collection")

    def on_ended(self, work: Deletion, *, error: str) -> None:
        super().on_ended(work, error=error)
        Collection.objects.filter(pk=work.collection_key).update(is_being_deleted=False)

    def _delete(self, lease: leases.Lease[Deletion]) -> bool:
        """Return whether the rows are removed, or the collection is only hidden. Raises CannotDelete."""
        work = lease.work
        collection = Collection.including_gone.select_for_update().filter(pk=work.collection_key).first()
        if collection is None or collection.is_gone:
            return collection is None
        if not (work.goes_without_archive or actions.is_up_to_date(actions.newest_archive(collection))):
            raise removal.CannotDelete("The collection has changed since it was archived.")
        if connection.vendor != "sqlite" or not removal.is_large(collection):
            removal.delete_collection(collection, by=work.by)
            return True
        removal.hide_collection(collection, by=work.by)
        if not lease.renew():
            raise leases.LeaseLost
        return False


class Restorations(TaskKind[Restoration]):
    name = "restoration"
    collection = "collection_key"
    model = Restoration
    related = ("by",)
    is_retried = True

    def run(self, lease: leases.Lease[Restoration]) -> None:
        """Restore the archive; a fault in it is a result, other errors are tried again."""
        if not lease.work.path.is_file():
            raise CannotRun(
                "The uploaded archive is not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        try:
            actions.restore(lease)
        except (BadFormat, actions.NotAllowed) as error:
            leases.fail(lease, error=str(error))

    def need(self, work: Restoration) -> Need:
        return Need("restorations", "the restoration of an archive")

    def on_ended(self, work: Restoration, *, error: str) -> None:
        super().on_ended(work, error=error)
        actions.clear_on_commit(work)


LISTING = TaskListing(
    kind="archives",
    jobs=lambda key: Archive.objects.filter(collection=key).select_related("collection", "by"),
    name=lambda _: "Archive the collection",
    does=lambda archive: archive.path.name,
    address=Archive.get_absolute_url,
    acts={},
    is_for_its_starter=False,
    opens="Archive",
    outcome=lambda archive: filesizeformat(archive.size) if archive.size else "",
    is_for_organizers=True,
)
