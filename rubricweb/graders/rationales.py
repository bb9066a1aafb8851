"""Rationales of graders: whether the passages hold their claims, and the jobs that ask a model about them."""

from __future__ import annotations

from dataclasses import replace

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from grading.support import LONGEST_REPLY, JudgedCitations
from rubricweb.accounts import roles
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.writers import WriterForm, longest_reply_field
from rubricweb.grades.engine import monitor
from rubricweb.grades.models import GraderConfig
from rubricweb.jobs.limits import ExpectedCost, LimitsForm
from rubricweb.jobs.listing import lines_of
from rubricweb.jobs.models import Job
from rubricweb.support import actions
from rubricweb.support.actions import Asking, NothingToAsk
from rubricweb.support.board_page import job_context, job_of, retried, retry_form, started
from rubricweb.support.kind import LISTING, price
from rubricweb.support.rationales import (
    MOST_SAMPLED,
    SAMPLE,
    SampledRationales,
    checked_rationales,
    graders_with_rationales,
)

PAGE = "graders/rationales.html"


class CheckRationalesForm(WriterForm):
    """Whose rationales are checked, how many, and by which model."""

    field_order = ("grader", "sample")

    grader = forms.ChoiceField(label="Rationales of")
    sample = forms.IntegerField(
        label="How many, drawn at random", min_value=1, max_value=MOST_SAMPLED, initial=SAMPLE
    )
    llm = forms.CharField(
        label="Model", max_length=200, help_text="Best of another family than the grader's."
    )
    longest_reply = longest_reply_field(LONGEST_REPLY)

    def offer(self, collection: Collection) -> None:
        """Offer the graders that wrote reasons, and the collection's own model first."""
        super().offer(collection)
        self.graders = {str(config.pk): config for config in graders_with_rationales(collection)}
        offer_choices(self, "grader", [(key, str(config)) for key, config in self.graders.items()])

    @property
    def asking(self) -> Asking:
        """Return what the valid form says."""
        chosen = self.cleaned_data
        grader: GraderConfig = self.graders[chosen["grader"]]
        return Asking(
            self.writer.backend,
            self.writer.llm,
            JudgedCitations.ALL,
            chosen["longest_reply"],
            SampledRationales(grader, chosen["sample"]),
        )


def rationales_context(collection: Collection) -> Context:
    """Return what is known of the rationales of each grader, and whether any can be checked."""
    jobs = []
    if checked := checked_rationales(collection):
        live = LISTING.jobs(collection.pk).exclude(grader=None).exclude(state__in=Job.ENDED)
        jobs = [replace(line, acts=()) for line in lines_of(LISTING, live)]
    return {
        "checked_rationales": checked,
        "rationale_jobs": jobs,
        "can_check": bool(graders_with_rationales(collection)),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def check_rationales(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a grader and a model, preview what checking takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    submitted = request.POST if request.method == "POST" else request.GET
    form = CheckRationalesForm(submitted or None)
    form.offer(collection)
    context: Context = {"collection": collection, "form": form, "unit": "claim"}
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context)
    expected = price(collection, form.asking)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and limits.is_valid():
        try:
            job = actions.start(collection, form.asking, limits=limits.limits, by=request.user)
        except NothingToAsk:
            messages.info(request, "This model has labelled all of these claims.")
            return redirect(f"{reverse('graders:graders', args=[slug])}#rationales")
        return started(request, job)
    preview = {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, PAGE, {**context, **preview}, status=422 if limits.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def rationale_job(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Show how far a check of rationales is; POST asks again about every claim whose label failed."""
    needed = roles.TO_ORGANIZE if request.method == "POST" else roles.TO_SEE_RUNS
    job = job_of(request, slug, job_id, needed=needed, grader__isnull=False)
    context = job_context(request, job)
    if request.method == "POST":
        form = retry_form(request, job)
        if form.is_valid():
            return retried(request, job, form)
        context["retry_form"] = form
    response = page_or_part(request, "graders/rationale_job.html", context, part="job")
    response.status_code = 422 if request.method == "POST" else 200
    return response
