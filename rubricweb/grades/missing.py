"""The fragment on missing grades: their number, the cost of grading, and the button that starts it."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.formatting import number
from rubricweb.core.http import Context, HtmxRequest, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import access, actions
from rubricweb.grades.configs import active_configs
from rubricweb.grades.engine import monitor, progress
from rubricweb.grades.engine.monitor import Gap, Scope
from rubricweb.grades.engine.stages import Stages, stages
from rubricweb.grades.models import GradingJob

MISSING = "grades/missing.html"


@require_safe
def missing(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show how many grades a bank, a topic or the collection misses, and the jobs at work."""
    collection = collection_for(request.user, slug)
    scope = scope_of(collection, request.GET)
    if not request.htmx:
        query = urlencode(request.GET.dict() | {"missing": "1"})
        return redirect(f"{reverse('grades:jobs', args=[slug])}?{query}")
    return page_or_part(request, MISSING, missing_context(request, collection, scope), part="missing")


@require_POST
def start(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade what is missing in the scope."""
    collection = access.collection_to_grade(request.user, slug)
    scope = scope_of(collection, request.POST)
    find = partial(monitor.to_start, collection, scope)
    if refusal := access.price_refusal(request.user, collection, find):
        return _refused(request, collection, {"start_refusal": refusal})
    plan = stages(collection, active_configs(collection), topics=scope.topics, items=scope.items)
    started = actions.start_plan(plan, by=request.user)
    if not started:
        messages.info(request, "Nothing to start: every missing pair is already being graded.")
    return after(request, collection, announced=_announced(started), plan=plan.once_started)


@require_POST
def retry_failed(request: HtmxRequest, slug: str) -> HttpResponse:
    """Grade again what failed in the scope."""
    collection = access.collection_to_grade(request.user, slug)
    scope = scope_of(collection, request.POST)
    find = partial(monitor.to_retry, collection, scope)
    if refusal := access.price_refusal(request.user, collection, find):
        return _refused(request, collection, {"retry_refusal": refusal})
    started = actions.retry_failed(collection, by=request.user, topics=scope.topics, items=scope.items)
    if not started:
        messages.info(request, "Nothing to retry: every failed grade is already being retried.")
    return after(request, collection, announced=_announced(started))


def _refused(request: HtmxRequest, collection: Collection, refusal: Context) -> HttpResponse:
    """Render the fragment again, with the refusal beside the button; plain browsers get it on their page."""
    if not request.htmx:
        messages.error(request, f"Not started. {' '.join(map(str, refusal.values()))}")
        return redirect(back_to(request, collection))
    context = {**missing_context(request, collection, scope_of(collection, request.POST)), **refusal}
    response = page_or_part(request, MISSING, context, part="missing")
    response.status_code = 422
    return response


def _announced(started: list[GradingJob]) -> str:
    """Return the message for those who do not see the line that replaces the button."""
    pairs = progress.pairs_of(started)
    return f"Grading {number(pairs)} {'pair' if pairs == 1 else 'pairs'}." if started else ""


def after(
    request: HtmxRequest, collection: Collection, *, announced: str = "", plan: Stages | None = None
) -> HttpResponse:
    """Render what is missing in the form's scope, by the plan if given.

    Redirect a plain browser to `next`.
    """
    if not request.htmx:
        return redirect(back_to(request, collection))
    context = missing_context(request, collection, scope_of(collection, request.POST), plan)
    context = {**context, "announced": announced}
    return page_or_part(request, MISSING, context, part="missing")


def back_to(request: HtmxRequest, collection: Collection) -> str:
    """Return the URL in `next`, if it is one of ours."""
    to = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(to, {request.get_host()}, require_https=request.is_secure())
    return to if is_ours else reverse("grades:jobs", args=[collection.slug])


def scope_of(collection: Collection, query: Context) -> Scope:
    """Return the scope; 404 for a bank or topic of another collection."""
    bank_id, topic_id = (_number(query.get(name, "")) for name in ("bank", "topic"))
    bank = get_object_or_404(collection.banks, pk=bank_id) if bank_id is not None else None
    topic = get_object_or_404(collection.topics, pk=topic_id) if topic_id is not None else None
    return Scope(bank, topic)


def _number(text: str) -> int | None:
    """Return the number; None for an empty field, and 0, which no row has, for other text."""
    return parse_id(text) if text else None


def missing_context(
    request: HtmxRequest, collection: Collection, scope: Scope, plan: Stages | None = None
) -> Context:
    page = request.POST.get("next") or request.htmx.current_url_abs_path or request.get_full_path()
    gap = monitor.gap(collection, scope, plan)
    return {
        "collection": collection,
        "scope": scope,
        "gap": gap,
        "look_at": _look_at(page, gap),
        "may_grade": roles.holds(request.user, collection, roles.TO_GRADE),
        "may_start": roles.holds(request.user, collection, roles.role_to_grade(collection)),
        "next": page,
        "is_among_jobs": page.partition("?")[0] == reverse("grades:jobs", args=[collection.slug]),
    }


def _look_at(page: str, gap: Gap) -> str:
    """Return the address of grades made here, if the page shows others by default; else ""."""
    path, _, query = page.partition("?")
    address = QueryDict(query, mutable=True)
    if gap.regraded is None or address.get("grader"):
        return ""
    for name in ("page", "at", "min_grade"):
        address.pop(name, None)
    address["grader"] = str(gap.regraded.pk)
    return f"{path}?{address.urlencode()}"
