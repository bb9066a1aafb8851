"""Asking a model about citations: what it would take, the job, its limits, and its failed labels again."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.support.asking import AGAIN_ID
from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role
from rubricweb.core.counted import number
from rubricweb.core.http import Context, HtmxRequest, after_post, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine import monitor
from rubricweb.jobs.forms import LimitsForm
from rubricweb.jobs.listing import ListedJob
from rubricweb.jobs.progress import progress_of
from rubricweb.support import actions
from rubricweb.support.actions import NothingToAsk
from rubricweb.support.forms import AskForm
from rubricweb.support.labels import failed
from rubricweb.support.listed import LISTING
from rubricweb.support.models import SupportJob
from rubricweb.support.price import measured_rate, of_model, price, price_of_job, price_of_retry

ASK, JOB = "support/ask.html", "support/job.html"
SHOWN_FAILURES = 20


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a model, preview what asking it takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST if request.method == "POST" else request.GET
    form = AskForm(sent or None)
    form.offer(collection)
    context = _place(collection) | {"form": form}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, ASK, context)
    expected = price(collection, form.asking)
    limits = LimitsForm(of_model(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        job = actions.start(collection, form.asking, limits=limits.limits, by=request.user)
        return _started(request, job)
    context |= {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, ASK, context, status=422 if limits.is_bound else 200)


@require_safe
def job(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """How far it is, what it may take, and which replies named no label; live."""
    asked = _job_for(request, slug, job_id)
    return page_or_part(request, JOB, _context(request, asked), part="job")


@require_POST
def limits(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Let the job ask and spend more, or less."""
    asked = _job_for(request, slug, job_id, needed=roles.TO_ORGANIZE)
    form = LimitsForm(of_model(price_of_job(asked)), request.POST)
    if not form.is_valid():
        return form_response(request, JOB, {**_context(request, asked), "form": form}, part="job")
    changed = actions.change_limits(asked, form.limits, by=request.user)
    to = reverse("support:job", args=[slug, job_id])
    return after_post(request, f"{JOB}#job", _context(request, changed), to=to)


@require_POST
def retry(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Ask the model again about every citation whose label failed."""
    asked = _job_for(request, slug, job_id, needed=roles.TO_ORGANIZE)
    form = LimitsForm(of_model(price_of_retry(asked)), request.POST)
    if not form.is_valid():
        context = {**_context(request, asked), "retry_form": form, "form": form}
        return form_response(request, JOB, context, part="job")
    try:
        return _started(request, actions.retry_failed(asked, limits=form.limits, by=request.user))
    except NothingToAsk:
        messages.info(request, gettext("No label of this model has failed."))
        return redirect("support:job", slug, job_id)


def _started(request: HtmxRequest, job: SupportJob) -> HttpResponse:
    messages.success(
        request,
        gettext("Asking %(llm)s about %(total)s citations.")
        % {"llm": job.judge.llm, "total": number(job.total)},
    )
    return redirect("support:job", job.judge.collection.slug, job.pk)


def _job_for(request: HtmxRequest, slug: str, job_id: int, *, needed: Role = roles.TO_SEE_RUNS) -> SupportJob:
    collection = collection_for(request.user, slug, needed=needed)
    jobs = SupportJob.objects.select_related("judge__collection", "by")
    return get_object_or_404(jobs, pk=job_id, judge__collection=collection)


def _context(request: HtmxRequest, job: SupportJob) -> Context:
    collection = job.judge.collection
    may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
    left = failed(collection, job.judge)
    rows = job.judge.labels.filter(label=None).select_related("topic").order_by("pk")
    context = _place(collection) | {
        "row": ListedJob(LISTING, job, progress_of([job], measured_rate)[0]),
        "again_id": AGAIN_ID,
        "left": len(left),
        "failures": rows[:SHOWN_FAILURES],
        "may_organize": may_organize,
    }
    if may_organize and not job.has_ended:
        form = LimitsForm(of_model(price_of_job(job)))
        form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
        context["form"] = form
    elif may_organize and left:
        context["retry_price"] = expected = price_of_retry(job)
        context["retry_form"] = LimitsForm(of_model(expected))
    return context


def _place(collection: Collection) -> dict[str, object]:
    return {"collection": collection, "section": "leaderboard", "tab": "support"}
