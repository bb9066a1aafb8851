"""Organizers make a run; developers too see how it was made, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest, after_post, form_response, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine import monitor
from rubricweb.jobs.limited import Limits, LimitsForm
from rubricweb.systems import access, actions, selectors
from rubricweb.systems.actions import TagTaken
from rubricweb.systems.forms import MakeForm
from rubricweb.systems.methods import METHODS, PRESETS
from rubricweb.systems.models import SystemJob
from rubricweb.systems.price import price

MAKE = "systems/make.html"
STEPS_A_PAGE = 20


@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a method, preview what the run takes; POST starts it. Below are the runs that were made here."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    given = request.POST if request.method == "POST" else request.GET
    method = METHODS.get(given.get("method", ""))
    context = _page(collection, may_organize=True) | {"method": method}
    if method is None:
        return render(request, MAKE, context)
    form = MakeForm(collection, method, given, is_sent="run_tag" in given or request.method == "POST")
    context["form"] = form
    if not (form.is_bound and form.is_valid()):
        return form_response(request, MAKE, context)
    expected = price(
        collection, form.spec, len(form.chosen_topics), workers=monitor.workers().able(form.spec.backend)
    )
    limits = LimitsForm(expected.of_model, request.POST if request.method == "POST" else None)
    if request.method == "POST" and (not expected.calls or limits.is_valid()):
        return _start(request, collection, form, limits.limits if expected.calls else Limits(1))
    context |= {"expected": expected, "limits": limits, "workers": monitor.workers()}
    status = 422 if limits.is_bound else 200
    return form_response(request, MAKE, context, status=status)


def _start(request: HtmxRequest, collection: Collection, form: MakeForm, limits: Limits) -> HttpResponse:
    try:
        job = actions.start(
            collection,
            form.spec,
            run_tag=form.cleaned_data["run_tag"],
            topics=form.chosen_topics,
            limits=limits,
            by=request.user,
        )
    except (TagTaken, ValueError) as refusal:
        messages.error(request, str(refusal))
        return redirect("systems:make", collection.slug)
    messages.success(request, f"Making {job.run}. It counts once all topics are done.")
    return redirect("systems:made", collection.slug, job.run_id)


@require_safe
def made(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Show the runs made here, with the progress, provenance and topics of one open below its row; live.

    Below the row of the topic in the address: its answer, facts, passages, and each call of the model.
    """
    job = access.job_for(request.user, slug, run_id)
    context = _context(request, job)
    if opened := parse_id(request.GET.get("topic", "")):
        chunk = get_object_or_404(job.chunks.select_related("topic"), topic=opened)
        chunk.job = job
        steps = selectors.topic_steps(chunk)
        context |= {"opened_topic": opened, "steps": steps}
        if steps:
            context["page"] = Paginator(steps.made.steps, STEPS_A_PAGE).get_page(request.GET.get("page"))
    return page_or_part(request, MAKE, context, part="job")


@require_POST
def pause(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    return _steered(request, slug, run_id, actions.pause, "{} is paused.")


@require_POST
def resume(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    return _steered(request, slug, run_id, actions.resume, "{} has resumed.")


@require_POST
def cancel(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    return _steered(request, slug, run_id, actions.cancel, "{} is cancelled. The model's replies are kept.")


@require_POST
def make_rest(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    return _steered(request, slug, run_id, actions.make_rest, "{} continues with the remaining topics.")


@require_POST
def limits(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """Let the job ask more, or less."""
    job = access.job_for(request.user, slug, run_id, needed=roles.TO_ORGANIZE)
    form = _limits_form(job, request)
    if not form.is_valid():
        return form_response(request, MAKE, _context(request, job, form), part="job")
    actions.change_limits(job, form.limits, by=request.user)
    return _after(request, slug, run_id)


def _steered(
    request: HtmxRequest, slug: str, run_id: int, steer: Callable[..., SystemJob], done: str
) -> HttpResponse:
    job = access.job_for(request.user, slug, run_id, needed=roles.TO_ORGANIZE)
    messages.info(request, done.format(steer(job, by=request.user).run))
    return _after(request, slug, run_id)


def _after(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    job = access.job_for(request.user, slug, run_id)
    to = reverse("systems:made", args=[slug, run_id])
    return after_post(request, f"{MAKE}#job", _context(request, job), to=to)


def _limits_form(job: SystemJob, request: HtmxRequest | None = None) -> LimitsForm:
    expected = price(job.collection, job.system, job.total)
    form = LimitsForm(expected.of_model, request.POST if request else None)
    form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
    return form


def _page(collection: Collection, *, may_organize: bool) -> dict[str, Any]:
    return {
        "collection": collection,
        "may_organize": may_organize,
        "methods": METHODS.values(),
        "presets": PRESETS,
        "rows": selectors.job_rows(collection),
    }


def _context(request: HtmxRequest, job: SystemJob, form: LimitsForm | None = None) -> dict[str, Any]:
    may_organize = roles.holds(request.user, job.collection, roles.TO_ORGANIZE)
    has_limits = may_organize and job.system.needs_model and not job.has_ended
    context = _page(job.collection, may_organize=may_organize)
    return context | {
        "row": next(row for row in context["rows"] if row.job == job),
        "opened": job.run,
        "system": job.system,
        "topics": selectors.topic_rows(job),
        "form": (form or _limits_form(job)) if has_limits else None,
    }
