"""Ask two systems a question, steer their answering, and adopt the question as a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Max

from grading.systems.pipeline import LABELS, Answering, SystemSpec
from rubricweb.accounts.models import User
from rubricweb.arena import battles
from rubricweb.arena.battles import AdoptedAlready, TopicTaken
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.core import audit, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.prompts import Writer
from rubricweb.jobs import queue, steering
from rubricweb.jobs.models import Job
from rubricweb.jobs.steering import Limits
from rubricweb.systems import models

FEW = 3
"""Passages of the smaller stand-in."""
DRAWN = ""
"""The choice of those who let the system be drawn."""

EVENT = "progress"


@dataclass(frozen=True, slots=True)
class FreshSystem:
    """One way to answer a question: a method over the first passages by BM25."""

    name: str
    answering: Answering
    sources: int = 0
    """Passages it reads; 0 for the method's own number."""

    @property
    def label(self) -> str:
        """The name with the number of model calls: "RIFER, about 43 calls"."""
        spec = self.spec(Writer("any", "any"))
        over = f" of {spec.n_sources} passages" if self.answering is Answering.SENTENCES else ""
        calls = spec.calls(spec.depth)
        about = "" if not calls else (", 1 call" if calls == 1 else f", about {calls} calls")
        return f"{LABELS[self.answering]}{over}{about}"

    @property
    def needs_model(self) -> bool:
        return self.answering is not Answering.SENTENCES

    def spec(self, writer: Writer | None) -> SystemSpec:
        """Return the system's specification. Raises ValueError without a model that it needs."""
        spec = SystemSpec(Answering.SENTENCES, sources=self.sources)
        if not self.needs_model:
            return spec
        model = writer or Writer("", "")
        return replace(spec, answering=self.answering, backend=model.backend, llm=model.llm)


SYSTEMS = {
    system.name: system
    for system in (
        FreshSystem("sentences", Answering.SENTENCES),
        FreshSystem("few-sentences", Answering.SENTENCES, FEW),
        FreshSystem("ragnarok", Answering.RAGNAROK),
        FreshSystem("rifer", Answering.RIFER),
        FreshSystem("eifrp", Answering.EIFRP),
        FreshSystem("question", Answering.QUESTION),
    )
}
"""Name -> system, those without a model first."""


def offered(writer: Writer | None) -> list[FreshSystem]:
    return [system for system in SYSTEMS.values() if writer or not system.needs_model]


def two_systems(
    chosen: Sequence[str], writer: Writer | None, random: np.random.Generator
) -> tuple[FreshSystem, FreshSystem]:
    """Return the left and the right system: those chosen by name, else drawn; the sides are drawn too.

    Raises ValueError for the same system twice, or one that needs a model where there is none.
    """
    names = {system.name for system in offered(writer)}
    named = [name for name in chosen if name != DRAWN]
    if len(set(named)) < len(named) or not names.issuperset(named):
        raise ValueError("two different systems are needed, of those that are offered")
    left = sorted(names - set(named))
    drawn = random.choice(left, size=len(chosen) - len(named), replace=False).tolist()
    both = random.permutation([*named, *drawn]).tolist()
    return SYSTEMS[both[0]], SYSTEMS[both[1]]


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """What a person wants to have answered, and by whom."""

    text: str
    topic: Topic | None
    """The topic whose query it is."""
    systems: Sequence[str]
    """Two names of `systems.SYSTEMS`; DRAWN leaves one to the draw."""
    writer: Writer | None


@transaction.atomic
def ask(collection: Collection, request: NewQuestion, *, limits: Limits, by: User) -> Battle:
    """Have workers make two answers, and open the blind battle of them. Raises ValueError (`two_systems`)."""
    arena = battles.locked_arena(collection)
    number = battles.next_number(collection, by)
    random = np.random.default_rng([arena.seed, crc32(by.username.encode()), number])
    both = two_systems(request.systems, request.writer, random)
    question = _new_question(collection, request, limits, by)
    chunks = [_answer(question, place, system, request.writer) for place, system in enumerate(both)]
    queue.enqueue(FreshAnswer.objects.bulk_create(chunks))
    audit.record("question asked in the arena", question, by=by, detail=request.text[:200])
    events.publish_on_commit(collection.channel, EVENT)
    return Battle.objects.create(
        collection=collection, person=by, number=number, question=question, drawn=Battle.Drawn.ASKED
    )


def pause(question: Question, *, by: User) -> Question:
    """Let workers end the call that they are at, and take no more. Nothing happens if the job has ended."""
    return _steered(question, steering.pause, "paused", by)


def resume(question: Question, *, by: User) -> Question:
    """Go on with a paused job."""
    return _steered(question, steering.resume, "resumed", by)


def cancel(question: Question, *, by: User) -> Question:
    """Stop the answering; what the model replied is kept."""
    return _steered(question, steering.cancel, "cancelled", by)


@transaction.atomic
def go_on(question: Question, *, more_calls: int = 0, more_dollars: float = 0) -> Question:
    """Answer on: with higher limits where it paused, else what failed or was cancelled, as before."""
    locked = steering.lock(question)
    locked.most_calls += more_calls
    if locked.most_dollars is not None:
        locked.most_dollars += more_dollars
    locked.save(update_fields=["most_calls", "most_dollars"])
    events.publish_on_commit(locked.collection.channel, EVENT)
    again = steering.retry(locked)
    return steering.resume(again) if again.is_paused else again


@transaction.atomic
def adopt(question: Question, *, query_id: str, by: User) -> Topic:
    """Make the question a topic of the collection; its answers stay outside.

    Raises AdoptedAlready, and TopicTaken where the collection has a topic of that id.
    """
    locked = steering.lock(question)
    if locked.topic or locked.adopted_as:
        raise AdoptedAlready
    collection = locked.collection
    last = collection.topics.aggregate(last=Max("position"))["last"]
    position = 0 if last is None else last + 1
    try:
        with transaction.atomic():
            topic: Topic = collection.topics.create(query_id=query_id, text=locked.text, position=position)
    except IntegrityError as error:
        raise TopicTaken from error
    locked.adopted_as, locked.adopted_by = topic, by
    locked.save(update_fields=["adopted_as", "adopted_by"])
    collection.stamp = new_stamp()
    collection.save(update_fields=["stamp"])
    audit.record("question adopted as a topic", topic, by=by, detail=query_id)
    events.publish_on_commit(collection.channel, "runs")
    return topic


@transaction.atomic
def _steered(question: Question, steer: Callable[[Question], Question], word: str, by: User) -> Question:
    before = steering.lock(question)
    if before.has_ended:
        return before
    after = steer(question)
    if after.state != before.state:
        audit.record(f"question's answering {word}", after, by=by)
        events.publish_on_commit(after.collection.channel, EVENT)
    return after


def _new_question(collection: Collection, request: NewQuestion, limits: Limits, by: User) -> Question:
    return Question.objects.create(
        collection=collection,
        topic=request.topic,
        text=request.text,
        is_drawn=DRAWN in request.systems,
        most_calls=max(1, limits.calls),
        most_dollars=limits.dollars,
        total=2,
        priority=Job.Priority.HIGH,
        by=by,
    )


def _answer(question: Question, place: int, system: FreshSystem, writer: Writer | None) -> FreshAnswer:
    spec = models.spec_as_json(system.spec(writer))
    return FreshAnswer(job=question, number=place, size=1, system=system.name, spec=spec)
