"""Submissions as a kind of background work: small files are checked by the request, others by a worker."""

from __future__ import annotations

from rubricweb.core import events
from rubricweb.jobs import kinds, leases
from rubricweb.submissions.models import Submission


class SubmissionKind(kinds.TaskKind[Submission]):
    name = "submission"
    collection = "call.collection_id"
    model = Submission
    related = ("call__collection", "by")
    is_retried = True

    def run(self, lease: leases.Lease[Submission]) -> None:
        """Check the file; what the rules refuse is a result, other errors are tried again."""
        from rubricweb.submissions import checking  # readers, rules and imports: for workers only

        if not lease.work.has_file:
            raise kinds.CannotRun(
                "The submitted file is not on the worker's machine: "
                "give it the RUBRIC_DATA_DIR of the web process, or start a worker there."
            )
        checking.check(lease)

    def need(self, work: Submission) -> kinds.Need:
        return kinds.Need("submitted files", "the check of a submitted file")

    def label(self, work: Submission) -> str:
        return f"submission {work.pk}"

    def changed(self, work: Submission) -> None:
        events.publish_on_commit(work.call.collection.channel, "runs")
