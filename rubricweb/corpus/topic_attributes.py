"""Topics > Attributes: what a model says of the topics, and what people confirm, mend or set themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from grading.intrinsic_attributes import CATEGORIES, CATEGORY, HIGHEST, MEANINGS
from rubricweb.accounts import roles
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, form_response, parse_id
from rubricweb.corpus import attribute_jobs
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.attribute_jobs import LISTING, PERSON, Value
from rubricweb.corpus.derived_models import AttributeJob
from rubricweb.corpus.models import Collection, Topic
from rubricweb.corpus.writers import WriterForm
from rubricweb.jobs.limits import ExpectedCost, LimitsForm
from rubricweb.jobs.listing import lines_of
from rubricweb.jobs.models import Job

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
    says = attribute_jobs.model_scores(topic)

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
    expected = attribute_jobs.price(collection, form.writer)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        job = attribute_jobs.start(collection, form.writer, limits=limits.limits, by=request.user)
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
    attribute_jobs.decide(topic, form.values, by=request.user)
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
        "failures": attribute_jobs.failures(list(jobs[:1])),
    }
    live = jobs.exclude(state__in=Job.ENDED).first()
    if live and roles.holds(request.user, collection, roles.TO_ORGANIZE):
        limits_form = LimitsForm.of_job(live, attribute_jobs.job_cost(live))
        context |= {"live": live, "limits_form": limits_form}
    if opened := topics.filter(pk=parse_id(request.GET.get("topic", ""))).first():
        context |= {"opened": opened, "attributes_form": AttributesForm(opened)}
    return context
