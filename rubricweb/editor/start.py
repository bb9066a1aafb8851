"""The start of a bank: topics without items, and a model that drafts for all of them at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from statistics import median

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from grading.generation.models import drafting_backends
from grading.graders.hf_model import PACKAGED, SMOLLM2
from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import actions, changes, drafting
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus import access, prompts
from rubricweb.corpus.models import Collection, Topic
from rubricweb.jobs.progress import in_words

PER_TOPIC = 10
"""Questions that the prompt asks a model for."""
TOGETHER = timedelta(minutes=2)
"""Requests that were made within this time of each other are one job to people."""


@dataclass(frozen=True, slots=True)
class DraftingProgress:
    """Requests that one person made at once, while a model still answers some."""

    done: int
    total: int
    llm: str
    seconds: float | None

    @property
    def time(self) -> str:
        left = self.total - self.done
        return in_words((left * self.seconds, left * self.seconds)) if self.seconds else ""


@dataclass(frozen=True, slots=True)
class Start:
    """The ways to begin for a collection whose topics lack items."""

    topics: tuple[Topic, ...]
    """Topics without items, waiting drafts or an open request."""
    n_topics: int
    n_lacking: int
    """Topics without items, whether or not something is drafted for them."""
    form: StartForm
    seconds: float | None
    """Measured time to draft for one topic; None before the first."""
    drafting: DraftingProgress | None

    @property
    def time(self) -> str:
        """Return how long all topics take."""
        whole = len(self.topics) * self.seconds if self.seconds else 0.0
        return in_words((whole, whole)) if whole else ""

    @property
    def n_drafts(self) -> int:
        return PER_TOPIC * len(self.topics)


class StartForm(forms.Form):
    """The kind of items to draft for all topics, and the model."""

    kind = forms.ChoiceField(
        label="Draft", choices=[(kind.value, f"{kind.value}s") for kind in ItemKind], initial="question"
    )
    model = forms.ChoiceField(label="with")

    def __init__(self, collection: Collection, typed: QueryDict | None = None) -> None:
        super().__init__(typed, auto_id="start-%s")
        self.models = writers_offered(collection)
        field = self.fields["model"]
        field.choices = field.widget.choices = list(self.models.items())  # type: ignore[attr-defined]

    @property
    def model_name(self) -> tuple[str, str]:
        """Return the back-end and the model that are chosen, or offered first."""
        chosen = str(self["model"].value() or next(iter(self.models)))
        backend, _, llm = chosen.partition("|")
        return backend, llm


def writers_offered(collection: Collection) -> dict[str, str]:
    """Return the label of each model by "back-end|model".

    The collection's own first, then those that run here without a download, then the defaults of back-ends.
    """
    offered: dict[str, str] = {}
    backends = {backend.name: backend for backend in drafting_backends()}
    if own := prompts.writer_of(collection):
        offered[f"{own.backend}|{own.llm}"] = f"{own.llm}, the collection's own"
    if find_spec(PACKAGED[SMOLLM2][1]) and "hf_causal" in backends:
        offered.setdefault(f"hf_causal|{SMOLLM2}", "SmolLM2 135M, delivered with RubricWeb (small and weak)")
    for backend in backends.values():
        if backend.name != "openai_compatible" or settings.OPENAI_BASE_URL:
            offered.setdefault(
                f"{backend.name}|{backend.default_llm}", f"{backend.default_llm}: {backend.label}"
            )
    return offered


def start_of(collection: Collection, bank: Bank | None) -> Start | None:
    """Return the ways to begin where topics lack items; None where each has some, or there are no topics."""
    asked_about = Item.including_secret.active().filter(bank=bank).values("topic")
    lacking = list(collection.topics.exclude(pk__in=asked_about).order_by("position", "pk"))
    if not lacking:
        return None
    busy = set()
    if bank:
        waiting = Draft.objects.filter(request__bank=bank, state=Draft.State.WAITING)
        live = bank.draft_requests.filter(state__in=DraftRequest.LIVE)
        busy = set(waiting.values_list("request__topic_id", flat=True)) | set(
            live.values_list("topic_id", flat=True)
        )
    form = StartForm(collection)
    return Start(
        topics=tuple(topic for topic in lacking if topic.pk not in busy and topic.text),
        n_topics=collection.topics.count(),
        n_lacking=len(lacking),
        form=form,
        seconds=seconds_a_topic(*form.model_name),
        drafting=under_way(bank) if bank else None,
    )


def seconds_a_topic(backend: str, llm: str) -> float | None:
    """Return how long the model took for a topic, by the median of its last answers on this server."""
    done = DraftRequest.objects.filter(backend=backend, llm=llm, state=DraftRequest.State.DONE)
    rows = done.order_by("-ended_at").values_list("queued_at", "ended_at")[:20]
    times = [(queued, ended) for queued, ended in rows if ended]
    before = [ended for _, ended in times[1:]]
    begun = [max([queued, *before[n : n + 1]]) for n, (queued, _) in enumerate(times)]
    spans = [(ended - first).total_seconds() for (_, ended), first in zip(times, begun, strict=True)]
    return median(spans) if spans else None


def under_way(bank: Bank) -> DraftingProgress | None:
    """Return the drafting that a model is at now, with what was asked together with it."""
    last = bank.draft_requests.filter(state__in=DraftRequest.LIVE, asks=DraftRequest.Asks.ITEMS).first()
    if last is None:
        return None
    together = bank.draft_requests.filter(
        backend=last.backend, llm=last.llm, kind=last.kind, by=last.by, at__gte=last.at - TOGETHER
    ).exclude(state=DraftRequest.State.CANCELLED)
    counts = together.aggregate(total=Count("pk"), live=Count("pk", filter=Q(state__in=DraftRequest.LIVE)))
    done = counts["total"] - counts["live"]
    return DraftingProgress(done, counts["total"], last.llm, seconds_a_topic(last.backend, last.llm))


@require_POST
def draft_all(request: HtmxRequest, slug: str) -> HttpResponse:
    """Ask a model for drafts for each topic without items, or with `only` for one to try it."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    form = StartForm(collection, request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the models that are offered.")
        return redirect(collection)
    bank = _bank(request, collection)
    start = start_of(collection, bank)
    backend, llm = form.model_name
    options = DraftOptions(ItemKind(form.cleaned_data["kind"]), backend, llm)
    asked_for = 0
    for topic in start.topics[:1] if start and "only" in request.POST else start.topics if start else ():
        try:
            drafting.request_drafts(bank, topic, options, by=request.user)
        except changes.CannotDraft as refusal:
            messages.error(request, f"{topic.query_id}: {refusal}")
            break
        asked_for += 1
    if asked_for:
        messages.success(request, f"{llm} drafts for {asked_for} topic{'s' if asked_for > 1 else ''}.")
    return redirect(f"{reverse('editor:review-drafts', args=[slug])}?bank={bank.pk}")


@require_POST
def draft_stop(request: HtmxRequest, slug: str) -> HttpResponse:
    """Cancel what models are still asked for; drafts that came are kept."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    bank = _bank(request, collection)
    for live in bank.draft_requests.filter(state__in=DraftRequest.LIVE):
        drafting.cancel_request(live, by=request.user)
    return redirect(f"{reverse('editor:review-drafts', args=[slug])}?bank={bank.pk}")


def _bank(request: HtmxRequest, collection: Collection) -> Bank:
    """Return the bank that the form names, or the collection's first one, which is made if there is none."""
    named = request.POST.get("bank", "")
    bank: Bank | None = collection.banks.filter(pk=int(named)).first() if named.isdecimal() else None
    return bank or collection.banks.first() or actions.begin_bank(collection, by=request.user)
