"""The circuit breaker of a grading job that can only fail.

Such a job pauses itself, before it costs more time or money. Which errors are hopeless at once, which after
some, and which only as a share of all, differs by class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Sum

from rubricweb.core.formatting import counted
from rubricweb.grades.models import GradingJob

AFTER = {"auth": 1, "quota": 3}
"""Errors of a class, since the job began or was resumed, that pause it."""
IN_A_ROW = {"rate": 10, "timeout": 10, "server": 10, "memory": 10, "unavailable": 10}
"""Consecutive errors of a class that pause the job."""
WARNED_FROM = 3
"""Consecutive errors of a class that people are told of while the job still runs."""
SHARE, SHARE_OF = {"parse": 0.2}, 50
"""Share of failed cells, among at least so many cells, above which the job pauses."""

REMEDIES = {
    "auth": "Check the model server's key in the worker's environment, and restart the worker.",
    "quota": "The account's quota is used up. Raise the limit, or wait until it is renewed.",
    "rate": "The server asks for fewer calls. Run fewer workers, or wait a while.",
    "timeout": "The server answers too slowly. Check whether it is overloaded, or raise the time limit.",
    "server": "The model server reports errors. Read its log.",
    "parse": "The model does not reply as the prompt asks. Read some of its replies, then choose another "
    "prompt or model. One that thinks needs a larger max_new_tokens, or thinking off.",
    "context": "The prompt is longer than the model can read. Choose a model with a longer context.",
    "memory": "The device has too little memory for this model. Choose a smaller model or a larger device.",
    "unavailable": "Start its server, or correct the server's address or the model's name in the worker's "
    "environment and under Graders.",
}
OTHERWISE = "Read the errors. They may differ from pair to pair."
WORDS = {
    "auth": "the server refused the key",
    "quota": "the quota is used up",
    "rate": "too many calls",
    "timeout": "no answer in time",
    "server": "errors of the server",
    "parse": "replies without a rating",
    "context": "prompt too long",
    "memory": "out of memory",
    "unavailable": "the model cannot be reached",
}


def remedy(error_class: str) -> str:
    return REMEDIES.get(error_class, OTHERWISE)


def label(error_class: str) -> str:
    return WORDS.get(error_class, "other errors")


@dataclass
class Breaker:
    """Counts of errors since the job began or was resumed; kept with the job in JSON."""

    base: int = 0
    """Cells of the job that were done by then."""
    seen: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    streak_of: str = ""
    """Class of the latest error, while nothing has succeeded after it."""
    streak: int = 0
    """Errors of that class since then."""

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Breaker:  # Any: JSON
        return cls(**{**kept, "counts": Counter(kept.get("counts", {}))})

    @property
    def kept(self) -> dict[str, Any]:
        return {
            "base": self.base,
            "seen": self.seen,
            "counts": dict(self.counts),
            "streak_of": self.streak_of,
            "streak": self.streak,
        }

    def add(self, error_class: str) -> None:
        """Count one more cell; `error_class` is empty where it was graded."""
        self.seen += 1
        if error_class:
            self.counts[error_class] += 1
        self.streak = (
            self.streak + 1 if error_class and error_class == self.streak_of else int(bool(error_class))
        )
        self.streak_of = error_class

    @property
    def tripped(self) -> str:
        """Return the class of errors that is enough to pause the job, or ""."""
        for error_class, count in self.counts.items():
            if count >= AFTER.get(error_class, count + 1):
                return error_class
            share = SHARE.get(error_class)
            if share is not None and self.seen >= SHARE_OF and count > share * self.seen:
                return error_class
        return self.streak_of if self.streak >= IN_A_ROW.get(self.streak_of, self.streak + 1) else ""

    @property
    def sentence(self) -> str:
        """Return what happened and what to do, once it has tripped."""
        error_class = self.tripped
        if error_class in SHARE:
            many = f"{self.counts[error_class]:,} of {counted(self.seen, 'pair')}"
        elif error_class in IN_A_ROW:
            many = f"{self.streak:,} times in a row"
        else:
            many = "once" if self.counts[error_class] == 1 else f"{self.counts[error_class]:,} times"
        return f"Paused: {label(error_class)}, {many}. {remedy(error_class)} Then resume."

    @property
    def warning(self) -> str:
        """Return what the latest calls failed with, and what to do; empty while some succeed."""
        if self.streak < WARNED_FROM:
            return ""
        sentence = f"{label(self.streak_of)}, {self.streak:,} times in a row. {remedy(self.streak_of)}"
        return sentence[0].upper() + sentence[1:]


def note_results(job: GradingJob, error_classes: Iterable[str]) -> None:
    """Count a batch's errors ("" for a grade) in the transaction that saves it; enough of them pause the job.

    Called before the batch's chunk is counted, because whoever changes chunks locks their job first.
    """
    from rubricweb.jobs import steering  # here: who reads why jobs paused loads no queue

    locked = steering.lock(job)
    breaker = Breaker.of(locked.failures)
    breaker.seen = _done(locked) - breaker.base
    for error_class in error_classes:
        breaker.add(error_class)
    locked.failures = job.failures = breaker.kept
    locked.save(update_fields=["failures"])
    if breaker.tripped and locked.state in GradingJob.WORKED_ON:
        steering.pause_locked(locked, reason=breaker.sentence)


def reset_breaker(job: GradingJob) -> None:
    """Restart the counts; the job's row is locked."""
    job.failures = Breaker(base=_done(job)).kept
    job.save(update_fields=["failures"])


def _done(job: GradingJob) -> int:
    return job.chunks.aggregate(done=Sum("done"))["done"] or 0


def problem_of(job: GradingJob) -> str:
    """Return why the job paused or failed, or with what its calls fail now; empty if nothing is wrong."""
    return job.pause_reason or job.error or ("" if job.has_ended else Breaker.of(job.failures).warning)
