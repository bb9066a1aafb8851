"""Releases as a kind of background work."""

from __future__ import annotations

from rubricweb.core import events
from rubricweb.jobs.kinds import Need, TaskKind
from rubricweb.jobs.leases import Lease
from rubricweb.releases.models import Release


class Releases(TaskKind[Release]):
    name = "release"
    model = Release
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: Lease[Release]) -> None:
        from rubricweb.releases import writing  # boards, figures and formats: for workers only

        writing.write(lease)

    def need(self, work: Release) -> Need:
        return Need("releases", "a release")

    def words(self, work: Release) -> str:
        return f"release {work.pk}"

    def changed(self, work: Release) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
