"""The search for near-duplicates as a kind of background work."""

from __future__ import annotations

from rubricweb.core import events
from rubricweb.corpus.duplicates import actions
from rubricweb.corpus.duplicates.models import DuplicateSearch
from rubricweb.jobs.kinds import TaskKind
from rubricweb.jobs.leases import Lease


class DuplicateSearches(TaskKind[DuplicateSearch]):
    name = "near-duplicates"
    model = DuplicateSearch
    related = ("collection", "by")
    is_retried = True

    def run(self, lease: Lease[DuplicateSearch]) -> None:
        groups, n_passages = actions.find_groups(lease.work.collection, lease.work.threshold)
        actions.keep(lease, groups, n_passages)

    def words(self, work: DuplicateSearch) -> str:
        return f"the search for near-duplicates in {work.collection}"

    def changed(self, work: DuplicateSearch) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
