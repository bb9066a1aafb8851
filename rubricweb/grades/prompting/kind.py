"""Dry runs as a kind of background work: a prompt is asked about a few passages."""

from __future__ import annotations

import logging

from grading.errors import GraderUnavailable, GradingError, UnknownGrader
from grading.graders import registry
from rubricweb.core import events
from rubricweb.grades.engine import loaded
from rubricweb.grades.prompting import trials
from rubricweb.grades.prompting.models import PromptTrial
from rubricweb.grades.prompting.trials import DryRunReply
from rubricweb.jobs import endings, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, TaskKind
from rubricweb.jobs.leases import Lease

logger = logging.getLogger(__name__)

CANNOT_RUN = (GraderUnavailable, UnknownGrader)


class DryRuns(TaskKind[PromptTrial]):
    name = "trial"
    model = PromptTrial
    related = ("collection", "topic", "revision")

    def run(self, lease: Lease[PromptTrial]) -> None:
        """The same grader as a job's, on the same path; nothing is kept as a grade."""
        trial = lease.work
        try:
            with worker_state.now.load(trial.llm):
                grader = loaded.grader(trials.spec_of(trial))
            replies = [DryRunReply.of(result) for result in grader.grade(trials.pairs(trial))]
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error
        except GradingError as error:
            logger.warning("dry run %s failed: %s", trial.pk, error)
            endings.fail(lease, error=str(error))
        else:
            trials.keep(lease, replies)
            logger.info("dry run %s: %d replies", trial.pk, len(replies))

    def need(self, work: PromptTrial) -> Need:
        backend = registry.BACKENDS.get(work.backend)
        key = f"prompt-{work.backend}-{work.llm}"
        if backend is None or not backend.requires:
            return Need(key, work.llm)
        return Need(key, work.llm, backend.name, backend.remedy)

    def words(self, work: PromptTrial) -> str:
        return f"dry run of {work.prompt_class}"

    def changed(self, work: PromptTrial) -> None:
        events.publish_on_commit(work.collection.channel, "progress")
