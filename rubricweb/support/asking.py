"""Ask a model, on the page of support: what it takes, the start, its limits, and failed labels again."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import roles
from rubricweb.core.formatting import number
from rubricweb.core.http import HtmxRequest, after_post, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.grades.engine import monitor
from rubricweb.jobs.limited import LimitsForm
from rubricweb.support import actions
from rubricweb.support.actions import NothingToAsk
from rubricweb.support.board_page import PAGE, board_context, job_context, job_of
from rubricweb.support.forms import AskForm
from rubricweb.support.models import SupportJob
from rubricweb.support.price import of_model, price, price_of_job, price_of_retry


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a model, preview what asking it takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST if request.method == "POST" else request.GET
    form = AskForm(sent or None, auto_id="ask_%s")
    form.offer(collection)
    context: dict[str, object] = {"collection": collection, "form": form, "is_asking": True}
    if not request.htmx:
        context = board_context(request, collection, type(request.GET)()) | context
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context, part="ask")
    expected = price(collection, form.asking)
    limits = LimitsForm(of_model(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        return _started(
            request, actions.start(collection, form.asking, limits=limits.limits, by=request.user)
        )
    context |= {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, PAGE, context, part="ask", status=422 if limits.is_bound else 200)


@require_POST
def limits(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Let the job ask and spend more, or less."""
    job = job_of(request, slug, job_id, needed=roles.TO_ORGANIZE)
    form = LimitsForm(of_model(price_of_job(job)), request.POST)
    if not form.is_valid():
        return _refused(request, job, form, "limits_form")
    changed = actions.change_limits(job, form.limits, by=request.user)
    return after_post(request, f"{PAGE}#job", job_context(request, changed), to=job.get_absolute_url())


@require_POST
def retry(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Ask the model again about every citation whose label failed."""
    job = job_of(request, slug, job_id, needed=roles.TO_ORGANIZE)
    form = LimitsForm(of_model(price_of_retry(job)), request.POST)
    if not form.is_valid():
        return _refused(request, job, form, "retry_form")
    try:
        return _started(request, actions.retry_failed(job, limits=form.limits, by=request.user))
    except NothingToAsk:
        messages.info(request, "No label of this model has failed.")
        return redirect(job)


def _refused(request: HtmxRequest, job: SupportJob, form: LimitsForm, name: str) -> HttpResponse:
    """Show the job again, with what is wrong in its form of this name."""
    context = board_context(request, job.judge.collection, request.GET) | job_context(request, job)
    return form_response(request, PAGE, context | {name: form}, part="job", status=422)


def _started(request: HtmxRequest, job: SupportJob) -> HttpResponse:
    messages.success(request, f"Asking {job.judge.llm} about {number(job.total)} citations.")
    return redirect("support:board", job.judge.collection.slug)
