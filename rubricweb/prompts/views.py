"""A collection's own prompts: the form with its dry run, putting away and bringing back."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, after_post, form_response, page_or_part
from rubricweb.corpus import prompts as corpus
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import visibility
from rubricweb.prompts import access, dry_runs, screens
from rubricweb.prompts.forms import PromptForm, initial_of, model_form, why_not_ask
from rubricweb.prompts.samples import sample_of

PAGE = "prompts/graders.html"


@require_safe
def write(request: HtmxRequest, slug: str) -> HttpResponse:
    """Open the form on the page of graders, empty or like the prompt `from` or `like` of the address."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = screens.start_from(collection, request.GET.dict())
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
    words = "Saved as" if is_new else "This text was already saved as"
    messages.success(request, f"{words} {row.prompt_id}. Tick it under Other prompts to use it.")
    return redirect("prompts:graders", slug)


@require_POST
def preview(request: HtmxRequest, slug: str) -> HttpResponse:
    """The prompt as a model would be told it; no model is asked."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = PromptForm(request.POST)
    context = _writing(request, collection, form, request.POST.dict())
    return page_or_part(request, PAGE, context, part="shown" if request.htmx.target == "shown" else "sample")


@require_POST
def try_out(request: HtmxRequest, slug: str) -> HttpResponse:
    """Have a worker ask the prompt; what comes of it is fetched when it is there."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    said = request.POST.dict()
    form, model = PromptForm(said), model_form(collection, said)
    sample = sample_of(collection, form.prompt.kinds, said) if form.is_valid() else None
    reason = _why_not(form, model.is_valid() and bool(model.cleaned_data["backend"]))
    if sample is None or reason or (reason := why_not_ask(sample)):
        context = _writing(request, collection, form, said) | {
            "reason": reason or "There is no topic to try the prompt on."
        }
        return form_response(request, PAGE, context, part="dry_run")
    asked = model.cleaned_data["backend"], model.cleaned_data["llm"].strip()
    dry_run = dry_runs.start_dry_run(
        collection, form.prompt, sample, backend=asked[0], llm=asked[1], by=request.user
    )
    context = _place(collection) | screens.dry_run_context(dry_run)
    to = reverse("prompts:dry-run", args=[slug, dry_run.pk])
    return after_post(request, f"{PAGE}#dry_run", context, to=to)


@require_safe
def dry_run(request: HtmxRequest, slug: str, dry_run_id: int) -> HttpResponse:
    """The last dry run; alone it is the whole page with the form as it was then."""
    found = access.dry_run_for(request.user, slug, dry_run_id)
    if request.htmx:
        context = _place(found.collection) | screens.dry_run_context(found)
        return page_or_part(request, PAGE, context, part="dry_run")
    form = PromptForm(initial=initial_of(found.prompt))
    context = (
        _page(request, found.collection) | {"form": form} | screens.tried(found.collection, form, {}, found)
    )
    return page_or_part(request, PAGE, context, part="dry_run")


@require_POST
def put_away(request: HtmxRequest, slug: str, prompt_id: int) -> HttpResponse:
    row = corpus.put_away(access.prompt_for(request.user, slug, prompt_id), by=request.user)
    return _after_change(request, row.collection)


@require_POST
def bring_back(request: HtmxRequest, slug: str, prompt_id: int) -> HttpResponse:
    row = corpus.bring_back(access.prompt_for(request.user, slug, prompt_id), by=request.user)
    return _after_change(request, row.collection)


def _why_not(form: PromptForm, has_model: bool) -> str:
    if not form.is_valid():
        return "The prompt is not complete yet. Correct the marked fields."
    return "" if has_model else "Choose a model. Without one, only the prompt can be shown."


def _after_change(request: HtmxRequest, collection: Collection) -> HttpResponse:
    context = _place(collection) | screens.listed(collection)
    to = reverse("prompts:graders", args=[collection.slug])
    return after_post(request, f"{PAGE}#prompts", context, to=to)


def _writing(
    request: HtmxRequest, collection: Collection, form: PromptForm, said: Context
) -> dict[str, object]:
    return _page(request, collection) | {"form": form} | screens.tried(collection, form, said)


def _page(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return the page of graders with the form opened; its parts need nothing of the lists below."""
    lists = {} if request.htmx else screens.listed(collection)
    return _place(collection) | {"is_writing": True} | lists


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection}
