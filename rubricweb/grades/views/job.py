"""One job: its calls, and how to steer it."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, after_post, page_or_part
from rubricweb.grades import access, actions
from rubricweb.grades.actions import CannotRegrade
from rubricweb.grades.engine import calls, monitor, progress
from rubricweb.grades.engine.regrade import can_ask
from rubricweb.grades.models import GradingJob
from rubricweb.grades.templatetags.grades import again_of
from rubricweb.grades.views.jobs import after, back_to, may_grade, say_retried

JOB = "grades/job.html"


@require_safe
def job(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Progress, errors, and calls: failed ones, or with `show=latest` the latest; live."""
    job = access.job_for(request.user, slug, job_id)
    return page_or_part(request, JOB, _context(request, job), part="job")


@require_POST
def pause(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    return _steered(request, slug, job_id, steer=actions.pause_job)


@require_POST
def resume(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    return _steered(request, slug, job_id, steer=actions.resume_job)


@require_POST
def first(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    return _steered(request, slug, job_id, steer=actions.go_first, says="Job {} now has high priority.")


@require_POST
def in_turn(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    return _steered(request, slug, job_id, steer=actions.go_in_turn, says="Job {} now has normal priority.")


@require_POST
def cancel(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """After the current batch, or with `when=now` at once; saved grades stay."""
    is_now = request.POST.get("when") == "now"
    return _steered(
        request, slug, job_id, steer=actions.cancel_job if is_now else actions.cancel_job_after_batch
    )


@require_POST
def retry(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Grade again what failed in this job."""
    job = access.job_for(request.user, slug, job_id, needed=roles.TO_GRADE)
    say_retried(request, actions.retry_failed_of(job, by=request.user))
    return _after(request, job)


@require_POST
def again(request: HtmxRequest, slug: str, grade_id: int) -> HttpResponse:
    """Grade one cell once more."""
    grade = access.grade_for(request.user, slug, grade_id, needed=roles.TO_GRADE)
    try:
        started = actions.ask_again(grade, by=request.user)
    except CannotRegrade as refusal:
        messages.error(request, str(refusal))
    else:
        _say_asked(request, started)
    if request.htmx and request.POST.get("part") == "again":
        address = back_to(request, grade.topic.collection)
        context = {"again": again_of(request, grade, grade.topic.collection, address=address)}
        return after_post(request, "grades/_again.html", context, to=address)
    return _after(request, grade.job) if grade.job else after(request, grade.topic.collection)


def _say_asked(request: HtmxRequest, started: list[GradingJob]) -> None:
    if started:
        messages.success(request, gettext("Grading the cell again."))
    else:
        messages.info(request, gettext("The cell is already being graded again."))


SAYS = {
    GradingJob.State.PAUSED: "Job {} is paused. Workers save what they are grading, and take no more.",
    GradingJob.State.CANCELLING: "Job {} ends once the cells being graded now are saved.",
    GradingJob.State.CANCELLED: "Job {} is cancelled. Its grades are kept.",
    GradingJob.State.RUNNING: "Job {} has resumed.",
    GradingJob.State.QUEUED: "Job {} has resumed.",
    GradingJob.State.WAITING: "Job {} waits for answers. It starts by itself; you can cancel it.",
}


def _steered(
    request: HtmxRequest, slug: str, job_id: int, *, steer: Callable[..., GradingJob], says: str = ""
) -> HttpResponse:
    job = access.job_for(request.user, slug, job_id, needed=roles.TO_GRADE)
    job = steer(job, by=request.user)
    if job.has_ended or not says:
        says = SAYS.get(GradingJob.State(job.state), "Job {} has ended: {}.")
    messages.info(request, says.format(job.pk, job.state))
    return _after(request, job)


def _after(request: HtmxRequest, job: GradingJob) -> HttpResponse:
    if request.htmx and request.POST.get("part") == "job":
        job = access.job_for(request.user, job.collection.slug, job.pk)
        to = reverse("grades:job", args=[job.collection.slug, job.pk])
        return after_post(request, f"{JOB}#job", _context(request, job), to=to)
    return after(request, job.collection)


def _context(request: HtmxRequest, job: GradingJob) -> Context:
    sent = request.GET or request.POST
    show = "latest" if sent.get("show") == "latest" else "failed"
    find = calls.latest_calls if show == "latest" else calls.failed_calls
    return {
        "collection": job.collection,
        "section": "jobs",
        "row": progress.job_progress(job),
        "retry": monitor.retry_of(job) if may_grade(request, job.collection) else None,
        "show": show,
        "page": find(job, sent.get("page")),
        "may_grade": may_grade(request, job.collection),
        "can_ask": can_ask(job.config),
    }
