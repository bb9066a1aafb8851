"""Everything that people started in a collection, a line each, who works on it, and one line opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role
from rubricweb.core.http import Context, HtmxRequest, after_post, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import access, actions
from rubricweb.grades.actions import CannotRegrade
from rubricweb.grades.engine import calls, monitor, progress
from rubricweb.grades.engine.progress import GRADING
from rubricweb.grades.engine.regrade import can_ask
from rubricweb.grades.models import GradingJob
from rubricweb.grades.templatetags.grades import again_of
from rubricweb.grades.views.missing import after, back_to, missing_context, scope_of
from rubricweb.jobs import listing
from rubricweb.jobs.listing import JobLine, Stage, TaskListing

JOBS = "grades/jobs.html"
EACH: Mapping[str, Callable[..., Any]] = {
    "pause": actions.pause_job,
    "resume": actions.resume_job,
    "first": actions.go_first,
    "in-turn": actions.go_in_turn,
    "cancel": actions.cancel_job_after_batch,
    "cancel-now": actions.cancel_job,
    "retry": actions.retry_failed_of,
}
"""What is done to each job of a press."""


@require_safe
def jobs(request: HtmxRequest, slug: str) -> HttpResponse:
    """Every line of the collection and every worker, live; with `job` in the address, that one's parts and
    calls. With `missing` also what is missing, for browsers without JavaScript.
    """
    collection = collection_for(request.user, slug)
    context = jobs_context(request, collection)
    if request.GET.get("missing") and not request.htmx:
        missing = missing_context(request, collection, scope_of(collection, request.GET))
        context = {**context, **missing}
    return page_or_part(request, JOBS, context, part="jobs")


@require_POST
def steer(request: HtmxRequest, slug: str, kind: str, job_id: int, act: str) -> HttpResponse:
    """Cancel a line, go on with it, pause it, or grade again what failed of it."""
    if kind == GRADING:
        job = access.job_for(request.user, slug, job_id, needed=roles.TO_GRADE)
        _steer_press(request, job, act)
        return _answer(request, job.collection)
    kept = listing.get(kind)
    collection = collection_for(request.user, slug, needed=_role_to_steer(kind))
    if kept is None or act not in kept.acts:
        raise Http404("No such act.")
    kept.acts[act](get_object_or_404(kept.jobs(collection.pk), pk=job_id), by=request.user)
    return _answer(request, collection)


def _steer_press(request: HtmxRequest, job: GradingJob, act: str) -> None:
    press = progress.press_of(job)
    if act == "go-on":
        if not actions.go_on(press, by=request.user):
            messages.info(request, "Nothing is left to grade.")
    elif act in EACH:
        for each in press:
            EACH[act](each, by=request.user)
    else:
        raise Http404("No such act.")


def _role_to_steer(kind: str) -> Role:
    is_task = isinstance(listing.get(kind), TaskListing)
    return roles.TO_GRADE if kind == GRADING or is_task else roles.TO_ORGANIZE


@require_POST
def again(request: HtmxRequest, slug: str, grade_id: int) -> HttpResponse:
    """Grade one pair once more."""
    grade = access.grade_for(request.user, slug, grade_id, needed=roles.TO_GRADE)
    collection = grade.topic.collection
    try:
        if not actions.ask_again(grade, by=request.user):
            messages.info(request, "The pair is already being graded again.")
    except CannotRegrade as refusal:
        messages.error(request, str(refusal))
    if request.htmx and request.POST.get("part") == "again":
        address = back_to(request, collection)
        context = {"again": again_of(request, grade, collection, address=address)}
        return after_post(request, "grades/_again.html", context, to=address)
    return _answer(request, collection)


def _answer(request: HtmxRequest, collection: Collection) -> HttpResponse:
    if request.htmx and request.POST.get("part") != "missing":
        return page_or_part(request, JOBS, jobs_context(request, collection), part="jobs")
    return after(request, collection)


def jobs_context(request: HtmxRequest, collection: Collection) -> Context:
    sent = request.GET or request.POST
    opened = _opened(request, collection, sent.get("job", ""))
    lines = _lines(request, collection)
    is_mine, scope = sent.get("who") == "mine", scope_of(collection, sent)
    if is_mine:
        lines = [line for line in lines if line.by == request.user]
    sections = [(stage, [line for line in lines if line.stage == stage]) for stage in Stage]
    return {
        "collection": collection,
        "sections": [(stage, each) for stage, each in sections if each],
        "is_mine": is_mine,
        "address": _address(collection, sent),
        "workers": monitor.workers(),
        "bank": scope.bank,
        "topic": scope.topic,
        "may_grade": roles.holds(request.user, collection, roles.TO_GRADE),
        **opened,
    }


def _address(collection: Collection, sent: QueryDict) -> str:
    """Of what is shown, also after a POST."""
    query = {name: sent[name] for name in ("job", "show", "page", "who", "bank", "topic") if sent.get(name)}
    return f"{reverse('grades:jobs', args=[collection.slug])}?{urlencode(query)}"


def _lines(request: HtmxRequest, collection: Collection) -> list[JobLine]:
    """What waits in the order in which it was asked for, all else latest first."""
    lines = progress.press_lines(progress.job_rows(collection))
    if roles.holds(request.user, collection, roles.TO_SEE_RUNS):
        may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
        lines += listing.listed(collection.pk, for_organizers=may_organize)
    else:
        lines += listing.listed_for_starter(collection.pk, request.user.pk)
    lines = [
        line if roles.holds(request.user, collection, _role_to_steer(line.kind)) else replace(line, acts=())
        for line in lines
    ]
    lines.sort(key=lambda line: line.at, reverse=True)
    lines = [line for line in lines if line.stage != Stage.ENDED] + [
        line for line in lines if line.stage == Stage.ENDED
    ][: listing.LISTED_JOBS]
    waiting = [line for line in reversed(lines) if line.stage == Stage.WAITING]
    return [line for line in lines if line.stage != Stage.WAITING] + waiting


def _opened(request: HtmxRequest, collection: Collection, job_id: str) -> Context:
    """The job of the address, with its calls: failed ones, or with `show=latest` the latest."""
    if not job_id:
        return {"opened": None}
    job = access.job_for(request.user, collection.slug, parse_id(job_id))
    sent = request.GET or request.POST
    show = "latest" if sent.get("show") == "latest" else "failed"
    find = calls.latest_calls if show == "latest" else calls.failed_calls
    line = progress.press_lines(progress.rows_of(progress.press_of(job)))[0]
    may_grade = roles.holds(request.user, collection, roles.TO_GRADE)
    return {
        "opened": job,
        "opened_key": line.key,
        "opened_line": line if may_grade else replace(line, acts=()),
        "row": progress.job_progress(job),
        "show": show,
        "page": find(job, sent.get("page")),
        "can_ask": can_ask(job.config),
        "retry": monitor.retry_of(job) if may_grade else None,
    }
