"""The start of a rubric: topics without items, and a model that drafts for all of them as one priced job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from grading.generation import TRIES
from grading.generation.models import drafting_backends
from grading.graders.hf_model import PACKAGED, SMOLLM2
from grading.types import ItemKind
from rubricweb.accounts import roles
from rubricweb.banks import actions, changes, draft_jobs
from rubricweb.banks.access import draft_job_for
from rubricweb.banks.draft_jobs import PER_PLACE, Lacking, measured_rate
from rubricweb.banks.draft_models import KINDS, Draft, DraftJob
from rubricweb.banks.drafting import DraftOptions
from rubricweb.banks.models import Bank
from rubricweb.core.formatting import counted
from rubricweb.core.http import HtmxRequest, page_or_part, part_or_redirect
from rubricweb.corpus import access, writers
from rubricweb.corpus.models import Collection
from rubricweb.jobs import steering
from rubricweb.jobs.limits import ExpectedCost, Limits, LimitsForm, change_limits, cost
from rubricweb.jobs.progress import Price, Progress, progress_of

PAGE = "editor/topic.html"
STEERS = ("pause", "resume", "cancel")


@dataclass(frozen=True, slots=True)
class DraftingProgress:
    """A job that drafts, with how far it is; `limits` is the form of its limits, once they stopped it."""

    job: DraftJob
    progress: Progress
    limits: LimitsForm | None


@dataclass(frozen=True, slots=True)
class Start:
    """The ways to begin for a collection whose topics lack items."""

    lacking: Lacking
    form: StartForm
    price: Price
    limits: LimitsForm
    drafting: DraftingProgress | None
    n_waiting: int
    """Drafts that wait for a decision."""

    @property
    def n_drafts(self) -> int:
        return PER_PLACE * len(self.lacking.places)


class StartForm(forms.Form):
    """The kind of items to draft for all topics, and the model."""

    kind = forms.ChoiceField(label="Draft", choices=[(kind, f"{kind}s") for kind, _ in KINDS])
    model = forms.ChoiceField(label="with")

    def __init__(self, collection: Collection, chosen: Mapping[str, str] | None = None) -> None:
        first = next(iter(writers_offered(collection)), "")
        super().__init__({"kind": "question", "model": first} | dict(chosen or {}), auto_id="start-%s")
        field = self.fields["model"]
        field.choices = field.widget.choices = list(writers_offered(collection).items())  # type: ignore[attr-defined]

    @property
    def options(self) -> DraftOptions:
        """Return what is chosen, or offered first."""
        self.is_valid()
        offered = next(iter(dict(self.fields["model"].choices)), "")  # type: ignore[attr-defined]
        backend, _, llm = str(self.cleaned_data.get("model", offered)).partition("|")
        return DraftOptions(ItemKind(self.cleaned_data.get("kind", "question")), backend, llm)


def writers_offered(collection: Collection) -> dict[str, str]:
    """Return the label of each model by "back-end|model".

    The collection's own first, then those that run here without a download, then the defaults of back-ends.
    """
    offered: dict[str, str] = {}
    backends = {backend.name: backend for backend in drafting_backends()}
    if own := writers.writer_of(collection):
        offered[f"{own.backend}|{own.llm}"] = f"{own.llm}, the collection's own"
    if find_spec(PACKAGED[SMOLLM2][1]) and "hf_causal" in backends:
        offered.setdefault(f"hf_causal|{SMOLLM2}", "SmolLM2 135M, delivered with RubricWeb (small and weak)")
    for backend in backends.values():
        if backend.name != "openai_compatible" or settings.OPENAI_BASE_URL:
            offered.setdefault(
                f"{backend.name}|{backend.default_llm}", f"{backend.default_llm}: {backend.label}"
            )
    return offered


def start_of(
    collection: Collection, bank: Bank | None, chosen: Mapping[str, str] | None = None
) -> Start | None:
    """Return the ways to begin where topics lack items; None where each has some, or there are no topics.

    `chosen` are the fields of a form, with which the price is that of another model.
    """
    lacking = draft_jobs.lacking(collection, bank)
    job = draft_jobs.live_job(bank) if bank else None
    if not lacking.without_items and job is None:
        return None
    form = StartForm(collection, chosen)
    price = draft_jobs.price(form.options, lacking.places)
    expected = ExpectedCost.of(price)
    limits = LimitsForm(expected, chosen if chosen and "most_calls" in chosen else None)
    waiting = (
        Draft.objects.filter(request__bank=bank, state=Draft.State.WAITING) if bank else Draft.objects.none()
    )
    return Start(lacking, form, price, limits, under_way(job) if job else None, waiting.count())


def under_way(job: DraftJob) -> DraftingProgress:
    """Return how far the job is, and the form by which one that paused itself goes on."""
    [progress] = progress_of([job], measured_rate)
    return DraftingProgress(job, progress, limits_form(job) if job.is_paused else None)


def limits_form(job: DraftJob, posted: Mapping[str, str] | None = None) -> LimitsForm:
    dollars = cost(job.backend, job.llm, 1, 1)
    return LimitsForm.of_job(job, ExpectedCost(job.total, dollars), posted)


@require_POST
def draft_all(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a model draft for each topic without items, or with `only` for one to try it."""
    collection = access.collection_for(request.user, slug, needed=roles.TO_EDIT_BANK)
    posted = {name: str(value) for name, value in request.POST.items()}
    form, is_trial = StartForm(collection, posted), "only" in posted
    bank = _bank(request, collection)
    start = start_of(collection, bank, {"most_calls": "", **posted})
    if not form.is_valid():
        messages.error(request, "Choose one of the models that are offered.")
    elif start and not (is_trial or start.limits.is_valid()):
        return _refused(request, bank, start, start.limits)
    else:
        limits = Limits(TRIES) if is_trial or start is None else start.limits.limits
        try:
            job = draft_jobs.start(
                bank, form.options, limits=limits, by=request.user, at_most=1 if is_trial else None
            )
        except changes.CannotDraft as refusal:
            messages.error(request, str(refusal))
        else:
            places = counted(job.total, start.lacking.noun if start else "topic")
            messages.success(request, f"{job.llm} drafts for {places}.")
    return redirect(_address(bank))


def _card(bank: Bank, start: Start | None = None) -> dict[str, object]:
    """Return what the card takes of a person who may edit the bank."""
    start = start or start_of(bank.collection, bank)
    return {"start": start, "collection": bank.collection, "bank": bank, "can_edit": True}


def _refused(request: HtmxRequest, bank: Bank, start: Start, limits: LimitsForm) -> HttpResponse:
    """Show the limits that cannot be read: in the card, or without JavaScript as messages above it."""
    if not request.htmx:
        for name, problems in limits.errors.items():
            messages.error(request, f"{limits.fields[name].label}: {' '.join(map(str, problems))}")
        return redirect(_address(bank))
    response = page_or_part(request, PAGE, _card(bank, start), part="start")
    response.status_code = 422
    return response


@require_POST
def draft_steer(request: HtmxRequest, bank_id: int, draft_job_id: int, steer: str) -> HttpResponse:
    """Pause, resume or cancel a job that drafts; drafts that came are kept."""
    job = draft_job_for(request.user, bank_id, draft_job_id, needed=roles.TO_EDIT_BANK)
    if steer in STEERS:
        steering.steer(job, steer, by=request.user)
    return redirect(_address(job.bank))


@require_POST
def draft_limits(request: HtmxRequest, bank_id: int, draft_job_id: int) -> HttpResponse:
    """Let a job ask its model more, or less; one that stopped at a limit goes on."""
    job = draft_job_for(request.user, bank_id, draft_job_id, needed=roles.TO_EDIT_BANK)
    form = limits_form(job, request.POST)
    start = start_of(job.collection, job.bank)
    if not form.is_valid() and start and start.drafting:
        return _refused(
            request, job.bank, replace(start, drafting=replace(start.drafting, limits=form)), form
        )
    if form.is_valid():
        change_limits(job, form.limits, by=request.user)
    return part_or_redirect(request, f"{PAGE}#start", _card(job.bank), to=_address(job.bank))


def _address(bank: Bank) -> str:
    return f"{reverse('editor:review-drafts', args=[bank.collection.slug])}?bank={bank.pk}"


def _bank(request: HtmxRequest, collection: Collection) -> Bank:
    """Return the bank that the form names, or the collection's first one, which is made if there is none."""
    named = request.POST.get("bank", "")
    bank: Bank | None = collection.banks.filter(pk=int(named)).first() if named.isdecimal() else None
    return bank or collection.banks.first() or actions.begin_bank(collection, by=request.user)
