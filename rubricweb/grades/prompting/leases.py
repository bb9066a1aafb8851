"""Who may make a dry run: a lease, as chunks of grades and requests for drafts have one, and its reaper."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import redis
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from rubricweb.core import events
from rubricweb.grades.prompting.models import PromptTrial
from rubricweb.jobs import queue
from rubricweb.jobs.leases import ENQUEUED_WITHIN, MAX_ATTEMPTS, expiry, worker_name

logger = logging.getLogger(__name__)

ENTRY_POINT = "rubricweb.grades.prompting.jobs.try_prompt"
PREFIX = "trial-"
QUEUE = "high"
"""Somebody waits for it."""

State = PromptTrial.State


@dataclass(frozen=True, slots=True)
class TrialLease:
    """The right of one worker to make one dry run, for as long as its row says so."""

    trial: PromptTrial

    def held(self) -> QuerySet[PromptTrial]:
        """The row if the lease still stands, else nothing."""
        mine = {"state": State.RUNNING, "attempt": self.trial.attempt}
        return PromptTrial.objects.filter(pk=self.trial.pk, **mine)

    @property
    def words(self) -> str:
        return f"dry run of {self.trial.prompt_class}"

    def renew(self) -> bool:
        return bool(self.held().update(lease_until=expiry()))

    def end(self, state: PromptTrial.State, **fields: object) -> bool:
        """False where the lease was lost: another worker makes the dry run."""
        ended = bool(self.held().update(state=state, ended_at=Now(), lease_until=None, **fields))
        if ended:
            announce(self.trial)
        return ended


def claim(trial_id: int) -> TrialLease | None:
    """The right to make it; None where another worker has it, it has ended, or it is gone."""
    queued = PromptTrial.objects.filter(pk=trial_id, state=State.QUEUED)
    taken = {"state": State.RUNNING, "worker": worker_name(), "lease_until": expiry()}
    if not queued.update(**taken, attempt=F("attempt") + 1):
        return None
    trial = PromptTrial.objects.select_related("collection", "topic", "revision").get(pk=trial_id)
    announce(trial)
    return TrialLease(trial)


def enqueue(trial: PromptTrial) -> None:
    """A missing Redis loses nothing: the dry run waits in the database until a worker's reaper finds it."""
    try:
        job = (f"{PREFIX}{trial.pk}-{trial.attempt}", (trial.pk,))
        queue.enqueue_many_now(ENTRY_POINT, [job], queue_name=QUEUE)
    except redis.RedisError as error:
        logger.warning("dry run %s was not enqueued yet: %s", trial.pk, error)


def reap() -> int:
    """How many dry runs were given out again or given up. Raises RedisError when the queue is away."""
    return _enqueue_lost(queue.waiting_ids()) + _take_from_the_dead()


def announce(trial: PromptTrial) -> None:
    events.publish(trial.collection.channel, "progress")


def _take_from_the_dead() -> int:
    """Dry runs whose worker was not heard of for a whole lease."""
    expired = PromptTrial.objects.filter(Q(lease_until__lt=Now()) | Q(lease_until=None), state=State.RUNNING)
    dead = [TrialLease(trial) for trial in expired.select_related("collection")]
    for lease in dead:
        worker = lease.trial.worker
        logger.warning("worker %s died with dry run %s", worker, lease.trial.pk)
        if lease.trial.attempt < MAX_ATTEMPTS:
            _take_back(lease)
        else:
            lease.end(State.FAILED, error=f"The worker {worker} died while it asked the model.")
    return len(dead)


@transaction.atomic
def _take_back(lease: TrialLease) -> None:
    if lease.held().update(state=State.QUEUED, worker="", lease_until=None):
        transaction.on_commit(lambda: enqueue(lease.trial))


def _enqueue_lost(waiting: set[str]) -> int:
    """Dry runs that wait in the database and not in Redis. One that is enqueued twice is still made once."""
    old = PromptTrial.objects.filter(state=State.QUEUED, at__lt=Now() - ENQUEUED_WITHIN)
    lost = [trial for trial in old if f"{PREFIX}{trial.pk}-{trial.attempt}" not in waiting]
    for trial in lost:
        enqueue(trial)
        logger.warning("enqueued dry run %s, which the queue had lost", trial.pk)
    return len(lost)
