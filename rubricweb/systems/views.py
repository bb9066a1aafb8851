"""Organizers make a run; developers too see how it was made, step by step."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import Context, HtmxRequest, after_post, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.grades.engine import monitor
from rubricweb.jobs.forms import LimitsForm
from rubricweb.jobs.limited import Limits
from rubricweb.systems import access, actions, selectors
from rubricweb.systems.actions import TagTaken
from rubricweb.systems.forms import MakeForm
from rubricweb.systems.methods import METHODS, PRESETS
from rubricweb.systems.models import SystemJob
from rubricweb.systems.price import price

MADE = "systems/made.html"
STEPS_A_PAGE = 20


@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a method, preview what the run takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    sent = request.POST if request.method == "POST" else request.GET
    method = METHODS.get(sent.get("method", ""))
    if method is None:
        context = {"collection": collection, "section": "runs", "methods": METHODS.values()}
        context |= {"presets": PRESETS, "rows": selectors.job_rows(collection)}
        return render(request, "systems/make.html", context)
    form = MakeForm(collection, method, sent, is_sent="run_tag" in sent or request.method == "POST")
    context = {"collection": collection, "section": "runs", "method": method, "form": form}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, "systems/make_form.html", context)
    expected = price(
        collection, form.spec, len(form.chosen_topics), workers=monitor.workers().able(form.spec.backend)
    )
    limits = LimitsForm(expected.of_model, request.POST if request.method == "POST" else None)
    if request.method == "POST" and (not expected.calls or limits.is_valid()):
        return _start(request, collection, form, limits.limits if expected.calls else Limits(1))
    context |= {"expected": expected, "limits": limits, "workers": monitor.workers()}
    status = 422 if limits.is_bound else 200
    return form_response(request, "systems/make_form.html", context, status=status)


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
    messages.success(
        request, gettext("Making %(run)s. It counts once all topics are done.") % {"run": job.run}
    )
    return redirect("systems:made", collection.slug, job.run_id)


@require_safe
def made(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    """How a run is made or was: its progress, its provenance, its topics; live."""
    job = access.job_for(request.user, slug, run_id)
    return page_or_part(request, MADE, _context(request, job), part="job")


@require_safe
def made_topic(request: HtmxRequest, slug: str, run_id: int, topic_id: int) -> HttpResponse:
    """One topic: its answer, the facts behind it, the passages, and each call of the model."""
    chunk = access.chunk_for(request.user, slug, run_id, topic_id)
    steps = selectors.topic_steps(chunk)
    context = {"collection": chunk.job.collection, "section": "runs", "chunk": chunk, "steps": steps}
    if steps:
        context["page"] = Paginator(steps.made.steps, STEPS_A_PAGE).get_page(request.GET.get("page"))
    return render(request, "systems/made_topic.html", context)


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
        return form_response(request, MADE, _context(request, job, form), part="job")
    actions.change_limits(job, form.limits, by=request.user)
    return _after(request, slug, run_id)


def _steered(
    request: HtmxRequest, slug: str, run_id: int, steer: Callable[..., SystemJob], words: str
) -> HttpResponse:
    job = access.job_for(request.user, slug, run_id, needed=roles.TO_ORGANIZE)
    messages.info(request, words.format(steer(job, by=request.user).run))
    return _after(request, slug, run_id)


def _after(request: HtmxRequest, slug: str, run_id: int) -> HttpResponse:
    job = access.job_for(request.user, slug, run_id)
    to = reverse("systems:made", args=[slug, run_id])
    return after_post(request, f"{MADE}#job", _context(request, job), to=to)


def _limits_form(job: SystemJob, request: HtmxRequest | None = None) -> LimitsForm:
    expected = price(job.collection, job.system, job.total)
    form = LimitsForm(expected.of_model, request.POST if request else None)
    form.initial = {"most_calls": job.most_calls, "most_dollars": job.most_dollars}
    return form


def _context(request: HtmxRequest, job: SystemJob, form: LimitsForm | None = None) -> Context:
    may_organize = roles.holds(request.user, job.collection, roles.TO_ORGANIZE)
    has_limits = may_organize and job.system.needs_model and not job.has_ended
    return {
        "collection": job.collection,
        "section": "runs",
        "row": selectors.job_row(job),
        "system": job.system,
        "topics": selectors.topic_rows(job),
        "may_organize": may_organize,
        "form": (form or _limits_form(job)) if has_limits else None,
    }
