"""Results > Support: runs by the labels of one model or of people, with the jobs that ask models for them."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from grading.statistics.linear_estimate import METHOD, MIN_UNITS
from grading.support.asking import AGAIN_ID
from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role
from rubricweb.core.http import Context, HtmxRequest, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.jobs.limited import LimitsForm
from rubricweb.jobs.listing import JobLine, ListedJob, Stage, lines_of
from rubricweb.jobs.progress import progress_of
from rubricweb.plots.pictures import Picture
from rubricweb.plots.rows import DotRow, dot_rows
from rubricweb.support import actions, labelling
from rubricweb.support.agreement import agreement
from rubricweb.support.board import Mean, SupportBoard
from rubricweb.support.board import board as board_of
from rubricweb.support.columns import column_names
from rubricweb.support.estimates import estimates
from rubricweb.support.forms import AskForm, BoardForm, SettingsForm
from rubricweb.support.labels import failed
from rubricweb.support.listed import LISTING
from rubricweb.support.models import CITATIONS, SupportJob
from rubricweb.support.price import measured_rate, of_model, price_of_job, price_of_retry

PAGE = "support/board.html"
SHOWN_FAILURES = 20


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show runs by the labels of one model or of people; `job` in the address opens a job beside them."""
    collection = collection_for(request.user, slug)
    job_id = request.GET.get("job", "")
    opened = job_of(request, slug, int(job_id)) if job_id.isdecimal() else None
    if opened and request.htmx.target == "job":
        return page_or_part(request, PAGE, job_context(request, opened), part="job")
    context = board_context(request, collection, request.GET)
    context |= job_context(request, opened) if opened else {}
    return page_or_part(request, PAGE, context, part="support")


@require_POST
def choose(request: HtmxRequest, slug: str) -> HttpResponse:
    """Save what people who label are asked, and what they see first."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _settings_form(collection, request.POST)
    if form.is_valid():
        actions.choose(collection, **form.cleaned_data, by=request.user)
        messages.success(request, "Saved.")
    return redirect(reverse("support:board", args=[slug]) + "#labelling")


def board_context(request: HtmxRequest, collection: Collection, address: QueryDict) -> dict[str, object]:
    """Return what the page has, whatever is opened on it."""
    form = BoardForm(address)
    rater, rule = form.offer(collection)
    runs = board_of(collection, rater, rule)
    ask_form = AskForm(auto_id="ask_%s")
    ask_form.offer(collection)
    return {
        "collection": collection,
        "chips": form,
        "rater": rater,
        "rule_words": dict(CITATIONS)[rule],
        "columns": column_names(rater, rule),
        "query": urlencode({"rater": rater.key, "citations": rule}),
        "board": runs,
        "pictures": _pictures(runs, collection.slug),
        "agreement": agreement(collection),
        "estimates": estimates(collection, rater, rule),
        "method": METHOD,
        "min_units": MIN_UNITS,
        "jobs": _jobs(request, collection),
        "settings_form": _settings_form(collection),
        "form": ask_form,
    }


def job_of(request: HtmxRequest, slug: str, job_id: int, *, needed: Role = roles.TO_SEE_RUNS) -> SupportJob:
    collection = collection_for(request.user, slug, needed=needed)
    jobs = SupportJob.objects.select_related("judge__collection", "by")
    return get_object_or_404(jobs, pk=job_id, judge__collection=collection)


def job_context(request: HtmxRequest, job: SupportJob) -> dict[str, object]:
    """Return how far the job is, what it may take, and which replies named no label."""
    collection = job.judge.collection
    may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
    left = failed(collection, job.judge)
    rows = job.judge.labels.filter(label=None).select_related("topic").order_by("pk")
    context = {
        "collection": collection,
        "row": ListedJob(LISTING, job, progress_of([job], measured_rate)[0]),
        "again_id": AGAIN_ID,
        "left": len(left),
        "failures": rows[:SHOWN_FAILURES],
        "may_organize": may_organize,
    }
    if may_organize and not job.has_ended:
        form = LimitsForm(of_model(price_of_job(job)))
        form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
        context["limits_form"] = form
    elif may_organize and left:
        context["retry_price"] = expected = price_of_retry(job)
        context["retry_form"] = LimitsForm(of_model(expected))
    return context


def _jobs(request: HtmxRequest, collection: Collection) -> list[JobLine]:
    """Return those that have not ended; else the latest. None for those who may not open them."""
    if not roles.holds(request.user, collection, roles.TO_SEE_RUNS):
        return []
    lines = [replace(line, acts=()) for line in lines_of(LISTING, LISTING.jobs(collection.pk))]
    return [line for line in lines if line.stage != Stage.ENDED] or lines[:1]


def _pictures(board: SupportBoard, slug: str) -> list[Picture]:
    """Return the scores as dots with intervals; none before anything is labelled."""
    titles = {
        "precision": ("Weighted precision", "Of what an answer cites: how much supports its sentence?"),
        "recall": ("Weighted recall", "Of what an answer says: how much is supported by what it cites?"),
    }
    pictures = []
    for name, (title, subtitle) in titles.items():
        means: list[tuple[str, int, Mean]] = [
            (row.run_tag, row.run_id, getattr(row, name)) for row in board.rows
        ]
        means = [one for one in means if one[2].is_defined]
        rows = [
            DotRow(
                run_tag,
                mean.value,
                low=mean.low if mean.has_interval else None,
                high=mean.high if mean.has_interval else None,
                href=f"{reverse('leaderboards:compare', args=[slug])}?a={run_id}",
                kind="lead",
            )
            for run_tag, run_id, mean in sorted(means, key=lambda one: -one[2].value)
        ]
        if rows:
            plot = dot_rows(rows, name=name, sentence=f"{title} of {len(rows)} runs", axis=title.lower())
            pictures.append(Picture(name, title, subtitle, plot))
    return pictures


def _settings_form(collection: Collection, sent: Context | None = None) -> SettingsForm:
    chosen = labelling.settings_of(collection)
    initial = {
        "citations": chosen.citations,
        "sample": chosen.sample,
        "shown_judge": chosen.shown_judge_id,
    }
    form = SettingsForm(sent, initial=initial, auto_id="labelling_%s")
    form.fields["shown_judge"].queryset = collection.support_judges.all()  # type: ignore[attr-defined]
    return form
