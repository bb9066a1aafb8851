"""The page of jobs: a line for each thing that people started, the workers, and one job opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.errors import UnknownPrompt
from grading.in_context import seen_of
from grading.types import ItemKind, Outcome
from rubricweb.accounts import roles
from rubricweb.banks.models import DIRECT_UID, Item
from rubricweb.core.http import Context, HtmxRequest, page_or_part, parse_id, part_or_redirect
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades import access, actions, configs, visibility
from rubricweb.grades.engine import chunks, monitor, progress, stages
from rubricweb.grades.engine.breaker import label
from rubricweb.grades.engine.missing import answers_for
from rubricweb.grades.engine.price import price_of_cell, rates_of_again
from rubricweb.grades.engine.progress import GRADING
from rubricweb.grades.missing import after, back_to, missing_context, scope_of
from rubricweb.grades.models import Grade, GradeQuerySet, GradingJob
from rubricweb.grades.replies import RawReply, raw_replies
from rubricweb.grades.tags import again_of
from rubricweb.jobs import listing, steering
from rubricweb.jobs.limits import LimitsForm, change_limits
from rubricweb.jobs.listing import JobLine, Listing, Stage, TaskListing
from rubricweb.jobs.progress import Price

CALLS_A_PAGE = 20
LATEST_CALLS = 100
JOBS = "grades/jobs.html"


@dataclass(frozen=True, slots=True)
class ModelCall:
    grade: Grade
    item: Item | None
    """Current item with this wording, to link to its cell; None where no item has it any more."""
    price: Price
    """Price of asking once more."""
    prompt: str
    """Prompt rendered again from the same parts; empty where its wording is lost."""
    reply: RawReply

    @property
    def key(self) -> str:
        return str(self.grade.pk)

    @property
    def is_failed(self) -> bool:
        return self.grade.outcome == Outcome.FAILED

    @property
    def reason(self) -> str:
        return self.grade.reply if self.is_failed else ""

    @property
    def error_words(self) -> str:
        return label(self.grade.error_class) if self.is_failed else ""


def failed_calls(job: GradingJob, page: str | None) -> Page[ModelCall]:
    return _page(job, _grades_of(job).filter(outcome=Outcome.FAILED), page)


def latest_calls(job: GradingJob, page: str | None) -> Page[ModelCall]:
    """Return the job's newest grades, of the topics that it worked on last."""
    chunks = job.chunks.filter(done__gt=0).order_by("-number")
    topics = list(dict.fromkeys(chunks.values_list("topic_id", flat=True)[:LATEST_CALLS]))[:3]
    grades = _grades_of(job).by(job.config).for_topics(topics)
    latest = list(grades.order_by("-pk").values_list("pk", flat=True)[:LATEST_CALLS])
    return _page(job, Grade.objects.filter(pk__in=latest), page)


def _grades_of(job: GradingJob) -> GradeQuerySet:
    """Return the job's grades, without those of cells that the reader is to rate blind."""
    return visibility.visible_grades(Grade.objects.filter(job=job), job.collection_id)


def _page(job: GradingJob, grades: GradeQuerySet, number: str | None) -> Page[ModelCall]:
    related = grades.select_related("config", "topic", "revision", "passage").order_by("-pk")
    related = related.prefetch_related("revision__answer_keys")
    page = Paginator(related, CALLS_A_PAGE).get_page(number)
    rows = list(page.object_list)
    asking = Item.objects.filter(
        bank__collection=job.collection_id, revision__in={row.revision_id for row in rows}
    )
    items = {item.revision_id: item for item in asking.order_by("-retired_at", "-pk")}
    rates, replies = rates_of_again(job.collection, job.config), raw_replies(rows)
    page.object_list = [
        ModelCall(
            row,
            items.get(row.revision_id),
            price_of_cell(row, rates),
            _prompt(row, items),
            replies[row.pk],
        )
        for row in rows
    ]
    return page


def _prompt(grade: Grade, items: dict[int, Item]) -> str:
    """Return the prompt that was asked; empty where it, or what its call asked, is not known any more."""
    try:
        prompt = configs.spec_of(grade.config).prompt
        if configs.spec_of(grade.config).fingerprint != grade.config.fingerprint:
            return ""
    except UnknownPrompt:
        return ""
    cell = (grade.revision_id, grade.passage_id)
    answer = answers_for(grade.config, *([pk] for pk in cell)).get(cell)
    pair = chunks.pair(grade.topic, grade.revision, grade.passage, _kind(grade, items), answer)
    whole, cut = chunks.with_call(grade, pair), grade.context_chars
    return prompt.render(whole, None if cut is None else seen_of(pair.passage.text, cut)) if whole else ""


def _kind(grade: Grade, items: dict[int, Item]) -> ItemKind:
    if grade.revision.uid == DIRECT_UID:
        return ItemKind.DIRECT
    item = items.get(grade.revision_id)
    return ItemKind(item.kind) if item else min(configs.kinds_of(grade.config))


@require_safe
def jobs(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show every line of the collection and every worker, live.

    With `job` in the address, that job's parts and calls; with `missing` also what is missing, for browsers
    without JavaScript.
    """
    collection = collection_for(request.user, slug)
    context = jobs_context(request, collection)
    if request.GET.get("missing") and not request.htmx:
        missing = missing_context(request, collection, scope_of(collection, request.GET))
        context = {**context, **missing}
    return page_or_part(request, JOBS, context, part="jobs")


@require_POST
def steer(request: HtmxRequest, slug: str, kind: str, job_id: int, act: str) -> HttpResponse:
    """Cancel, resume or pause a line, or grade again what failed of it."""
    if kind == GRADING:
        job = access.job_for(request.user, slug, job_id, needed=roles.TO_GRADE)
        _steer_press(request, job, act)
        return _answer(request, job.collection)
    listed = listing.get(kind)
    collection = collection_for(request.user, slug, needed=_role_to_steer(kind))
    if listed is None or act not in listed.acts:
        raise Http404("No such act.")
    row = get_object_or_404(listed.jobs(collection.pk), pk=job_id)
    if isinstance(listed, TaskListing):
        listed.acts[act](row, by=request.user)
    else:
        steering.steer(row, act, by=request.user)
    return _answer(request, collection)


def _steer_press(request: HtmxRequest, job: GradingJob, act: str) -> None:
    press = progress.press_of(job)
    if act == "go-on":
        if not actions.go_on(press, by=request.user):
            messages.info(request, "Nothing is left to grade.")
    elif act == "retry":
        for each in press:
            actions.retry_failed_of(each, by=request.user)
    elif act in steering.STEERS:
        for each in press:
            steering.steer(each, act, by=request.user)
    else:
        raise Http404("No such act.")


@require_POST
def limits(request: HtmxRequest, slug: str, kind: str, job_id: int) -> HttpResponse:
    """Let a job ask its model more often, or less, in all; one that stopped at a limit goes on."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    listed = listing.get(kind)
    if not isinstance(listed, Listing) or listed.expected is None:
        raise Http404("No such limits.")
    job = get_object_or_404(listed.jobs(collection.pk), pk=job_id)
    form = LimitsForm.of_job(job, listed.expected(job), request.POST)
    if form.is_valid():
        job = change_limits(job, form.limits, by=request.user)
    for name, problems in form.errors.items():
        messages.error(request, f"{form.fields[name].label}: {' '.join(map(str, problems))}")
    return redirect(listed.address(job))


def _role_to_steer(kind: str) -> roles.Role:
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
    except actions.CannotRegrade as refusal:
        messages.error(request, str(refusal))
    if request.htmx and request.POST.get("part") == "again":
        address = back_to(request, collection)
        context = {"again": again_of(request, grade, collection, address=address)}
        return part_or_redirect(request, "grades/_again.html", context, to=address)
    return _answer(request, collection)


def _answer(request: HtmxRequest, collection: Collection) -> HttpResponse:
    if request.htmx and request.POST.get("part") != "missing":
        return page_or_part(request, JOBS, jobs_context(request, collection), part="jobs")
    return after(request, collection)


def jobs_context(request: HtmxRequest, collection: Collection) -> Context:
    query = request.GET or request.POST
    opened = _opened(request, collection, query.get("job", ""))
    lines = _lines(request, collection)
    is_mine, scope = query.get("who") == "mine", scope_of(collection, query)
    if is_mine:
        lines = [line for line in lines if line.by == request.user]
    sections = [(stage, [line for line in lines if line.stage == stage]) for stage in Stage]
    names = ("job", "show", "page", "who", "bank", "topic")
    kept = {name: query[name] for name in names if query.get(name)}
    return {
        "collection": collection,
        "sections": [(stage, each) for stage, each in sections if each],
        "is_mine": is_mine,
        "address": f"{reverse('grades:jobs', args=[collection.slug])}?{urlencode(kept)}",
        "workers": monitor.workers(),
        "bank": scope.bank,
        "topic": scope.topic,
        "may_grade": roles.holds(request.user, collection, roles.TO_GRADE),
        **opened,
    }


def _lines(request: HtmxRequest, collection: Collection) -> list[JobLine]:
    """Return the lines: what waits in the order of requests, all else latest first."""
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
    """Return the job of the address with its calls: failed ones, or with `show=latest` the latest."""
    if not job_id:
        return {"opened": None}
    job = access.job_for(request.user, collection.slug, parse_id(job_id))
    query = request.GET or request.POST
    show = "latest" if query.get("show") == "latest" else "failed"
    find = latest_calls if show == "latest" else failed_calls
    line = progress.press_lines(progress.rows_of(progress.press_of(job)))[0]
    may_grade = roles.holds(request.user, collection, roles.TO_GRADE)
    return {
        "opened": job,
        "opened_key": line.key,
        "opened_line": line if may_grade else replace(line, acts=()),
        "row": progress.job_progress(job),
        "show": show,
        "page": find(job, query.get("page")),
        "can_ask": stages.can_ask(job.config),
        "retry": monitor.retry_of(job) if may_grade else None,
    }
