"""Choose pipelines, ask a question, have workers answer it, go on with its answers, adopt it as a topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from django import forms
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max, Model
from django.utils.text import Truncator

from grading.systems import Source
from grading.systems.pipeline import CLOSED_BOOK, MOST_PASSES, SystemSpec, make
from grading.systems.reranking import rating_prompts
from grading.types import Topic as Query
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.arena import battles
from rubricweb.arena.battles import DRAWN, SYSTEMS, AdoptedAlready, FreshSystem, TopicTaken, two_systems
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.core import audit, events
from rubricweb.core.forms import offer_choices
from rubricweb.core.models import new_stamp
from rubricweb.core.reader import reader
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.corpus.writers import Writer, options_of_writer, writer_of
from rubricweb.jobs import steering
from rubricweb.jobs.kinds import Need
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import MILLION, AskingKind, Limits, begin, cost, need_of
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.models import Job
from rubricweb.systems import models, retrieval
from rubricweb.systems.actions import model_of
from rubricweb.systems.models import made_as_json
from rubricweb.systems.retrieval import corpus_names

SIDES = ("first", "second")
MODULES = ("retriever", "reranker", "model")
SERVER = "openai_compatible"
CORPUS, RUN, RATE = "corpus:", "run:", "rate:"
Choices = list[tuple[str, str]]


def writers(collection: Collection, person: User) -> list[Writer]:
    """Return the models that the person may ask: the collection's own, then the server's that have a price.

    None without the collection's own. Assessors need the right to start grading, and a known price.
    """
    own = writer_of(collection)
    priced = [Writer(SERVER, llm) for llm in sorted(settings.PRICES) if settings.OPENAI_BASE_URL]
    listed = list(dict.fromkeys([own, *priced])) if own else []
    if roles.holds(person, collection, roles.TO_GRADE):
        return listed
    return [writer for writer in listed if collection.assessors_grade and price_of(writer) is not None]


def price_of(writer: Writer) -> float | None:
    """Return the price in dollars of a million tokens read and as many written."""
    return cost(writer.backend, writer.llm, MILLION, MILLION)


def retrievers(collection: Collection, person: User) -> Choices:
    """Return what a pipeline may begin with; runs for those alone who see their names and rankings anyhow."""
    ranked: Choices = []
    if roles.holds(person, collection, roles.TO_SEE_RUNS):
        runs = collection.runs.accepted().filter(rankings__isnull=False).distinct().order_by("run_tag")
        ranked = [(f"{RUN}{run.pk}", f"{run.run_tag} (topics only)") for run in runs]
    corpora = [(f"{CORPUS}{name}", f"BM25 over {name}") for name in corpus_names()]
    return [("", "BM25"), *corpora, *ranked]


def rerankers() -> Choices:
    passes = [(str(n), f"In lists, {n} pass{'es' if n > 1 else ''}") for n in range(1, MOST_PASSES + 1)]
    ratings = [(f"{RATE}{name}", f"By ratings, {name}") for name in rating_prompts()]
    return [("", "Not at all"), *passes, *ratings]


def add_fields(form: forms.Form, collection: Collection, person: User, models: list[Writer]) -> None:
    """Add the modules of both sides; a choice of one is left out."""
    offered: dict[str, tuple[str, Choices]] = {"retriever": ("Retrieves by", retrievers(collection, person))}
    if models:
        offered["reranker"] = ("Reranks", rerankers())
        offered["model"] = ("Model", [(str(n) if n else "", model.llm) for n, model in enumerate(models)])
    for side in SIDES:
        for module, (label, choices) in offered.items():
            if len(choices) > 1:
                form.fields[f"{side}_{module}"] = forms.ChoiceField(label=label, required=False)
                offer_choices(form, f"{side}_{module}", choices)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A system whose modules somebody chose."""

    spec: SystemSpec
    name: str = ""


class BadPipeline(ValueError):
    """Modules that do not go together; the text says which."""


def chosen(
    collection: Collection, side: str, cleaned: Mapping[str, str], models: list[Writer], topic: Topic | None
) -> str | Pipeline:
    """Return the named system of a side where no module is changed, else its pipeline. Raises BadPipeline."""
    name = cleaned.get(side, DRAWN)
    retriever, reranker, model = (cleaned.get(f"{side}_{module}", "") for module in MODULES)
    if not (retriever or reranker or model):
        return name
    if name == DRAWN:
        raise BadPipeline("Choose how it answers, too.")
    system = SYSTEMS[name]
    if system.answering in CLOSED_BOOK and (retriever or reranker):
        raise BadPipeline("It reads no passages: nothing is retrieved or reranked.")
    writer = models[int(model or 0)] if models else None
    spec = system.spec(writer)
    if retriever.startswith(CORPUS):
        spec = replace(spec, corpus=retriever.removeprefix(CORPUS))
    elif retriever:
        if topic is None:
            raise BadPipeline("A run has rankings for topics only: choose a topic.")
        run = collection.runs.accepted().get(pk=retriever.removeprefix(RUN))
        spec = replace(spec, runs=(run.run_tag,))
    if reranker and writer:
        rates = reranker.startswith(RATE)
        passes, prompt = (0, reranker.removeprefix(RATE)) if rates else (int(reranker), "")
        spec = replace(
            spec, rerank_passes=passes, rating_prompt=prompt, backend=writer.backend, llm=writer.llm
        )
    return name if spec == system.spec(models[0] if models else None) else Pipeline(spec)


def modules(collection_id: int, spec: SystemSpec) -> str:
    """Return the modules in words; a run by the name that the reader may see."""
    return replace(spec, runs=shown_names(collection_id, spec.runs)).method


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


LONGEST = 120


class FreshAnswers(AskingKind[FreshAnswer]):
    name = "fresh-answer"
    model = FreshAnswer
    related = ("job__collection", "job__topic")
    payload = ("replies", "result")
    activity = "question's answering"
    is_awaited = True

    def ask(self, lease: Lease[FreshAnswer], chunk: FreshAnswer) -> dict[str, Any]:
        """Make one of the answers, from candidates that came along or retrieved ones."""
        spec, collection = chunk.made_by, chunk.job.collection
        topic = Query(chunk.job.query_id or f"question-{chunk.job_id}", chunk.job.text)
        if "candidates" not in chunk.request:
            ranking = retrieval.candidates(collection, spec, topic, chunk.job.topic)
            sources_of = partial(retrieval.sources_of, collection, corpus=spec.corpus)
        else:
            given = retrieval.sources_sent(chunk.request["candidates"])
            ranking, sources_of = retrieval.unscored(topic.query_id, given), partial(_first, given)
        result = made_as_json(make(spec, topic, ranking, sources_of, model_of(spec, lease, chunk)))
        return {"result": result, "done": 1}

    def audited(self, job: Question) -> tuple[Model, str]:
        return job, ""

    def need(self, work: FreshAnswer) -> Need | None:
        spec = work.made_by
        return need_of(spec.backend, spec.llm) if spec.needs_model else None

    def label(self, work: FreshAnswer) -> str:
        return f"an answer to question {work.job_id} of the arena"

    def on_ended(self, work: FreshAnswer, *, error: str) -> None:
        super().on_ended(work, error=error)
        question: Question = self.job(work)
        if question.state == Job.State.DONE:
            battles.keep_digests(question)


def _first(given: list[Source], doc_ids: Sequence[str]) -> list[Source]:
    """Return as many of the sources as there are ids, which are theirs from the first on."""
    return given[: len(doc_ids)]


def _address(question: Question) -> str:
    """Return the address of the battle for the person who asked; empty for everybody else, or without one."""
    user = reader().user
    asks = user is not None and user == question.by
    battle = _battle(question)
    return battle.get_absolute_url() if asks and battle else ""


def _battle(question: Question) -> Battle | None:
    battle: Battle | None = getattr(question, "battle", None)
    return battle


LISTING = Listing(
    kind="questions",
    unit="answer",
    jobs=lambda key: Question.objects.filter(collection=key).select_related("collection", "battle", "by"),
    name=lambda question: f"Answer question {question.pk}",
    does=lambda question: Truncator(question.text).chars(LONGEST),
    address=_address,
    opens="Battle",
    is_for_its_starter=True,
    shows_calls=lambda question: (battle := _battle(question)) is None or not battle.is_blind,
)
