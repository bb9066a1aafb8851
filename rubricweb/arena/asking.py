"""Ask a question and have it answered, go on with its answers, adopt it as a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import Max

from grading.systems.pipeline import SystemSpec
from grading.types import Topic as Query
from rubricweb.accounts.models import User
from rubricweb.arena import battles
from rubricweb.arena.battles import DRAWN, AdoptedAlready, FreshSystem, TopicTaken, two_systems
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.arena.pipelines import Pipeline
from rubricweb.core import audit, events
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.writers import Writer, options_of_writer
from rubricweb.jobs import steering
from rubricweb.jobs.limits import Limits, begin
from rubricweb.jobs.models import Job
from rubricweb.systems import models, retrieval


@dataclass(frozen=True, slots=True)
class NewQuestion:
    """What a person wants to have answered, and by whom."""

    text: str
    topic: Topic | None
    """The topic whose query it is."""
    systems: Sequence[str | Pipeline]
    """Two pipelines, or names of `battles.SYSTEMS`; DRAWN leaves one to the draw."""
    writer: Writer | None


@transaction.atomic
def ask(collection: Collection, request: NewQuestion, *, limits: Limits, by: User) -> Battle:
    """Have workers make two answers, and open the blind battle of them. Raises ValueError (`two_systems`)."""
    arena = battles.locked_arena(collection)
    number = battles.next_number(collection, by)
    random = np.random.default_rng([arena.seed, crc32(by.username.encode()), number])
    both = two_systems(request.systems, request.writer, random)
    question = _question(
        collection, request.text, topic=request.topic, is_drawn=DRAWN in request.systems, by=by
    )
    begin(question, [_fresh(collection, system, request.writer) for system in both], limits)
    audit.record("question asked in the arena", question, by=by, detail=request.text[:200])
    return Battle.objects.create(
        collection=collection, person=by, number=number, question=question, drawn=Battle.Drawn.ASKED
    )


@transaction.atomic
def go_on(question: Question, *, more_calls: int = 0, more_dollars: float = 0) -> Question:
    """Answer on: with higher limits where it paused, else what failed or was cancelled, as before."""
    locked = steering.lock(question)
    locked.most_calls += more_calls
    if locked.most_dollars is not None:
        locked.most_dollars += more_dollars
    locked.save(update_fields=["most_calls", "most_dollars"])
    events.publish_on_commit(locked.collection.channel, "progress")
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
def answer_once(
    collection: Collection,
    query: Query,
    spec: SystemSpec,
    *,
    candidates: Sequence[models.Json] | None,
    limits: Limits,
    by: User,
) -> Question:
    """Have workers rerank or answer for a program, from candidates in Ragnarök's form or retrieved ones.

    No battle is opened. Raises BadFormat.
    """
    if candidates is not None:
        retrieval.sources_sent(candidates)
    spec = _with_options(collection, spec)
    topic = collection.topics.filter(query_id=query.query_id).first()
    question = _question(collection, query.text, topic=topic, is_drawn=False, by=by)
    request: models.Json = {"qid": query.query_id}
    request |= {} if candidates is None else {"candidates": candidates}
    chunk = FreshAnswer(spec=models.spec_as_json(spec), request=request, size=1)
    begin(question, [chunk], limits)
    audit.record("answer requested by a program", question, by=by, detail=spec.method)
    return question


def _question(
    collection: Collection, text: str, *, topic: Topic | None, is_drawn: bool, by: User
) -> Question:
    """Return a question that is not begun; of its answers the first one stands left."""
    question = Question(collection=collection, topic=topic, text=text, is_drawn=is_drawn, by=by)
    question.priority = Job.Priority.HIGH
    return question


def _fresh(collection: Collection, system: FreshSystem | Pipeline, writer: Writer | None) -> FreshAnswer:
    spec = system.spec if isinstance(system, Pipeline) else system.spec(writer)
    return FreshAnswer(system=system.name, spec=models.spec_as_json(_with_options(collection, spec)), size=1)


def _with_options(collection: Collection, spec: SystemSpec) -> SystemSpec:
    """Return the system whose model is used as the collection's Settings have it."""
    if not spec.needs_model:
        return spec
    return replace(spec, model_options=options_of_writer(collection, spec.backend, spec.llm))
