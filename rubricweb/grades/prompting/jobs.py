"""What RQ runs: ask a prompt about a few passages. Carries its id only, and is safe to run twice."""

from __future__ import annotations

import logging

from grading.errors import GradingError
from rubricweb.grades.engine import loaded
from rubricweb.grades.prompting import leases, trials
from rubricweb.grades.prompting.leases import TrialLease
from rubricweb.grades.prompting.trials import DryRunReply
from rubricweb.jobs import worker_state

logger = logging.getLogger(__name__)


def try_prompt(trial_id: int) -> None:
    """The same grader as a job's, on the same path; nothing is kept as a grade."""
    lease = leases.claim(trial_id)
    if lease is None:
        logger.info("dry run %s was not to be had", trial_id)
        return
    with worker_state.now.on(lease):
        _try(lease)


def _try(lease: TrialLease) -> None:
    trial = lease.trial
    try:
        grader = loaded.grader(trials.spec_of(trial))
        results = [DryRunReply.of(result) for result in grader.grade(trials.pairs(trial))]
    except Exception as error:
        is_known = isinstance(error, GradingError)
        logger.warning("dry run %s failed: %s", trial.pk, type(error).__name__, exc_info=not is_known)
        trials.fail(lease, error=str(error) if is_known else f"{type(error).__name__}: {error}")
    else:
        order = {doc_id: place for place, doc_id in enumerate(trial.doc_ids)}
        trials.keep(lease, sorted(results, key=lambda said: order[said.doc_id]))
        logger.info("dry run %s: %d replies", trial.pk, len(results))
