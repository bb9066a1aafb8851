"""The job monitor, and the "missing grades" fragment with its Re-grade button that other pages include."""

from __future__ import annotations

from operator import attrgetter

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, after_post, page_or_part
from rubricweb.core.ids import parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import access, actions
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.monitor import Gap, Scope
from rubricweb.grades.engine.progress import JobRow
from rubricweb.grades.models import GradingJob
from rubricweb.jobs import listing as listing_of
from rubricweb.jobs.listing import ListedJob, ListedTask, TaskListing

JOBS = "grades/jobs.html"
MISSING = "grades/missing.html"


@require_safe
def jobs(request: HtmxRequest, slug: str) -> HttpResponse:
    """Every job of the collection and every worker; live."""
    collection = collection_for(request.user, slug)
    return page_or_part(request, JOBS, _jobs_context(request, collection), part="jobs")


@require_safe
def missing(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show how many grades a bank, a topic or the collection misses, and the jobs at work."""
    collection = collection_for(request.user, slug)
    scope = _scope(collection, request.GET)
    return page_or_part(request, MISSING, _missing_context(request, collection, scope), part="missing")


@require_POST
def steer(request: HtmxRequest, slug: str, kind: str, job_id: int, act: str) -> HttpResponse:
    """Pause, resume or cancel a job, or cancel a request, that is listed with the jobs that grade."""
    listing = listing_of.get(kind)
    needed = roles.TO_GRADE if isinstance(listing, TaskListing) else roles.TO_ORGANIZE
    collection = collection_for(request.user, slug, needed=needed)
    if listing is None or act not in listing.acts:
        raise Http404("No such act.")
    job = get_object_or_404(listing.jobs(collection.pk), pk=job_id)
    listing.acts[act](job, by=request.user)
    return after(request, collection)


@require_POST
def start(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade what is missing in the scope."""
    collection = access.collection_to_grade(request.user, slug)
    scope = _scope(collection, request.POST)
    if refusal := access.price_refusal(request.user, collection, monitor.to_start(collection, scope)):
        return _refused(request, collection, {"start_refusal": refusal})
    started = actions.start_grading(collection, by=request.user, topics=scope.topics, items=scope.items)
    if started:
        messages.success(request, _started_words(started))
    else:
        messages.info(request, gettext("Nothing to start: every missing cell is already being graded."))
    return after(request, collection)


def _refused(request: HtmxRequest, collection: Collection, refusal: Context) -> HttpResponse:
    """Render the part or page again, with the refusal beside the button."""
    context = {**_missing_context(request, collection, _scope(collection, request.POST)), **refusal}
    response = page_or_part(request, MISSING, context, part="missing")
    response.status_code = 422
    return response


def _started_words(started: list[GradingJob]) -> str:
    now, later = _now_and_later(started)
    if not later:
        return f"Grading {now:,} cells."
    first = f"Grading {now:,} cells; at" if now else "At"
    return f"{first} most {later:,} more will be verified once their answers are extracted."


def _now_and_later(started: list[GradingJob]) -> tuple[int, int]:
    later = sum(job.total for job in started if job.is_waiting)
    return sum(job.total for job in started) - later, later


@require_POST
def retry_failed(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade again what failed in the scope."""
    collection = access.collection_to_grade(request.user, slug)
    scope = _scope(collection, request.POST)
    if refusal := access.price_refusal(request.user, collection, monitor.to_retry(collection, scope)):
        return _refused(request, collection, {"retry_refusal": refusal})
    started = actions.retry_failed(collection, by=request.user, topics=scope.topics, items=scope.items)
    say_retried(request, started)
    return after(request, collection)


def say_retried(request: HtmxRequest, started: list[GradingJob]) -> None:
    if started:
        now, later = _now_and_later(started)
        message = f"Grading {now:,} failed {'cell' if now == 1 else 'cells'} again"
        follows = f"; at most {later:,} more {'is' if later == 1 else 'are'} verified then" if later else ""
        messages.success(request, f"{message}{follows}.")
    else:
        messages.info(request, gettext("Nothing to retry: every failed grade is already being retried."))


def after(request: HtmxRequest, collection: Collection) -> HttpResponse:
    """Render the part that the form names in `part`; redirect a plain browser to `next`."""
    scope, to = _scope(collection, request.POST), back_to(request, collection)
    if not request.htmx:
        return after_post(request, JOBS, {}, to=to)
    if request.POST.get("part") == "missing":
        return after_post(request, f"{MISSING}#missing", _missing_context(request, collection, scope), to=to)
    return after_post(request, f"{JOBS}#jobs", _jobs_context(request, collection), to=to)


def back_to(request: HtmxRequest, collection: Collection) -> str:
    """The URL in `next`, if it is one of ours."""
    to = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure())
    return to if is_ours else reverse("grades:jobs", args=[collection.slug])


def _scope(collection: Collection, query: Context) -> Scope:
    """404 for a bank or topic of another collection."""
    bank_id, topic_id = (_number(query.get(name, "")) for name in ("bank", "topic"))
    bank = get_object_or_404(collection.banks, pk=bank_id) if bank_id is not None else None
    topic = get_object_or_404(collection.topics, pk=topic_id) if topic_id is not None else None
    return Scope(bank, topic)


def _number(text: str) -> int | None:
    """None for an empty field; 0, which no row has, for a text that is no number."""
    return parse_id(text) if text else None


def _jobs_context(request: HtmxRequest, collection: Collection) -> Context:
    rows: list[JobRow | ListedJob | ListedTask] = [*monitor.job_rows(collection)]
    if roles.holds(request.user, collection, roles.TO_SEE_RUNS):
        rows += listing_of.listed(collection.pk)
    else:
        rows += listing_of.listed_for_starter(collection.pk, request.user.pk)
    rows.sort(key=attrgetter("created_at"), reverse=True)
    return {
        "collection": collection,
        "section": "jobs",
        "rows": rows[: listing_of.LISTED_JOBS],
        "workers": monitor.workers(),
        "may_grade": may_grade(request, collection),
        "may_organize": roles.holds(request.user, collection, roles.TO_ORGANIZE),
    }


def _missing_context(request: HtmxRequest, collection: Collection, scope: Scope) -> Context:
    page, gap = request.POST.get("next") or _page(request), monitor.gap(collection, scope)
    return {
        "collection": collection,
        "scope": scope,
        "gap": gap,
        "look_at": _look_at(page, gap),
        "may_grade": may_grade(request, collection),
        "may_start": may_start(request, collection),
        "next": page,
        "is_own_page": page.startswith(reverse("grades:missing", args=[collection.slug])),
    }


def _look_at(page: str, gap: Gap) -> str:
    """The address of the page with the grades that Re-grade made, where it shows others by default; else
    empty.
    """
    path, _, query = page.partition("?")
    address = QueryDict(query, mutable=True)
    if gap.regraded is None or address.get("grader"):
        return ""
    for name in ("page", "at", "min_grade"):
        address.pop(name, None)
    address["grader"] = str(gap.regraded.pk)
    return f"{path}?{address.urlencode()}"


def may_grade(request: HtmxRequest, collection: Collection) -> bool:
    return roles.holds(request.user, collection, roles.TO_GRADE)


def may_start(request: HtmxRequest, collection: Collection) -> bool:
    return roles.holds(request.user, collection, roles.role_to_grade(collection))


def _page(request: HtmxRequest) -> str:
    """The page that contains the fragment."""
    return request.htmx.current_url_abs_path or request.get_full_path()
