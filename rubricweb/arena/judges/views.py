"""Results > Votes > Judges: models beside people, and the jobs that ask models for votes."""

from __future__ import annotations

from dataclasses import replace

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from grading.pairwise import LONGEST_REPLY, PROMPT_ID, preference_of
from rubricweb.accounts import roles
from rubricweb.arena import access
from rubricweb.arena.answers import paired_topics, stored_answers
from rubricweb.arena.judges import actions
from rubricweb.arena.judges.actions import JudgeRequest, NothingToJudge
from rubricweb.arena.judges.beside import beside_people
from rubricweb.arena.judges.kind import LISTING, price, price_of_job
from rubricweb.arena.models import JudgedPair, JudgeJob
from rubricweb.core.formatting import counted
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.prompts import first_writer, writer_choices
from rubricweb.grades.engine import monitor
from rubricweb.jobs.limits import ExpectedCost, LimitsForm
from rubricweb.jobs.listing import JobLine, ListedJob, lines_of
from rubricweb.jobs.progress import progress_of

PAGE = "arena/judges.html"
LONGEST = 16_384
SHOWN_FAILURES, SHOWN_JOBS = 20, 5


class JudgeForm(forms.Form):
    """Which model is asked about which pairs of answers."""

    backend = forms.ChoiceField(label="Kind of model")
    llm = forms.CharField(label="Model", max_length=200)
    pairs = forms.ChoiceField(label="Pairs", choices=JudgeJob.Pairs, initial=JudgeJob.Pairs.VOTED)
    longest_reply = forms.IntegerField(
        label="Longest reply, in tokens",
        min_value=1,
        max_value=LONGEST,
        initial=LONGEST_REPLY,
        help_text="A verdict takes a few. A model that reasons before it answers needs many more.",
    )

    def offer(self, collection: Collection) -> None:
        """Offer the collection's own model first, if it can be asked, and else a back-end's default."""
        offer_choices(self, "backend", writer_choices())
        self.initial.update(first_writer(collection).initial)

    @property
    def asking(self) -> JudgeRequest:
        """Return what the valid form says."""
        chosen = self.cleaned_data
        pairs = JudgeJob.Pairs(chosen["pairs"])
        return JudgeRequest(chosen["backend"], chosen["llm"].strip(), pairs, chosen["longest_reply"])


@require_safe
def judges(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show models beside people, to those who see the vote board; `job` in the address opens a job."""
    collection = access.arena_for_board(request.user, slug).collection
    job_id = request.GET.get("job", "")
    context = _page_context(request, collection)
    if job_id.isdecimal() and context["may_organize"]:
        job = get_object_or_404(collection.judge_jobs.select_related("collection", "by"), pk=job_id)
        context |= _job_context(job)
        if request.htmx.target == "job":
            return page_or_part(request, PAGE, context, part="job")
    return page_or_part(request, PAGE, context, part="judges")


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a model, preview what asking it takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    submitted = request.POST if request.method == "POST" else request.GET
    form = JudgeForm(submitted or None, auto_id="ask_%s")
    form.offer(collection)
    context = _page_context(request, collection) | {"form": form, "is_asking": True}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context, part="ask")
    expected = price(collection, form.asking)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        return _start(request, collection, form.asking, limits)
    context |= {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, PAGE, context, part="ask", status=422 if limits.is_bound else 200)


def _start(
    request: HtmxRequest, collection: Collection, asking: JudgeRequest, form: LimitsForm
) -> HttpResponse:
    to = reverse("arena:judges", args=[collection.slug])
    try:
        job = actions.start(collection, asking, limits=form.limits, by=request.user)
    except NothingToJudge as refusal:
        messages.info(request, str(refusal))
        return redirect(to)
    messages.success(request, f"Asking {job.llm} about {counted(job.total, 'pair')}, each in both orders.")
    return redirect(LISTING.address(job))


def _page_context(request: HtmxRequest, collection: Collection) -> dict[str, object]:
    """Return what the page has, whatever is opened on it."""
    form = JudgeForm(auto_id="ask_%s")
    form.offer(collection)
    may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
    return {
        "collection": collection,
        "may_organize": may_organize,
        "beside": beside_people(collection),
        "prompt_id": PROMPT_ID,
        "form": form,
        "has_pairs": bool(paired_topics(stored_answers(collection))),
        "jobs": _lines(collection) if may_organize else [],
    }


def _lines(collection: Collection) -> list[JobLine]:
    lines = lines_of(LISTING, LISTING.jobs(collection.pk))
    return [replace(line, acts=()) for line in lines[:SHOWN_JOBS]]


def _job_context(job: JudgeJob) -> dict[str, object]:
    """Return how far the job is, what it may take, and which replies named no verdict."""
    failed = job.chunks.filter(state=JudgedPair.State.DONE, failed__gt=0).select_related("topic")
    context: dict[str, object] = {
        "row": ListedJob(LISTING, job, progress_of([job], LISTING.rate)[0]),
        "failures": [_failure(pair) for pair in failed[:SHOWN_FAILURES]],
    }
    if not job.has_ended:
        context["limits_form"] = LimitsForm.of_job(job, ExpectedCost.of(price_of_job(job)))
    return context


def _failure(pair: JudgedPair) -> dict[str, object]:
    """Return why the pair has no vote, with the reply that names no verdict, if there is one."""
    replies = (reply for of_prompt in pair.replies.values() for reply in of_prompt)
    unread = next((reply for reply in replies if preference_of(reply) is None), "")
    problem = (pair.result or {}).get("problem", "")
    return {"query_id": pair.topic.query_id, "problem": problem, "reply": unread}
