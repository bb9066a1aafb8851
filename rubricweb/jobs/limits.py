"""What a job of model calls is expected to take, the limits within which it may ask, and its form."""

from __future__ import annotations

import hashlib
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from django import forms
from django.conf import settings
from django.core.management import CommandError
from django.db import transaction
from django.db.models import F, Model, Q

from grading.errors import GraderUnavailable, UnknownGrader
from grading.generation import TextModel
from grading.generation.models import text_model
from grading.graders import registry
from grading.graders.backend_options import AS_IT_IS, Thinking
from grading.graders.replies import NoReply, of_text
from rubricweb.core import audit, events
from rubricweb.core.formatting import counted
from rubricweb.core.servers import model_server
from rubricweb.jobs import leases, probes, queue, worker_state
from rubricweb.jobs.kinds import CannotRun, ChunkKind, Need, Stopping, kind_of_job
from rubricweb.jobs.leases import Lease, LeaseLost
from rubricweb.jobs.models import AskingChunk, Chunk, Job, LimitedJob
from rubricweb.jobs.progress import Price, Range
from rubricweb.jobs.steering import lock, pause_locked, resume

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

CHARS_A_TOKEN = 4
"""Estimated characters per token of English text in the usual tokenizers."""
MILLION = 1_000_000
MOST_CALLS = 10_000_000
MORE_THAN_EXPECTED = 2
"""Factor by which suggested limits exceed the estimate."""
J = TypeVar("J", bound=Job)
L = TypeVar("L", bound=LimitedJob)
C = TypeVar("C", bound=Chunk)


def cost(backend: str, llm: str, tokens_read: float, tokens_written: float) -> float | None:
    """Return dollars: 0 on the workers' own machines, None for a server's model without a price."""
    each = settings.PRICES.get(llm)
    if each is None:
        return None if _is_served(backend) else 0.0
    of_reply = settings.REPLY_PRICES.get(llm, each)
    return (tokens_read * float(each) + tokens_written * float(of_reply)) / MILLION


def _is_served(name: str) -> bool:
    backend = registry.BACKENDS.get(name)
    return backend is None or backend.needs_server


def tokens_of(texts: Sequence[str]) -> float:
    """Estimate the number of tokens of English text."""
    return sum(map(len, texts)) / CHARS_A_TOKEN


def price_of_calls(
    backend: str, llm: str, *, calls: int, read: float, written: float, seconds: Range | None
) -> Price:
    """Return what so many calls of a model take that read and write so many tokens in all."""
    dollars = cost(backend, llm, read, written)
    return Price(cells=calls, tokens=round(read + written), seconds=seconds, dollars=dollars)


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
        return f"{counted(self.calls, 'call')}{money}"


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """The expected calls and costs of a job."""

    calls: int
    dollars: float | None
    """Expected cost; None for a server's model without a price, where only a limit on calls protects."""

    @classmethod
    def of(cls, price: Price) -> Self:
        """Return what the price says, where each of its cells is a call."""
        return cls(price.cells, price.dollars)


class LimitsForm(forms.Form):
    """A limit on calls, and on money where the model has a price."""

    most_calls = forms.IntegerField(label="Maximum number of model calls", min_value=1, max_value=MOST_CALLS)
    most_dollars = forms.FloatField(label="Maximum cost, in US dollars", min_value=0, max_value=1e6)

    def __init__(self, expected: ExpectedCost, submitted: Mapping[str, Any] | None = None) -> None:
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

    @classmethod
    def of_job(
        cls, job: LimitedJob, expected: ExpectedCost, submitted: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the form with the limits that the job has."""
        form = cls(expected, submitted)
        form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
        return form


@transaction.atomic
def begin(job: J, chunks: Sequence[Chunk], limits: Limits | None = None) -> J:
    """Save a new job and its chunks, numbered as they stand, for workers to take, and tell open pages."""
    if limits and isinstance(job, LimitedJob):
        job.most_calls, job.most_dollars = max(1, limits.calls), limits.dollars
    job.total = sum(chunk.size for chunk in chunks)
    job.save()
    for number, chunk in enumerate(chunks):
        chunk.job, chunk.number = job, number  # type: ignore[attr-defined]  # the subclass's
    queue.enqueue(type(chunks[0])._default_manager.bulk_create(chunks))
    events.publish_on_commit(job.collection.channel, "progress")  # type: ignore[attr-defined]
    return job


@transaction.atomic
def change_limits(job: L, limits: Limits, *, by: User | None) -> L:
    """Let the job ask its model as often, and spend as much in all; one that paused itself goes on."""
    locked: Any = lock(job)
    thing, detail = kind_of_job(locked).audited(locked)
    audit.record("limits changed", thing, by=by, detail=f"{detail}: {limits.text}")
    events.publish_on_commit(locked.collection.channel, "progress")
    locked.most_calls, locked.most_dollars = max(limits.calls, 1), limits.dollars
    locked.save(update_fields=["most_calls", "most_dollars"])
    return cast("L", resume(locked) if locked.is_paused and locked.pause_reason else locked)


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
        if worker_state.now.is_stopping:
            raise Stopping
        affordable = Q(most_dollars=None) | Q(most_dollars__gte=F("dollars") + reserved)
        may = self._rows().filter(affordable, state__in=Job.WORKED_ON, calls__lt=F("most_calls"))
        if not may.update(calls=F("calls") + 1, dollars=F("dollars") + reserved):
            _pause_if_spent(self._job, reserved)
            raise Stopping
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
        self._rows().update(
            tokens=F("tokens") + (round(read + written) if raw else 0),
            dollars=F("dollars") + (spent - reserved),
        )
        if raw:
            probes.note_tokens(self._name, read, written, spent)

    def _cost(self, read: float, written: float) -> float:
        return cost(self._backend, self._name, read, written) or 0.0

    def _rows(self) -> Any:
        return type(self._job)._default_manager.filter(pk=self._job.pk)


@transaction.atomic
def _pause_if_spent(job: Any, dollars: float) -> None:
    locked = lock(job)
    if locked.state not in Job.WORKED_ON:
        return
    if locked.calls >= locked.most_calls:
        times = "once" if locked.calls == 1 else f"{locked.calls:,} times"
        pause_locked(locked, reason=f"It has asked the model {times}, as often as it may.")
    elif locked.most_dollars is not None and locked.dollars + dollars > locked.most_dollars:
        spent = f"It has spent about ${locked.dollars:,.2f} of ${locked.most_dollars:,.2f}"
        pause_locked(locked, reason=f"{spent}, and the next call could cost more than is left.")


def limited_model(
    job: LimitedJob, *, backend: str, llm: str, longest_reply: int, thinking: Thinking = AS_IT_IS
) -> LimitedModel:
    """Return the job's model, loaded. Raises CannotRun."""
    model = loaded_model(backend, llm, longest_reply=longest_reply, thinking=thinking)
    return LimitedModel(model, job, backend=backend, name=llm, longest_reply=longest_reply)


def loaded_model(backend: str, llm: str, *, longest_reply: int, thinking: Thinking = AS_IT_IS) -> TextModel:
    """Return a model without limits, reported as loading meanwhile. Raises CannotRun."""
    with worker_state.now.load(llm):
        try:
            return text_model(
                backend,
                llm,
                model_server(),
                longest_reply=longest_reply,
                thinking=thinking,
                on_tokens=worker_state.now.on_tokens,
            )
        except (GraderUnavailable, UnknownGrader) as error:
            raise CannotRun(str(error)) from error


def need_of(backend: str, llm: str) -> Need:
    """Return what a worker must have to call this model."""
    key = hashlib.sha256(f"{backend}\0{llm}".encode()).hexdigest()[:16]
    return Need(f"writer-{key}", f"{llm} as a writer", *registry.requirement(backend))


def digest_of(messages: Sequence[tuple[str, str]]) -> str:
    """Return the hexadecimal SHA-256 of a prompt."""
    return hashlib.sha256(repr(list(messages)).encode()).hexdigest()


class KeptReplies:
    """A model whose replies are stored with a chunk as they come."""

    def __init__(self, llm: TextModel, lease: Lease[Any], chunk: AskingChunk) -> None:
        self._llm, self._lease, self._chunk = llm, lease, chunk
        self._left = {digest: list(replies) for digest, replies in chunk.replies.items()}

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        """Return the reply, a kept one if it is valid. Raises what `LimitedModel` does, and LeaseLost."""
        digest = digest_of(messages)
        while self._left.get(digest):
            with suppress(NoReply):
                return of_text(str(self._left[digest].pop(0)))
        reply = self._llm.complete(messages)
        self._chunk.replies.setdefault(digest, []).append(reply)
        if not self._lease.held().update(replies=self._chunk.replies):
            raise LeaseLost
        return reply


class AskingKind(ChunkKind[C]):
    """A kind whose chunks ask the model of a `LimitedJob` of a collection."""

    job_related: ClassVar[tuple[str, ...]] = ("collection",)

    def run(self, lease: Lease[C]) -> None:
        """Do the chunk, and tell open pages. Raises what `Kind.run` does, and what models raise."""
        began = time.monotonic()
        chunk = self.begun(lease)
        columns = self.ask(lease, chunk)
        leases.finish(lease, **columns, seconds=time.monotonic() - began)
        events.publish_on_commit(self.job(chunk).collection.channel, "progress")

    def begun(self, lease: Lease[C]) -> C:
        """Return the chunk as it is now, with its relations. Raises Stopping where its job has stopped."""
        chunk: C = self.model._default_manager.select_related(*self.related).get(pk=lease.work.pk)
        if self.job(chunk).state not in Job.WORKED_ON:
            raise Stopping
        return chunk

    def ask(self, lease: Lease[C], chunk: C) -> dict[str, Any]:  # Any: columns of every type
        """Return what the row of the chunk has once it is done."""
        raise NotImplementedError

    def need(self, work: C) -> Need | None:
        return need_of(self.job(work).backend, self.job(work).llm)

    def audited(self, job: Any) -> tuple[Model, str]:
        return job.collection, str(job)

    def job_changed(self, job: Any) -> None:
        events.publish(job.collection.channel, "progress")


def add_limit_arguments(parser: ArgumentParser) -> None:
    """Add the limits of a job that asks a model, and the switch to say only what it would take."""
    parser.add_argument(
        "--most-calls", type=int, metavar="N", help="of the model; default: twice what is expected"
    )
    parser.add_argument("--most-dollars", type=float, metavar="USD", help="where the model has a price")
    parser.add_argument("--price-only", action="store_true", help="only say what it would take")


def limits_named(options: Mapping[str, Any], expected: Price) -> Limits:
    """Return the limits that a command was given. Raises CommandError without a price and --most-calls."""
    if expected.dollars is None and not options["most_calls"]:
        raise CommandError("the price of this model is not known: say --most-calls")
    return Limits(options["most_calls"] or MORE_THAN_EXPECTED * expected.cells, options["most_dollars"])
