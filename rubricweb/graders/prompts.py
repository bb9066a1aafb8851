"""The page on which a collection's own prompts are written, tried and put away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading import prompts
from grading.types import ItemKind, Outcome
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.compiled import compiled_once
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part, parse_id, part_or_redirect
from rubricweb.corpus import prompts as corpus
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, OwnPrompt
from rubricweb.graders import dry_runs
from rubricweb.graders.dry_runs import (
    DryRunReply,
    TrialSample,
    pairs_of,
    sample_of,
    shown_to_model,
    spec_of_dry_run,
)
from rubricweb.graders.forms import (
    ASKS,
    PromptForm,
    TrialForm,
    initial_of,
    model_form,
    passage_fields,
    why_not_ask,
)
from rubricweb.graders.models import DryRun
from rubricweb.grades import visibility
from rubricweb.grades.models import Grade

HOW = dict(Grade.How.choices)


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A saved prompt in the list."""

    row: OwnPrompt
    prompt: prompts.Prompt
    is_asked: bool
    """Whether Re-grade uses it."""

    @property
    def asks(self) -> str:
        return ASKS[initial_of(self.prompt)["asks"]][0]


@dataclass(frozen=True, slots=True)
class Read:
    """A worker's result for one passage, with its reading."""

    result: DryRunReply
    label: str
    """The rating's label, where it has one."""

    @property
    def is_failed(self) -> bool:
        return self.result.outcome == Outcome.FAILED

    @property
    def how(self) -> str:
        return str(HOW[self.result.outcome])

    @property
    def outcome(self) -> str:
        """Return a short outcome: "rating 3", "failed"."""
        if self.is_failed or self.result.rating is None:
            return self.how
        return f"rating {self.label or self.result.rating}"


def prompt_for(user: User, slug: str, prompt_id: int) -> OwnPrompt:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    row: OwnPrompt = get_object_or_404(collection.prompts.select_related("collection"), pk=prompt_id)
    return row


def listed(collection: Collection) -> dict[str, object]:
    """Return the saved prompts, and the published ones to start from."""
    active = {prompt.prompt_id for prompt in corpus.active_prompts(collection)}
    rows = [PromptRow(row, row.prompt, row.prompt_id in active) for row in _newest_first(collection.pk)]
    return {
        "prompt_rows": [row for row in rows if not row.row.is_put_away],
        "away": [row for row in rows if row.row.is_put_away],
        "published": [each for each in prompts.published() if _can_be_copied(each)],
    }


@compiled_once
def _newest_first(collection: int) -> QuerySet[OwnPrompt, OwnPrompt]:
    return OwnPrompt.objects.filter(collection=collection).select_related("by").order_by("-pk")


def tried(
    collection: Collection, form: PromptForm, fields: Mapping[str, Any], dry_run: DryRun | None = None
) -> dict[str, object]:
    """Return the context beside the form: the sample, the rendered prompt, and the last dry run."""
    _, kind, _ = ASKS.get(str(form["asks"].value()), ASKS["questions"])
    sample = dry_runs.sample_of_dry_run(dry_run) if dry_run else sample_of(collection, {kind}, fields)
    model = (
        model_form(collection, initial={"backend": dry_run.backend, "llm": dry_run.llm})
        if dry_run
        else model_form(collection, fields if form.is_bound else None)
    )
    context: dict[str, object] = {
        "sample": sample,
        "sample_problem": why_not_ask(sample) if sample else "",
        "passage_fields": passage_fields(sample) if sample else [],
        "model_form": model,
        "is_direct": kind is ItemKind.DIRECT,
        "shown": _rendering(collection, form, sample, model),
    }
    return context | (dry_run_context(dry_run) if dry_run else {})


def dry_run_context(dry_run: DryRun) -> dict[str, object]:
    """Return the context of a dry run with its replies."""
    prompt = dry_run.prompt
    read = [Read(reply, _label(prompt, reply.rating)) for reply in dry_runs.results(dry_run)]
    return {
        "dry_run": dry_run,
        "read": read,
        "news": _news(dry_run, read),
        "again": reverse("graders:dry-run", args=[dry_run.collection.slug, dry_run.pk]),
    }


def _news(dry_run: DryRun, read: list[Read]) -> str:
    """Return the sentence that is announced."""
    if dry_run.is_live:
        return f"Asking {dry_run.llm}…"
    if dry_run.state == DryRun.State.FAILED:
        return f"{dry_run.llm} was not asked."
    if not read:
        return "You still have to rate this pair blind."
    outcomes = "; ".join(each.outcome for each in read)
    return f"{dry_run.llm} replied: {outcomes}."


def _can_be_copied(prompt: prompts.Prompt) -> bool:
    """Return whether a collection's own prompt can begin with its words: these ask about one item."""
    return bool(prompt.placeholders) and prompt.items_a_call == 1


def start_from(collection: Collection, fields: Mapping[str, str]) -> PromptForm:
    """Return a form that is empty, or a copy of the saved prompt `from` or the published class `like`.

    A copy of a published class needs a name of its own.
    """
    row = collection.prompts.filter(pk=parse_id(fields.get("from", ""))).first()
    published = next(
        (prompt for prompt in prompts.published() if prompt.prompt_class == fields.get("like")), None
    )
    if row:
        return PromptForm(initial=initial_of(row.prompt))
    if published and _can_be_copied(published):
        return PromptForm(initial=initial_of(published) | {"name": f"My{published.prompt_class}"[:64]})
    return PromptForm()


def _rendering(
    collection: Collection, form: PromptForm, sample: TrialSample | None, model: TrialForm
) -> list[object] | None:
    """Return what a model would be asked; None while the prompt cannot be asked."""
    bound = form if form.is_bound else PromptForm(form.initial)
    if sample is None or not bound.is_valid():
        return None
    backend, llm = str(model["backend"].value() or ""), str(model["llm"].value() or "")
    spec = spec_of_dry_run(collection, bound.prompt, backend, llm)
    return [shown_to_model(bound.prompt, pair) for pair in pairs_of(sample, bound.prompt, spec)]


def _label(prompt: prompts.Prompt, rating: int | None) -> str:
    name = "" if rating is None else prompt.label_of(rating)
    return "" if name == str(rating) else name


PAGE = "graders/graders.html"


@require_safe
def write(request: HtmxRequest, slug: str) -> HttpResponse:
    """Open the form on the page of graders, empty or as a copy of the prompt `from` or `like`."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = start_from(collection, request.GET.dict())
    return form_response(
        request, PAGE, _writing(request, collection, form, request.GET.dict()), part="writing"
    )


@require_POST
def save(request: HtmxRequest, slug: str) -> HttpResponse:
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = PromptForm(request.POST)
    if form.is_valid() and visibility.blind_passages(collection.pk):
        form.add_error(
            None,
            "You still have pairs to rate blind, which a prompt could ask about. Rate them, then save it.",
        )
    if form.errors:
        return form_response(
            request, PAGE, _writing(request, collection, form, request.POST.dict()), part="writing"
        )
    row, is_new = corpus.save_prompt(collection, form.prompt, by=request.user)
    message = "Saved as" if is_new else "This text was already saved as"
    messages.success(request, f"{message} {row.prompt_id}. Tick it under Other prompts to use it.")
    return redirect("graders:graders", slug)


@require_POST
def preview(request: HtmxRequest, slug: str) -> HttpResponse:
    """Render the prompt as a model would get it, without calling one."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = PromptForm(request.POST)
    context = _writing(request, collection, form, request.POST.dict())
    return page_or_part(request, PAGE, context, part="shown" if request.htmx.target == "shown" else "sample")


@require_POST
def try_out(request: HtmxRequest, slug: str) -> HttpResponse:
    """Queue a dry run of the prompt; its results are fetched once they exist."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    fields = request.POST.dict()
    form, model = PromptForm(fields), model_form(collection, fields)
    sample = sample_of(collection, form.prompt.kinds, fields) if form.is_valid() else None
    reason = _why_not(form, model.is_valid() and bool(model.cleaned_data["backend"]))
    if sample is None or reason or (reason := why_not_ask(sample)):
        context = _writing(request, collection, form, fields) | {
            "reason": reason or "There is no topic to try the prompt on."
        }
        return form_response(request, PAGE, context, part="dry_run")
    choice = model.cleaned_data["backend"], model.cleaned_data["llm"].strip()
    dry_run = dry_runs.start_dry_run(
        collection, form.prompt, sample, backend=choice[0], llm=choice[1], by=request.user
    )
    context = _place(collection) | dry_run_context(dry_run)
    to = reverse("graders:dry-run", args=[slug, dry_run.pk])
    return part_or_redirect(request, f"{PAGE}#dry_run", context, to=to)


@require_safe
def dry_run(request: HtmxRequest, slug: str, dry_run_id: int) -> HttpResponse:
    """Show the last dry run; without htmx, on the whole page with the form as it was then."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    related = collection.dry_runs.select_related("collection", "topic", "revision")
    dry_run: DryRun = get_object_or_404(related, pk=dry_run_id)
    if request.htmx:
        context = _place(dry_run.collection) | dry_run_context(dry_run)
        return page_or_part(request, PAGE, context, part="dry_run")
    form = PromptForm(initial=initial_of(dry_run.prompt))
    context = (
        _page(request, dry_run.collection) | {"form": form} | tried(dry_run.collection, form, {}, dry_run)
    )
    return page_or_part(request, PAGE, context, part="dry_run")


@require_POST
def put_away(request: HtmxRequest, slug: str, prompt_id: int) -> HttpResponse:
    row = corpus.put_away(prompt_for(request.user, slug, prompt_id), by=request.user)
    return _after_change(request, row.collection)


@require_POST
def bring_back(request: HtmxRequest, slug: str, prompt_id: int) -> HttpResponse:
    row = corpus.bring_back(prompt_for(request.user, slug, prompt_id), by=request.user)
    return _after_change(request, row.collection)


def _why_not(form: PromptForm, has_model: bool) -> str:
    if not form.is_valid():
        return "The prompt is not complete yet. Correct the marked fields."
    return "" if has_model else "Choose a model. Without one, only the prompt can be shown."


def _after_change(request: HtmxRequest, collection: Collection) -> HttpResponse:
    context = _place(collection) | listed(collection)
    to = reverse("graders:graders", args=[collection.slug])
    return part_or_redirect(request, f"{PAGE}#prompts", context, to=to)


def _writing(
    request: HtmxRequest, collection: Collection, form: PromptForm, fields: Context
) -> dict[str, object]:
    return _page(request, collection) | {"form": form} | tried(collection, form, fields)


def _page(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return the context of the page with the form opened; its parts need nothing of the lists below."""
    lists = {} if request.htmx else listed(collection)
    return _place(collection) | {"is_writing": True} | lists


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection}
