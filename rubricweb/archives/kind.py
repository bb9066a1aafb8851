"""Archives as a kind of background work."""

from __future__ import annotations

import hashlib

from rubricweb.archives import freshness
from rubricweb.archives.models import Archive
from rubricweb.archives.writing import CannotArchive, write_archive
from rubricweb.core import events
from rubricweb.jobs import endings
from rubricweb.jobs.kinds import Need, TaskKind
from rubricweb.jobs.leases import Lease


class Archives(TaskKind[Archive]):
    name = "archive"
    model = Archive
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: Lease[Archive]) -> None:
        """The state is read first, so that a change meanwhile makes the archive an old one."""
        archive = lease.work
        archive.path.parent.mkdir(parents=True, exist_ok=True)
        state = freshness.state_digest(archive.collection)
        try:
            manifest = write_archive(archive.collection, archive.path)
        except CannotArchive as error:
            endings.fail(lease, error=str(error))
            return
        with archive.path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        rows = sum(part.rows for part in manifest.tables.values())
        size = archive.path.stat().st_size
        endings.finish(lease, state_digest=state, row_count=rows, size=size, sha256=sha256)

    def need(self, work: Archive) -> Need:
        return Need("archives", "an archive of a collection")

    def words(self, work: Archive) -> str:
        return f"archive of {work.slug}"

    def changed(self, work: Archive) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
