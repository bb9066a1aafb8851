"""Make a run of the workbench's own: its price, its start, its topics one by one, and what results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import transaction
from django.db.models import Avg, Model
from django.db.models.functions import Length
from django.urls import reverse, reverse_lazy

from grading.formats.passages import write_passages
from grading.formats.responses import ResponseDialect, write_responses
from grading.formats.trec import write_run as write_trec_run
from grading.generation import TextModel
from grading.graders.backend_options import Thinking
from grading.systems import Answer
from grading.systems.pipeline import IN_ONE_CALL, Answering, Made, SystemSpec, make
from grading.types import Response
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.formatting import counted
from rubricweb.corpus import convert
from rubricweb.corpus.actions import accept_run
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.writers import options_of_writer
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.jobs import leases, steering
from rubricweb.jobs.kinds import Need
from rubricweb.jobs.limits import (
    CHARS_A_TOKEN,
    AskingKind,
    ExpectedCost,
    KeptReplies,
    Limits,
    begin,
    cost,
    limited_model,
    need_of,
)
from rubricweb.jobs.listing import Listing
from rubricweb.jobs.models import Job
from rubricweb.jobs.progress import Price, rate_of, seconds_for
from rubricweb.systems import retrieval
from rubricweb.systems.models import (
    AnswerChunk,
    SystemChunk,
    SystemJob,
    made_as_json,
    made_from_json,
    spec_as_json,
)
from rubricweb.webhooks import actions as webhooks

TAG = "baseline"
"""Tag by which organizers find the runs that are made here."""


class TagTaken(Exception):
    """The collection has a run of this name; the text says so."""


@transaction.atomic
def start(
    collection: Collection,
    spec: SystemSpec,
    *,
    run_tag: str,
    topics: Sequence[Topic],
    limits: Limits,
    by: User | None,
) -> SystemJob:
    """Have workers make the run, a topic at a time, by the model as the collection's Settings have it.

    Raises TagTaken, and ValueError without topics.
    """
    if not topics:
        raise ValueError("there is no topic to make a run of")
    if spec.needs_model:
        spec = replace(spec, model_options=options_of_writer(collection, spec.backend, spec.llm))
    run = _new_run(collection, run_tag, spec)
    job = SystemJob(collection=collection, run=run, spec=spec_as_json(spec), by=by)
    begin(job, [SystemChunk(topic=topic, size=1) for topic in topics], limits)
    audit.record(
        "run being made", run, by=by, detail=f"{run_tag}: {spec.method}, {counted(len(topics), 'topic')}"
    )
    return job


def _new_run(collection: Collection, run_tag: str, spec: SystemSpec) -> Run:
    """Return a run that does not count yet."""
    made = {"state": Run.State.SUBMITTED, "type": Run.Type.AUTOMATIC}
    described = {"description": spec.method, "tags": [TAG], "is_made_here": True}
    described |= {"llm": spec.llm if spec.needs_model else "", "is_closed_book": spec.is_closed_book}
    run, is_new = Run.objects.get_or_create(collection=collection, run_tag=run_tag, defaults=made | described)
    if not is_new:
        raise TagTaken(f"This collection has a run {run_tag} already. Choose another name.")
    return run


@transaction.atomic
def make_rest(job: SystemJob, *, by: User | None) -> SystemJob:
    """Queue the topics that failed or were cancelled; replies that are kept are not asked for again."""
    locked = steering.lock(job)
    if locked.state not in (Job.State.FAILED, Job.State.CANCELLED):
        return locked
    audit.record("run being made", locked.run, by=by, detail=f"{locked.run.run_tag}: the rest")
    events.publish_on_commit(locked.collection.channel, "progress")
    return steering.retry(locked)


TEMPLATE_CHARS = 600
"""Characters of a prompt without its passages, about as in the longest published ones."""
REPLY_TOKENS = 60
"""Tokens of a step's reply, such as a sentence or a few facts."""
TOKENS_A_WORD = 1.4


@dataclass(frozen=True, slots=True)
class SystemPrice:
    """Estimates for all topics together."""

    topics: int
    calls: int
    """Calls of the model; 0 for a system without one."""
    price: Price
    """Cost of tokens read and written; without dollars for a model without a set price."""
    needs_limit_on_calls: bool
    """A server is asked whose price is not known, so that only a limit on calls protects from surprises."""

    @property
    def of_model(self) -> ExpectedCost:
        return ExpectedCost(self.calls, self.price.dollars)

    @property
    def calls_a_topic(self) -> float:
        return self.calls / self.topics if self.topics else 0


def price(collection: Collection, spec: SystemSpec, topics: int, *, workers: int = 1) -> SystemPrice:
    """Return a call of a step reads one passage of average length; one of a ranking or an answer several.

    `workers` share the work.
    """
    there, passages = _passages(collection, spec)
    candidates = min(there, spec.depth)
    calls, read = spec.calls(candidates) * topics, spec.passages_read(candidates) * topics
    tokens_read = round((read * passages + calls * TEMPLATE_CHARS) / CHARS_A_TOKEN)
    written = calls * reply_tokens(spec)
    dollars = cost(spec.backend, spec.llm, tokens_read, written) if spec.needs_model else 0.0
    same = {"answering": spec.answering.value, "llm": spec.llm, "rerank_passes": spec.rerank_passes}
    if spec.rating_prompt:
        same["rating_prompt"] = spec.rating_prompt
    rate = rate_of(
        SystemChunk.objects.filter(**{f"job__spec__{name}": value for name, value in same.items()})
    )
    return SystemPrice(
        topics,
        calls,
        Price(
            cells=topics,
            tokens=tokens_read + written if spec.needs_model else None,
            seconds=seconds_for(topics, rate, workers=workers),
            dollars=dollars,
        ),
        needs_limit_on_calls=spec.needs_model and dollars is None,
    )


def _passages(collection: Collection, spec: SystemSpec) -> tuple[int, float]:
    """Return how many there are to search, and the characters of one on average."""
    if spec.corpus:
        return retrieval.corpus_size(spec.corpus)
    return collection.passages.count(), collection.passages.aggregate(chars=Avg(Length("text")))["chars"] or 0


def reply_tokens(spec: SystemSpec) -> int:
    """Return the expected tokens of a reply."""
    if spec.is_closed_book:
        return round(1_000 * TOKENS_A_WORD)
    return round(spec.max_words * TOKENS_A_WORD) if spec.answering in IN_ONE_CALL else REPLY_TOKENS


def model_of(spec: SystemSpec, lease: leases.Lease[Any], chunk: AnswerChunk) -> TextModel | None:
    """Return the system's model, or None if it asks none. Raises CannotRun."""
    if not spec.needs_model:
        return None
    llm = limited_model(
        chunk.limited_job,
        backend=spec.backend,
        llm=spec.llm,
        longest_reply=spec.longest_reply,
        thinking=Thinking.of(spec.model_options),
    )
    return KeptReplies(llm, lease, chunk)


def write_run(job: SystemJob) -> None:
    """Import the run in the transaction that ends the job, and let it count unless it was withdrawn."""
    made = [
        (chunk.topic, made_from_json(chunk.result or {}, job.run.run_tag, chunk.topic.query_id))
        for chunk in job.chunks.select_related("topic")
    ]
    with TemporaryDirectory(prefix="rubricweb-run-") as folder:
        path = Path(folder) / "run"
        passages = _passages_of_corpus(job, [result for _, result in made], Path(folder) / "passages.jsonl")
        if job.system.answering is Answering.NONE:
            write_trec_run(path, [result.ranking for _, result in made if result.ranking.doc_ids])
            files = ImportFiles(passages=passages, run_files=(path,), topics_are_closed=True)
        else:
            responses = [_response(job.run, topic, result.answer) for topic, result in made if result.answer]
            write_responses(path, responses, ResponseDialect.RAG24)
            files = ImportFiles(passages=passages, responses=(path,), topics_are_closed=True)
        import_collection(job.collection.slug, files=files, by=job.by)
    job.run.refresh_from_db()
    if job.run.is_unfinished:  # not withdrawn meanwhile
        accept_run(job.run, by=job.by)


def _passages_of_corpus(job: SystemJob, made: Sequence[Made], path: Path) -> tuple[Path, ...]:
    """Write the passages that the run names and only its corpus has, so that they can be read and graded."""
    if not job.system.corpus:
        return ()
    ranked = (
        result.ranking.doc_ids
        if result.answer is None
        else [source.passage_id for source in result.answer.sources]
        for result in made
    )
    named = list(dict.fromkeys(doc_id for doc_ids in ranked for doc_id in doc_ids))
    present = job.collection.passages.filter(doc_id__in=named).values_list("doc_id", flat=True)
    only_there = retrieval.open_corpus(job.system.corpus).passages(
        [name for name in named if name not in set(present)]
    )
    write_passages(path, only_there)
    return (path,) if only_there else ()


def _response(run: Run, topic: Topic, answer: Answer) -> Response:
    response = answer.response(run.run_tag, topic.query_id, team=run.team)
    return replace(response, foreign={"topic": topic.text})


class Systems(AskingKind[SystemChunk]):
    name = "system"
    model = SystemChunk
    related = ("job__collection", "job__run", "topic")
    job_related = ("collection", "run")
    payload = ("replies", "result")
    activity = "run's making"

    def ask(self, lease: leases.Lease[SystemChunk], chunk: SystemChunk) -> dict[str, Any]:
        """Make the topic's ranking and answer."""
        spec, collection = chunk.job.system, chunk.job.collection
        made = make(
            spec,
            convert.topic(chunk.topic),
            retrieval.candidates(collection, spec, convert.topic(chunk.topic), chunk.topic),
            partial(retrieval.sources_of, collection, corpus=spec.corpus),
            model_of(spec, lease, chunk),
        )
        return {"result": made_as_json(made), "done": 1}

    def need(self, work: SystemChunk) -> Need | None:
        spec = work.job.system
        if not spec.needs_model:
            return None
        return need_of(spec.backend, spec.llm)

    def audited(self, job: SystemJob) -> tuple[Model, str]:
        return job.run, job.run.run_tag

    def label(self, work: SystemChunk) -> str:
        return f"run {work.job.run.run_tag}, topic {work.topic.query_id}"

    def on_ended(self, work: SystemChunk, *, error: str) -> None:
        super().on_ended(work, error=error)
        job: SystemJob = self.job(work)
        if job.state == Job.State.DONE:
            write_run(job)

    def on_finished(self, job: SystemJob) -> None:
        page = reverse_lazy("systems:made", args=[job.collection.slug, job.run_id])
        webhooks.job_ended(job, job.collection, kind="run", page=page)


LISTING = Listing(
    kind="runs",
    unit="topic",
    jobs=lambda key: SystemJob.objects.filter(collection=key).select_related("collection", "run", "by"),
    name=lambda job: f"Make run {job.run.run_tag}",
    does=lambda job: job.system.method,
    address=lambda job: reverse("systems:made", args=[job.collection.slug, job.run_id]),
    opens="Run",
    expected=lambda job: price(job.collection, job.system, job.total).of_model,
)
