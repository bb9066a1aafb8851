"""The next step towards grades, and the fragment on missing ones: number, cost, and the button."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from grading.types import Purpose
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Bank, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import number
from rubricweb.core.http import Context, HtmxRequest, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Passage, Pooled, Topic
from rubricweb.grades import access, actions, configs, raters, selectors
from rubricweb.grades.engine import monitor
from rubricweb.grades.engine.gaps import Doubt, doubt_by
from rubricweb.grades.engine.stages import Stages
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs.waiting import WaitingLine

_BY = {
    Role.ORGANIZER: "An organizer does that.",
    Role.DEVELOPER: "A topic developer or an organizer does that.",
    Role.ASSESSOR: "An assessor, a topic developer or an organizer does that.",
}
"""Who takes a step that needs this role."""
MISSING = "grades/missing.html"


@dataclass(frozen=True, slots=True)
class NextStep:
    lacks: str
    """One sentence on what is missing."""
    verb: str
    """Text of the link, or for readers who may not take the step, who takes it."""
    address: str = ""
    """Address of the step; empty where the reader may not take it."""


def next_step(user: User, collection: Collection, bank: Bank | None = None) -> NextStep | None:
    """Return the first step that is missing until `bank`, or else any bank of the collection, has grades.

    None if it has some. A fixed number of queries, each of which stops at the first row.
    """
    role, bank = _role_and_bank(user, collection, bank)
    return _material(role, collection, bank) or _grading(role, collection, bank)


def material_step(user: User, collection: Collection, bank: Bank | None = None) -> NextStep | None:
    """Return the first step that is missing until there is something to grade; None if there is."""
    role, bank = _role_and_bank(user, collection, bank)
    return _material(role, collection, bank)


def _role_and_bank(user: User, collection: Collection, bank: Bank | None) -> tuple[Role, Bank | None]:
    role = roles.require(user, collection, roles.TO_VIEW)
    return role, bank or next(iter(selectors.banks(collection)), None)


def _material(role: Role, collection: Collection, bank: Bank | None) -> NextStep | None:
    slug = collection.slug
    organizer, editor = roles.TO_ORGANIZE, roles.role_to_edit(collection)
    imports = reverse("imports:imports", args=[slug])
    first_topic = _first_topic(collection.pk)
    if not first_topic:
        return _step(role, organizer, "This collection has no topics.", "Import files", imports)
    if bank is None:
        lacks = "There is no rubric of questions or nuggets to grade passages on."
        return _step(role, editor, lacks, "Draft, write or import questions", collection.get_absolute_url())
    if not _any_item(bank.pk):
        address = reverse("review:topic", args=[bank.pk, *first_topic])
        return _step(role, editor, "No topic has a question or nugget.", "Write the first ones", address)
    if _any_pooled(collection.pk):
        return None
    if Passage.objects.filter(collection=collection).exists():
        pool = reverse("grades:pool", args=[slug])
        return _step(role, organizer, "No passages are chosen for grading.", "Choose the passages", pool)
    return _step(role, organizer, "This collection has no passages.", "Import files", imports)


@compiled_once
def _first_topic(collection: int) -> QuerySet[Topic, int]:
    return Topic.objects.filter(collection=collection).values_list("pk", flat=True)[:1]


@compiled_once
def _any_item(bank: int) -> QuerySet[Item, int]:
    items: QuerySet[Item] = Item.including_secret.active().filter(bank=bank)
    return items.order_by().values_list("pk", flat=True)[:1]


@compiled_once
def _any_pooled(collection: int) -> QuerySet[Pooled, int]:
    rows = Pooled.objects.filter(topic__collection=collection)
    return rows.order_by().values_list("pk", flat=True)[:1]


@compiled_once
def _any_grade(bank: int) -> QuerySet[Grade, int]:
    active = Item.including_secret.active().filter(bank=bank)
    rows = Grade.objects.filter(revision__in=active.values("revision"))
    return rows.order_by().values_list("pk", flat=True)[:1]


def _grading(role: Role, collection: Collection, bank: Bank | None) -> NextStep | None:
    if bank is not None and _any_grade(bank.pk):
        return None
    if raters.active_raters(collection)[0].labels_passages and selectors.labellers_of(collection):
        return None  # no item will ever have a grade
    live = collection.jobs.filter(state__in=GradingJob.WORKED_ON).select_related("config", "collection")
    if job := live.order_by("-state", "pk").first():  # running before queued
        address = reverse("grades:jobs", args=[collection.slug])
        return NextStep(_of_first_passages(role, job), "Watch the progress", address)
    missing = f"{reverse('grades:jobs', args=[collection.slug])}?bank={bank.pk if bank else ''}"
    grader = roles.role_to_grade(collection)
    lacks = "No passage is graded on the items of this rubric."
    return _step(role, grader, lacks, "See what grading takes", missing)


def _of_first_passages(role: Role, job: GradingJob) -> str:
    """Return the sentence while the first passages are graded, or what comes first."""
    wait = WaitingLine.now().wait_of(job)
    if wait is None:
        return "The first passages are being graded."
    if wait.needs_worker or not wait.has_redis:
        return "Grading waits: no worker is running that can do it."
    if not wait.ahead:
        return "Grading begins in a moment."
    name = wait.name(job.collection_id if role.includes(roles.TO_SEE_RUNS) else None)
    return f"Grading waits behind: {name}{wait.rest}."


def _step(role: Role, needed: Role, lacks: str, verb: str, address: str) -> NextStep:
    if not role.includes(needed):
        return NextStep(lacks, str(_BY[needed]))
    return NextStep(lacks, verb, address)


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
    plan = monitor.planned(collection, scope, configs.active_configs(collection))
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
    totals = [(job.config.purpose != Purpose.EXTRACT, job.total) for job in started]
    pairs = sum(total for grades, total in totals if grades) or sum(total for _, total in totals)
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


def scope_of(collection: Collection, query: Context) -> monitor.Scope:
    """Return the scope; 404 for a bank, topic or grader of another collection."""
    bank_id, topic_id = (_number(query.get(name, "")) for name in ("bank", "topic"))
    bank = get_object_or_404(collection.banks, pk=bank_id) if bank_id is not None else None
    topic = get_object_or_404(collection.topics, pk=topic_id) if topic_id is not None else None
    return monitor.Scope(bank, topic, _doubt_of(collection, query))


def _doubt_of(collection: Collection, query: Context) -> Doubt | None:
    pk = _number(query.get("unsure", ""))
    if pk is None:
        return None
    doubt = doubt_by(collection, pk, _share(query.get("below", "")))
    if doubt is None:
        raise Http404("No such grader.")
    return doubt


def _share(text: str) -> float | None:
    """Return the number, 0 to 1; None for other text."""
    try:
        share = float(text)
    except ValueError:
        return None
    return share if 0 <= share <= 1 else None


def _number(text: str) -> int | None:
    """Return the number; None for an empty field, and 0, which no row has, for other text."""
    return parse_id(text) if text else None


def missing_context(
    request: HtmxRequest, collection: Collection, scope: monitor.Scope, plan: Stages | None = None
) -> Context:
    page = request.POST.get("next") or request.htmx.current_url_abs_path or request.get_full_path()
    gap = monitor.gap(collection, scope, plan)
    return {
        "collection": collection,
        "scope": scope,
        "gap": gap,
        "look_at": _look_at(page, gap, selectors.pressed_configs(collection)),
        "may_grade": roles.holds(request.user, collection, roles.TO_GRADE),
        "may_start": roles.holds(request.user, collection, roles.role_to_grade(collection)),
        "next": page,
        "is_among_jobs": page.partition("?")[0] == reverse("grades:jobs", args=[collection.slug]),
    }


def _look_at(page: str, gap: monitor.Gap, pressed: frozenset[int]) -> str:
    """Return the address of grades made here, if the page shows others by default; else "".

    Those who pressed Re-grade last, for the graders in `pressed`, see these by default.
    """
    path, _, query = page.partition("?")
    address = QueryDict(query, mutable=True)
    if gap.regraded is None or address.get("grader") or gap.regraded.pk in pressed:
        return ""
    for name in ("page", "at", "min_grade"):
        address.pop(name, None)
    address["grader"] = str(gap.regraded.pk)
    return f"{path}?{address.urlencode()}"
