"""The page of support: its board, its jobs, how far people agree with models, and asking a model."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.core.ids import parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.jobs import steering
from rubricweb.jobs.progress import progress_of
from rubricweb.support import actions, labelling
from rubricweb.support.agreement import agreement
from rubricweb.support.board import board as board_of
from rubricweb.support.forms import MOST_CALLS, AskForm, BoardForm, SettingsForm
from rubricweb.support.models import CITATIONS, SupportJob
from rubricweb.support.price import measured_rate, price

PAGE, ASK = "support/board.html", "support/ask.html"
SHOWN_JOBS = 5


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Runs by the labels of one model or of people."""
    collection = collection_for(request.user, slug)
    form = BoardForm(request.GET)
    rater, rule = form.offer(collection)
    context = _place(collection) | {"form": form, "rater": rater, "rule_words": dict(CITATIONS)[rule]}
    context["query"] = urlencode({"rater": rater.key, "citations": rule})
    context |= {"board": board_of(collection, rater, rule), "agreement": agreement(collection)}
    context |= {"jobs": _jobs(collection), "settings_form": _settings_form(collection)}
    return page_or_part(request, PAGE, context, part="support")


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """The form; say what asking the model would take, and with `act=start` have it asked."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    own = {"backend": collection.grader_backend, "llm": collection.grader_llm}
    form = AskForm(request.POST or None, initial=own)
    form.offer()
    context = _place(collection) | {"form": form}
    if form.is_bound and form.is_valid():
        chosen = form.cleaned_data["backend"], form.cleaned_data["llm"].strip()
        context["price"] = expected = price(collection, *chosen, form.rule)
        if request.POST.get("act") == "start" and expected.cells:
            return _start(request, collection, form, expected.cells)
    response = form_response(request, ASK, context, part="form")
    response.status_code = 422 if form.errors else 200
    return response


def _start(request: HtmxRequest, collection: Collection, form: AskForm, cells: int) -> HttpResponse:
    job = actions.start(
        collection,
        backend=form.cleaned_data["backend"],
        llm=form.cleaned_data["llm"].strip(),
        rule=form.rule,
        most_calls=form.cleaned_data["most_calls"] or cells,
        by=request.user,
    )
    messages.success(request, f"{job.judge.llm} is asked about {job.total:,} citations.")
    return redirect("support:board", collection.slug)


@require_POST
def job_act(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Pause, resume or cancel a job, or let it ask more often."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    job = get_object_or_404(SupportJob, pk=job_id, judge__collection=collection)
    act = request.POST.get("act", "")
    if act == "allow":
        most_calls = min(parse_id(request.POST.get("most_calls", "")), MOST_CALLS)
        actions.allow_calls(job, most_calls, by=request.user)
    elif act in ("pause", "resume", "cancel"):
        {"pause": steering.pause, "resume": steering.resume, "cancel": steering.cancel}[act](job)
    return redirect("support:board", slug)


@require_POST
def choose(request: HtmxRequest, slug: str) -> HttpResponse:
    """What people who label are asked, and what they see first."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _settings_form(collection, request.POST)
    if form.is_valid():
        actions.choose(collection, **form.cleaned_data, by=request.user)
        messages.success(request, "Saved.")
    return redirect(reverse("support:board", args=[slug]) + "#labelling")


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "leaderboard", "tab": "support"}


def _jobs(collection: Collection) -> list[Context]:
    """The latest, with how far each is."""
    jobs = list(SupportJob.objects.filter(judge__collection=collection).select_related("judge")[:SHOWN_JOBS])
    return [
        {"job": job, "progress": progress, "more": job.most_calls + job.total - progress.done}
        for job, progress in zip(jobs, progress_of(jobs, measured_rate), strict=True)
    ]


def _settings_form(collection: Collection, sent: Context | None = None) -> SettingsForm:
    chosen = labelling.settings_of(collection)
    initial = {"citations": chosen.citations, "shown_judge": chosen.shown_judge_id}
    form = SettingsForm(sent, initial=initial)
    form.fields["shown_judge"].queryset = collection.support_judges.all()  # type: ignore[attr-defined]
    return form
