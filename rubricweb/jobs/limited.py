"""Jobs with a limit of money: their price, the form for the limit, and the stop at it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from django import forms
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q

from grading.errors import GraderUnavailable, UnknownGrader
from grading.generation import TextModel
from grading.generation.models import text_model
from grading.graders import registry
from grading.graders.backend_options import AS_IT_IS, Thinking
from grading.graders.replies import NoReply
from rubricweb.core.servers import model_server
from rubricweb.jobs import steering, worker_state
from rubricweb.jobs.kinds import CannotRun, Need, Stopping
from rubricweb.jobs.models import Job, LimitedJob

CHARS_A_TOKEN = 4
"""Estimated characters per token of English text in the usual tokenizers."""
MILLION = 1_000_000


def cost(backend: str, llm: str, tokens_read: float, tokens_written: float) -> float | None:
    """Return dollars: 0 on the workers' own machines, None for a server's model without a price."""
    each = settings.PRICES.get(llm)
    if each is None:
        return None if _is_served(backend) else 0.0
    of_reply = settings.REPLY_PRICES.get(llm, each)
    return (tokens_read * float(each) + tokens_written * float(of_reply)) / MILLION


def tokens_of(texts: Sequence[str]) -> float:
    """Estimate the number of tokens of English text."""
    return sum(map(len, texts)) / CHARS_A_TOKEN


def _is_served(name: str) -> bool:
    backend = registry.BACKENDS.get(name)
    return backend is None or backend.needs_server


CANNOT_RUN = (GraderUnavailable, UnknownGrader)

L = TypeVar("L", bound=LimitedJob)
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits at which a job pauses."""

    calls: int
    dollars: float | None = None
    """Most money to spend; None for no limit."""

    @property
    def text(self) -> str:
        """Return the limits for people: "4 calls, $2.50"."""
        money = "" if self.dollars is None else f", ${self.dollars:,.2f}"
        return f"{self.calls:,} calls{money}"


class LimitedModel:
    """A model that is called no more than its job allows.

    Before each call the job's money is reduced by what it costs at most, and after it by what it cost: the
    limit holds also where several workers ask at once.
    """

    def __init__(
        self, llm: TextModel, job: LimitedJob, *, backend: str, name: str, longest_reply: int
    ) -> None:
        """Wrap the job's model; `longest_reply` is in tokens."""
        self._llm, self._job, self._longest_reply = llm, job, longest_reply
        self._backend, self._name = backend, name

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the model's reply.

        Raises Stopping where the job was paused or cancelled, or has reached a limit, and NoReply.
        """
        read = tokens_of([text for _, text in messages])
        reserved = self._cost(read, self._longest_reply)
        self._reserve(reserved)
        try:
            reply = self._llm.complete(messages)
        except BaseException as error:
            self._settle(read, error.raw if isinstance(error, NoReply) else "", reserved)
            raise
        self._settle(read, getattr(reply, "raw", reply), reserved)
        return reply

    def _settle(self, read: float, raw: str, reserved: float) -> None:
        """Replace the reserved amount by what the model wrote, its thinking included."""
        written = tokens_of([raw])
        spent = self._cost(read, written) if raw else 0.0
        self._spend(round(read + written) if raw else 0, spent - reserved)

    def _cost(self, read: float, written: float) -> float:
        return cost(self._backend, self._name, read, written) or 0.0

    def _reserve(self, dollars: float) -> None:
        if worker_state.now.is_stopping:
            raise Stopping
        affordable = Q(most_dollars=None) | Q(most_dollars__gte=F("dollars") + dollars)
        may = self._rows().filter(affordable, state__in=Job.WORKED_ON, calls__lt=F("most_calls"))
        if not may.update(calls=F("calls") + 1, dollars=F("dollars") + dollars):
            _pause_if_spent(self._job, dollars)
            raise Stopping

    def _spend(self, tokens: int, dollars: float) -> None:
        self._rows().update(tokens=F("tokens") + tokens, dollars=F("dollars") + dollars)

    def _rows(self) -> Any:
        return type(self._job)._default_manager.filter(pk=self._job.pk)


def limited_model(
    job: LimitedJob, *, backend: str, llm: str, longest_reply: int, thinking: Thinking = AS_IT_IS
) -> LimitedModel:
    """Return the job's model, loaded. Raises CannotRun."""
    load = partial(
        text_model,
        backend,
        llm,
        model_server(),
        longest_reply=longest_reply,
        thinking=thinking,
        on_tokens=worker_state.now.on_tokens,
    )
    return LimitedModel(loaded(llm, load), job, backend=backend, name=llm, longest_reply=longest_reply)


@transaction.atomic
def change_limits(job: L, limits: Limits) -> L:
    """Set the job's limits; a job that paused itself goes on."""
    locked = steering.lock(job)
    locked.most_calls, locked.most_dollars = max(limits.calls, 1), limits.dollars
    locked.save(update_fields=["most_calls", "most_dollars"])
    return steering.resume(locked) if locked.is_paused and locked.pause_reason else locked


def loaded(llm: str, load: Callable[[], M]) -> M:
    """Return what `load` returns, and report the model as loading meanwhile. Raises CannotRun."""
    with worker_state.now.load(llm):
        try:
            return load()
        except CANNOT_RUN as error:
            raise CannotRun(str(error)) from error


def need_of(backend: str, llm: str) -> Need:
    """Return what a worker must have to call this model."""
    key = hashlib.sha256(f"{backend}\0{llm}".encode()).hexdigest()[:16]
    return Need(f"writer-{key}", f"{llm} as a writer", *registry.requirement(backend))


@transaction.atomic
def _pause_if_spent(job: Any, dollars: float) -> None:
    locked = steering.lock(job)
    if locked.state not in Job.WORKED_ON:
        return
    if locked.calls >= locked.most_calls:
        times = "once" if locked.calls == 1 else f"{locked.calls:,} times"
        steering.pause_locked(locked, reason=f"It has asked the model {times}, as often as it may.")
    elif locked.most_dollars is not None and locked.dollars + dollars > locked.most_dollars:
        spent = f"It has spent about ${locked.dollars:,.2f} of ${locked.most_dollars:,.2f}"
        steering.pause_locked(locked, reason=f"{spent}, and the next call could cost more than is left.")


MOST_CALLS = 10_000_000
MORE_THAN_EXPECTED = 2
"""Factor by which suggested limits exceed the estimate."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected calls and costs of a job."""

    calls: int
    dollars: float | None
    """Expected cost; None for a server's model without a price, where only a limit on calls protects."""


class LimitsForm(forms.Form):
    """A limit on calls, and on money where the model has a price."""

    most_calls = forms.IntegerField(label="Maximum number of model calls", min_value=1, max_value=MOST_CALLS)
    most_dollars = forms.FloatField(label="Maximum cost, in US dollars", min_value=0, max_value=1e6)

    def __init__(self, expected: Expected, submitted: Mapping[str, Any] | None = None) -> None:
        has_price = expected.dollars is not None
        initial = {
            "most_calls": MORE_THAN_EXPECTED * expected.calls if has_price else None,
            "most_dollars": round(MORE_THAN_EXPECTED * (expected.dollars or 0) + 0.005, 2),
        }
        super().__init__(submitted, initial=initial, auto_id="limits-%s")
        if not expected.dollars:
            del self.fields["most_dollars"]
        if not has_price:
            note = f"No price is set for this model. Expected: {expected.calls:,}."
            self.fields["most_calls"].help_text = note

    @property
    def limits(self) -> Limits:
        """Return the limits of the valid form."""
        return Limits(self.cleaned_data["most_calls"], self.cleaned_data.get("most_dollars"))
