"""The job kind of dry runs: a prompt is tried on a few passages."""

from __future__ import annotations

import logging
import time

from grading.errors import GraderUnavailable, GradingError, UnknownGrader
from grading.graders import registry
from rubricweb.core import events
from rubricweb.graders import dry_runs
from rubricweb.graders.dry_runs import DryRunReply
from rubricweb.graders.models import DryRun
from rubricweb.grades.engine import chunks
from rubricweb.jobs import endings, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)

CANNOT_RUN = (GraderUnavailable, UnknownGrader)


class DryRuns(TaskKind[DryRun]):
    name = "dry-run"
    model = DryRun
    related = ("collection", "topic", "revision")

    def run(self, lease: Lease[DryRun]) -> None:
        """Run the dry run with the same grader as a job, but save no grades."""
        dry_run = lease.work
        try:
            with worker_state.now.load(dry_run.llm):
                grader = chunks.loaded_grader(dry_runs.spec_of(dry_run))
            start = time.monotonic()
            replies = [DryRunReply.of(result) for result in grader.grade(dry_runs.pairs(dry_run))]
            seconds = time.monotonic() - start
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error
        except GradingError as error:
            logger.warning("dry run %s failed: %s", dry_run.pk, error)
            endings.fail(lease, error=str(error))
        else:
            dry_runs.keep(lease, replies, seconds)
            logger.info("dry run %s: %d replies", dry_run.pk, len(replies))

    def need(self, work: DryRun) -> Need:
        key = f"prompt-{work.backend}-{work.llm}"
        return Need(key, work.llm, *registry.requirement(work.backend))

    def label(self, work: DryRun) -> str:
        return f"dry run of {work.prompt_class}"

    def changed(self, work: DryRun) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
