"""Topics > Attributes: what a model says of the topics, and what people confirm, mend or set themselves.

A model scores them in a priced job of one call a topic. What counts is `Topic.attributes`, which files and
people fill. `Topic.attribute_sources` has by attribute what a model says (`model`, `llm`, `prompt_id`) and
whether a person decided (`by`: "person"), who stands in the audit log: a model's score moves into
`attributes` only when a person confirms or mends it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Avg
from django.db.models.functions import Length
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.errors import ParseFailure
from grading.graders.replies import NoReply
from grading.intrinsic_attributes import (
    CATEGORIES,
    CATEGORY,
    HIGHEST,
    LONGEST_REPLY,
    MEANINGS,
    PROMPT,
    is_score,
    parse_scores,
    question,
)
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.derived_models import AttributeChunk, AttributeJob
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.writers import Writer, WriterForm, limited_writer
from rubricweb.jobs.leases import Lease
from rubricweb.jobs.limits import (
    CHARS_A_TOKEN,
    AskingKind,
    ExpectedCost,
    KeptReplies,
    Limits,
    LimitsForm,
    begin,
    price_of_calls,
)
from rubricweb.jobs.listing import Listing, lines_of
from rubricweb.jobs.models import Job
from rubricweb.jobs.progress import Price, rate_of, seconds_for

REPLY_TOKENS = 70
"""Tokens of a usual reply."""
PERSON = "person"
Value = str | int | float


class AllTopicsScored(Exception):
    """The model has scored every topic that has a text."""


def missing(collection: Collection, writer: Writer) -> list[Topic]:
    """Return the topics with a text that this model has not scored in today's words."""
    rows = collection.topics.exclude(text="").order_by("position")
    return [topic for topic in rows if not _is_scored(topic, writer.llm)]


def _is_scored(topic: Topic, llm: str) -> bool:
    sources = [topic.attribute_sources.get(name, {}) for name in MEANINGS]
    return all((row.get("llm"), row.get("prompt_id")) == (llm, PROMPT.prompt_id) for row in sources)


def price(collection: Collection, writer: Writer) -> Price:
    """Return the price of the topics that the model has not scored."""
    return _price(collection, writer, len(missing(collection, writer)))


def _price(collection: Collection, writer: Writer, calls: int) -> Price:
    text = collection.topics.aggregate(chars=Avg(Length("text")))["chars"] or 0
    read, written = calls * (len(PROMPT.template) + text) / CHARS_A_TOKEN, calls * REPLY_TOKENS
    model = writer.backend, writer.llm
    seconds = seconds_for(calls, _rate(*model))
    return price_of_calls(*model, calls=calls, read=read, written=written, seconds=seconds)


def _rate(backend: str, llm: str) -> float | None:
    """Return the topics a second of one worker in the model's latest chunks; None if it scored none."""
    return rate_of(AttributeChunk.objects.filter(job__backend=backend, job__llm=llm))


@transaction.atomic
def start(collection: Collection, writer: Writer, *, limits: Limits, by: User | None) -> AttributeJob:
    """Have workers ask the model about the topics it has not scored. Raises AllTopicsScored."""
    topics = missing(collection, writer)
    if not topics:
        raise AllTopicsScored(f"{writer.llm} has scored every topic that has a text.")
    job = AttributeJob(collection=collection, prompt_id=PROMPT.prompt_id, by=by)
    job.backend, job.llm = writer.backend, writer.llm
    begin(job, [AttributeChunk(topic=topic, size=1) for topic in topics], limits)
    audit.record("attributes of topics asked of a model", collection, by=by, detail=str(job))
    return job


@transaction.atomic
def keep_scores(topic_id: int, scores: Mapping[str, float], job: AttributeJob) -> None:
    """Keep what the model says; what a person decided stays."""
    topic = Topic.objects.select_for_update().get(pk=topic_id)
    for name, score in scores.items():
        decided = {key: value for key, value in topic.attribute_sources.get(name, {}).items() if key == "by"}
        says = {"model": score, "llm": job.llm, "prompt_id": job.prompt_id}
        topic.attribute_sources[name] = decided | says
    topic.save(update_fields=["attribute_sources"])


@transaction.atomic
def decide_attributes(topic: Topic, values: Mapping[str, Value | None], *, by: User) -> list[str]:
    """Set attributes of a topic as a person decided; None takes one away. Return the names that changed.

    A value that the topic has from a file and that stays the same remains the file's.
    """
    topic = Topic.objects.select_for_update().get(pk=topic.pk)
    changed = [name for name, value in values.items() if topic.attributes.get(name) != value]
    for name in changed:
        source = {key: value for key, value in topic.attribute_sources.get(name, {}).items() if key != "by"}
        topic.attributes.pop(name, None)
        if (value := values[name]) is not None:
            topic.attributes[name] = value
            source["by"] = PERSON
        topic.attribute_sources[name] = source
    if changed:
        topic.save(update_fields=["attributes", "attribute_sources"])
        listed = ", ".join(f"{name} {'-' if values[name] is None else values[name]}" for name in changed)
        audit.record("attributes of a topic decided", topic, by=by, detail=listed)
    return changed


def model_scores(topic: Topic) -> dict[str, float]:
    """Return what a model says of the topic, by attribute."""
    return {name: row["model"] for name, row in topic.attribute_sources.items() if is_score(row.get("model"))}


class AttributeScores(AskingKind[AttributeChunk]):
    name = "attributes"
    model = AttributeChunk
    related = ("job__collection", "topic__collection")
    activity = "scoring of topics"

    def ask(self, lease: Lease[AttributeChunk], chunk: AttributeChunk) -> dict[str, Any]:
        job, failed = chunk.job, 0
        writer = Writer(job.backend, job.llm)
        llm = KeptReplies(
            limited_writer(job, job.collection, writer, longest_reply=LONGEST_REPLY), lease, chunk
        )
        try:
            keep_scores(chunk.topic_id, parse_scores(llm.complete(question(chunk.topic.text))), job)
        except NoReply as error:
            if not error.is_of_prompt:
                raise
            failed = 1
        except ParseFailure:
            failed = 1
        return {"done": 1, "failed": failed}

    def label(self, work: AttributeChunk) -> str:
        return f"attributes of topic {work.topic.query_id}"


def job_cost(job: AttributeJob) -> ExpectedCost:
    """Return the expected cost of the whole job, whatever is done."""
    return ExpectedCost.of(_price(job.collection, Writer(job.backend, job.llm), job.total))


def failures(jobs: Sequence[AttributeJob]) -> list[AttributeChunk]:
    """Return the chunks of these jobs whose reply had no scores."""
    rows = AttributeChunk.objects.filter(job__in=jobs, failed__gt=0)
    return list(rows.select_related("topic").order_by("-job", "number"))


LISTING = Listing(
    kind="attributes",
    unit="topic",
    jobs=lambda key: AttributeJob.objects.filter(collection=key).select_related("collection", "by"),
    name=lambda job: f"Score topics with {job.llm}",
    does=str,
    address=lambda job: reverse("corpus:topic-attributes", args=[job.collection.slug]),
    opens="Topics",
    rate=lambda job: _rate(job.backend, job.llm),
    expected=job_cost,
)
"""Scores of topics, in the list of a collection's jobs."""


PAGE = "corpus/topic_attributes.html"
PAGE_TOPICS = 50


@dataclass(frozen=True, slots=True)
class ShownScore:
    """One attribute of a topic."""

    name: str
    value: Value | None
    """What counts: from a file or a person; None where only a model says something, or nobody."""
    model: float | None
    is_by_person: bool


@dataclass(frozen=True, slots=True)
class TopicWithScores:
    topic: Topic
    category: ShownScore
    scores: tuple[ShownScore, ...]

    @property
    def waits(self) -> dict[str, float]:
        """Return the model's scores of attributes that nobody has decided."""
        return {row.name: row.model for row in self.scores if row.value is None and row.model is not None}


def listed_topic(topic: Topic) -> TopicWithScores:
    """Return the topic with its category and its eight scores."""
    says = model_scores(topic)

    def score_of(name: str) -> ShownScore:
        is_by_person = topic.attribute_sources.get(name, {}).get("by") == PERSON
        return ShownScore(name, topic.attributes.get(name), says.get(name), is_by_person)

    return TopicWithScores(topic, score_of(CATEGORY), tuple(map(score_of, MEANINGS)))


class AttributesForm(forms.Form):
    """The attributes of one topic as a person decides them; an empty field takes one away."""

    def __init__(self, topic: Topic, submitted: Mapping[str, Any] | None = None) -> None:
        super().__init__(submitted, auto_id="attribute-%s")
        row = listed_topic(topic)
        stated = str(row.category.value or "")
        choices = [("", "none"), *((name, f"{name}: {meaning}") for name, meaning in CATEGORIES.items())]
        if stated and stated not in CATEGORIES:
            choices.append((stated, stated))
        self.fields[CATEGORY] = forms.ChoiceField(
            label="Category of the answer", choices=choices, required=False, initial=stated
        )
        for score in row.scores:
            note = "" if score.model is None else f" The model says {score.model:g}."
            self.fields[score.name] = forms.FloatField(
                label=score.name.capitalize(),
                min_value=0,
                max_value=HIGHEST,
                required=False,
                initial=score.model if score.value is None else score.value,
                help_text=f"0 to {HIGHEST}: {MEANINGS[score.name]}.{note}",
            )

    @property
    def values(self) -> dict[str, Value | None]:
        """Return what the valid form says of the fields that were sent; whole numbers as such."""
        submitted = {name: value for name, value in self.cleaned_data.items() if name in self.data}
        return {
            name: int(value) if isinstance(value, float) and value.is_integer() else value
            for name, value in ((name, None if value == "" else value) for name, value in submitted.items())
        }


@require_http_methods(["GET", "HEAD", "POST"])
def topic_attributes(request: HtmxRequest, slug: str) -> HttpResponse:
    """List the topics and preview what asking a model takes (GET); have it asked (POST)."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    if request.method == "POST":
        collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    submitted = request.POST if request.method == "POST" else request.GET
    form = WriterForm(submitted if "llm" in submitted else None, auto_id="ask_%s")
    form.offer(collection)
    context = _context(request, collection) | {"form": form}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context, part="attributes")
    expected = price(collection, form.writer)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        job = start(collection, form.writer, limits=limits.limits, by=request.user)
        messages.success(request, f"Asking {job.llm} about {counted(job.total, 'topic')}.")
        return redirect("corpus:topic-attributes", slug)
    context |= {"price": expected, "limits": limits}
    return form_response(request, PAGE, context, part="attributes", status=422 if limits.is_bound else 200)


@require_POST
def decide(request: HtmxRequest, slug: str, topic_id: int) -> HttpResponse:
    """Save a topic's attributes as a person decided them."""
    collection = collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    topic = get_object_or_404(collection.topics, pk=topic_id)
    form = AttributesForm(topic, request.POST)
    if not form.is_valid():
        context = _context(request, collection) | {"opened": topic, "attributes_form": form}
        return form_response(request, PAGE, context, part="attributes", status=422)
    decide_attributes(topic, form.values, by=request.user)
    page = parse_id(request.GET.get("page", "")) or 1
    return redirect(f"{reverse('corpus:topic-attributes', args=[slug])}?page={page}#topic-{topic.pk}")


def _context(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return what the page has, whatever is asked on it."""
    topics = collection.topics.order_by("position", "pk")
    page = Paginator(topics, PAGE_TOPICS).get_page(request.GET.get("page", 1))
    jobs = AttributeJob.objects.filter(collection=collection)
    form = WriterForm(auto_id="ask_%s")
    form.offer(collection)
    context: dict[str, object] = {
        "collection": collection,
        "form": form,
        "page": page,
        "rows": [listed_topic(topic) for topic in page],
        "names": list(MEANINGS),
        "jobs": lines_of(LISTING, LISTING.jobs(collection.pk))[:1],
        "failures": failures(list(jobs[:1])),
    }
    live = jobs.exclude(state__in=Job.ENDED).first()
    if live and roles.holds(request.user, collection, roles.TO_ORGANIZE):
        limits_form = LimitsForm.of_job(live, job_cost(live))
        context |= {"live": live, "limits_form": limits_form}
    if opened := topics.filter(pk=parse_id(request.GET.get("topic", ""))).first():
        context |= {"opened": opened, "attributes_form": AttributesForm(opened)}
    return context
