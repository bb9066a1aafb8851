"""Results > Support: runs by the labels of one model or of people, and the jobs that ask models for them."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.statistics.cover_sample import METHOD, MIN_UNITS
from grading.support import LONGEST_REPLY, JudgedCitations, SupportRule, again_id
from rubricweb.accounts import roles
from rubricweb.accounts.roles import Role
from rubricweb.core.formatting import counted
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.core.http import MAX_ID, Context, HtmxRequest, form_response, page_or_part
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RUNS_HELP, RunSlice, UnknownRuns, find_runs, tasks
from rubricweb.corpus.writers import WriterForm, longest_reply_field
from rubricweb.grades.engine import monitor
from rubricweb.jobs.limits import ExpectedCost, LimitsForm
from rubricweb.jobs.listing import JobLine, ListedJob, Stage, lines_of
from rubricweb.jobs.progress import progress_of
from rubricweb.plots import Picture
from rubricweb.plots.cells import DotRow, dot_rows
from rubricweb.support import actions, labelling
from rubricweb.support.actions import Asking, NothingToAsk, failed_of, unit_of
from rubricweb.support.agreement import agreement, repeated
from rubricweb.support.board import (
    CONTRADICTED,
    RULES,
    Counting,
    Mean,
    SupportBoard,
    board as board_of,
    column_names,
)
from rubricweb.support.estimates import estimates
from rubricweb.support.kind import LISTING, measured_rate, price, price_of_job, price_of_retry
from rubricweb.support.labels import SupportRater, raters
from rubricweb.support.models import (
    CITATIONS,
    CLAIM_PROMPTS,
    IMPORTED,
    SupportJob,
    SupportJudge,
    SupportSettings,
)

DEFAULT_CITATIONS = JudgedCitations.FIRST.value

PAGE = "support/board.html"
SHOWN_FAILURES = 20
NAMES_WIDTH = 180
"""Of the names of runs in the pictures, which begin with their teams."""
ZERO = "zero"
STANCE = "stance"
"""Labels with contradicts among them."""
CHOICES = {
    "citations": {rule.value: label for rule, label in RULES.items()},
    "unjudged": {ZERO: "count 0", "none": "left out"},
    "lacking": {ZERO: "count 0", "none": "left out"},
}
"""The first of each is the default."""
RUN_FIELDS = ("task", "runs")


class SupportBoardForm(ChipForm):
    """Whose labels, of which citations, what counts 0, and of which runs."""

    in_toolbar = ("rater", "citations", "unjudged", "lacking", "task")
    in_menu = ("runs",)
    problem = ""
    """Why no run is of the task or name in the address; all are shown then."""

    rater = forms.ChoiceField(label="Labels of", required=False)
    citations = forms.ChoiceField(
        label="Citations", required=False, choices=list(CHOICES["citations"].items())
    )
    unjudged = forms.ChoiceField(
        label="Unjudged answers", required=False, choices=list(CHOICES["unjudged"].items())
    )
    lacking = forms.ChoiceField(
        label="Missing topics", required=False, choices=list(CHOICES["lacking"].items())
    )

    task = forms.ChoiceField(required=False)
    runs = forms.CharField(max_length=2_000, required=False, label="Only runs", help_text=RUNS_HELP)

    def __init__(self, address: QueryDict) -> None:
        self.address = address
        super().__init__(address)

    def default_value(self, name: str) -> object:
        if name in RUN_FIELDS:
            return ""
        return self.first_rater if name == "rater" else next(iter(CHOICES[name]))

    def offer(self, collection: Collection) -> tuple[SupportRater, Counting]:
        """Return what is chosen; the first of each where the address names none, or something else."""
        by_key = {rater.key: rater for rater in raters(collection)}
        offer_choices(self, "rater", [(key, rater.name) for key, rater in by_key.items()])
        self.first_rater = next(iter(by_key))
        chosen = by_key.get(str(self.data.get("rater", "")), by_key[self.first_rater])
        runs = self._runs(collection)
        named = {"task": runs.task, "runs": runs.names} if runs else {}
        self.data = {"rater": chosen.key} | {
            name: self._choice(name, str(self.data.get(name, ""))) for name in CHOICES
        }
        self.data |= {name: value for name, value in named.items() if value}
        rule = SupportRule(self.data["citations"])
        return chosen, Counting(rule, self.data["unjudged"] == ZERO, self.data["lacking"] == ZERO, runs)

    def _runs(self, collection: Collection) -> RunSlice | None:
        offered = tasks(collection)
        offer_choices(self, "task", [("", "all"), *(offered.items() if len(offered) > 1 else ())])
        try:
            return find_runs(collection, *(str(self.data.get(name, "")) for name in RUN_FIELDS))
        except UnknownRuns as error:
            self.problem = str(error)
            return None

    def _choice(self, name: str, value: str) -> str:
        return value if value in CHOICES[name] else next(iter(CHOICES[name]))


class AskForm(WriterForm):
    """Which model is asked about which citations."""

    citations = forms.ChoiceField(label="Citations judged", choices=CITATIONS, initial=DEFAULT_CITATIONS)
    labels = forms.ChoiceField(
        label="Labels", required=False, choices=[("", "full, partial, none"), (STANCE, "and contradicts")]
    )
    longest_reply = longest_reply_field(
        LONGEST_REPLY, "A label takes a few. A model that reasons before it answers needs many more."
    )

    def __init__(
        self, collection: Collection, chosen: SupportSettings, submitted: QueryDict | None = None
    ) -> None:
        """Offer contradicts first where people give that label, as the settings say."""
        initial = {"labels": STANCE} if chosen.contradicts else {}
        super().__init__(submitted, initial=initial, auto_id="ask_%s")
        self.offer(collection)

    @property
    def asking(self) -> Asking:
        """Return what the valid form says."""
        chosen = self.cleaned_data
        rule = JudgedCitations(chosen["citations"])
        return Asking(
            self.writer.backend,
            self.writer.llm,
            rule,
            chosen["longest_reply"],
            may_contradict=chosen["labels"] == STANCE,
        )


class SettingsForm(forms.Form):
    """What people who label are asked, and what they see first."""

    citations = forms.ChoiceField(label="People label", choices=CITATIONS)
    sample = forms.IntegerField(
        label="How many, drawn at random",
        required=False,
        min_value=1,
        max_value=MAX_ID,
        widget=forms.NumberInput(attrs={"placeholder": "all"}),
    )
    shown_judge = forms.ModelChoiceField(
        SupportJudge.objects.none(),
        label="Show first the label of",
        required=False,
        empty_label="nobody: people label from scratch",
        help_text=(
            "A label that is shown first draws people to it: 72 % agreed where they saw it, and 56 %"
            " where they did not (Thakur et al. 2025). Both are counted apart."
        ),
    )
    contradicts = forms.BooleanField(
        label="A fourth label: contradicts",
        required=False,
        help_text="The passage says the opposite. TREC RAG calls that none, and so do precision and recall.",
    )


@require_safe
def board(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show runs by the labels of one model or of people; `job` in the address opens a job beside them."""
    collection = collection_for(request.user, slug)
    job_id = request.GET.get("job", "")
    opened = job_of(request, slug, int(job_id), grader=None) if job_id.isdecimal() else None
    if opened and request.htmx.target == "job":
        return page_or_part(request, PAGE, job_context(request, opened), part="job")
    context = board_context(request, collection, request.GET)
    context |= job_context(request, opened) if opened else {}
    return page_or_part(request, PAGE, context, part="support")


@require_POST
def choose(request: HtmxRequest, slug: str) -> HttpResponse:
    """Save what people who label are asked, and what they see first."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    form = _settings_form(labelling.settings_of(collection), request.POST)
    if form.is_valid():
        actions.choose(collection, **form.cleaned_data, by=request.user)
        messages.success(request, "Saved.")
    return redirect(reverse("support:board", args=[slug]) + "#labelling")


def board_context(request: HtmxRequest, collection: Collection, address: QueryDict) -> dict[str, object]:
    """Return what the page has, whatever is opened on it."""
    form = SupportBoardForm(address)
    rater, counting = form.offer(collection)
    runs = board_of(collection, rater, counting)
    chosen = labelling.settings_of(collection)
    return {
        "collection": collection,
        "chips": form,
        "rater": rater,
        "counting": counting,
        "rule_words": RULES[counting.rule],
        "columns": column_names(rater, counting.rule, runs.names),
        "query": urlencode(form.data),
        "runs_query": urlencode({name: form.data[name] for name in RUN_FIELDS if name in form.data}),
        "board": runs,
        "pictures": _pictures(runs, collection.slug),
        "agreement": agreement(collection),
        "repeated": repeated(collection),
        "estimates": estimates(collection, rater, counting),
        "method": METHOD,
        "min_units": MIN_UNITS,
        "jobs": _jobs(request, collection),
        "settings_form": _settings_form(chosen),
        "form": AskForm(collection, chosen),
    }


def job_of(
    request: HtmxRequest, slug: str, job_id: int, *, needed: Role = roles.TO_SEE_RUNS, **among: object
) -> SupportJob:
    collection = collection_for(request.user, slug, needed=needed)
    jobs = SupportJob.objects.select_related("judge__collection", "grader", "by").filter(**among)
    return get_object_or_404(jobs, pk=job_id, judge__collection=collection)


def job_context(request: HtmxRequest, job: SupportJob) -> dict[str, object]:
    """Return how far the job is, what it may take, and which replies named no label."""
    collection = job.judge.collection
    may_organize = roles.holds(request.user, collection, roles.TO_ORGANIZE)
    left = failed_of(job)
    rows = job.judge.labels.filter(label=None).select_related("topic").order_by("pk")
    context = {
        "collection": collection,
        "row": ListedJob(LISTING, job, progress_of([job], measured_rate)[0]),
        "again_id": again_id(job.judge.prompt_id),
        "unit": unit_of(job),
        "left": len(left),
        "failures": rows[:SHOWN_FAILURES],
        "may_organize": may_organize,
    }
    if may_organize and not job.has_ended:
        context["limits_form"] = LimitsForm.of_job(job, ExpectedCost.of(price_of_job(job)))
    elif may_organize and left:
        context["retry_price"] = expected = price_of_retry(job)
        context["retry_form"] = LimitsForm(ExpectedCost.of(expected))
        context["retry_address"] = (
            job.get_absolute_url()
            if job.grader_id
            else reverse("support:retry", args=[collection.slug, job.pk])
        )
    return context


def _jobs(request: HtmxRequest, collection: Collection) -> list[JobLine]:
    """Return those that have not ended; else the latest. None for those who may not open them."""
    if not roles.holds(request.user, collection, roles.TO_SEE_RUNS):
        return []
    lines = [
        replace(line, acts=()) for line in lines_of(LISTING, LISTING.jobs(collection.pk).filter(grader=None))
    ]
    return [line for line in lines if line.stage != Stage.ENDED] or lines[:1]


def _pictures(board: SupportBoard, slug: str) -> list[Picture]:
    """Return the scores as dots with intervals; none before anything is labelled."""
    titles = {
        "precision": ("Weighted precision", "Of what an answer cites: how much supports its sentence?"),
        "recall": ("Weighted recall", "Of what an answer says: how much is supported by what it cites?"),
        CONTRADICTED: ("Contradicted citations", "Of what an answer cites: how much says the opposite?"),
    }
    pictures = []
    for name in board.names:
        title, subtitle = titles[name]
        means: list[tuple[Mean, str, int]] = [
            (mean, row.run_tag, row.run_id) for row in board.rows if (mean := getattr(row, name)).is_defined
        ]
        best_first = 1 if name == CONTRADICTED else -1
        rows = [
            DotRow(
                run_tag,
                mean.value,
                low=mean.low if mean.has_interval else None,
                high=mean.high if mean.has_interval else None,
                href=f"{reverse('leaderboards:compare', args=[slug])}?a={run_id}",
                kind="lead",
            )
            for mean, run_tag, run_id in sorted(means, key=lambda scored: best_first * scored[0].value)
        ]
        if rows:
            sentence, axis = f"{title} of {counted(len(rows), 'run')}", title.lower()
            plot = dot_rows(rows, name=name, sentence=sentence, axis=axis, names=NAMES_WIDTH)
            pictures.append(Picture(name, title, subtitle, plot))
    return pictures


def _settings_form(chosen: SupportSettings, submitted: Context | None = None) -> SettingsForm:
    initial = {
        "citations": chosen.citations,
        "sample": chosen.sample,
        "shown_judge": chosen.shown_judge_id,
        "contradicts": chosen.contradicts,
    }
    form = SettingsForm(submitted, initial=initial, auto_id="labelling_%s")
    judges = SupportJudge.objects.filter(collection=chosen.collection_id).exclude(backend=IMPORTED)
    judges = judges.exclude(prompt_id__startswith=CLAIM_PROMPTS)
    form.fields["shown_judge"].queryset = judges  # type: ignore[attr-defined]
    return form


@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a model, preview what asking it takes; POST starts it."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    submitted = request.POST if request.method == "POST" else request.GET
    form = AskForm(collection, labelling.settings_of(collection), submitted or None)
    context: dict[str, object] = {"collection": collection, "form": form, "is_asking": True}
    if not request.htmx:
        context = board_context(request, collection, type(request.GET)()) | context
    if not (form.is_bound and form.is_valid()):
        return form_response(request, PAGE, context, part="ask")
    expected = price(collection, form.asking)
    limits = LimitsForm(ExpectedCost.of(expected), request.POST or None)
    if request.method == "POST" and expected.cells and limits.is_valid():
        return started(request, actions.start(collection, form.asking, limits=limits.limits, by=request.user))
    context |= {"price": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, PAGE, context, part="ask", status=422 if limits.is_bound else 200)


@require_POST
def retry(request: HtmxRequest, slug: str, job_id: int) -> HttpResponse:
    """Ask the model again about every citation whose label failed."""
    job = job_of(request, slug, job_id, needed=roles.TO_ORGANIZE, grader=None)
    form = retry_form(request, job)
    if form.is_valid():
        return retried(request, job, form)
    context = board_context(request, job.collection, request.GET) | job_context(request, job)
    return form_response(request, PAGE, context | {"retry_form": form}, part="job", status=422)


def retry_form(request: HtmxRequest, job: SupportJob) -> LimitsForm:
    return LimitsForm(ExpectedCost.of(price_of_retry(job)), request.POST)


def retried(request: HtmxRequest, job: SupportJob, form: LimitsForm) -> HttpResponse:
    """Ask again within the valid limits."""
    try:
        return started(request, actions.retry_failed(job, limits=form.limits, by=request.user))
    except NothingToAsk:
        messages.info(request, "No label of this model has failed.")
        return redirect(job)


def started(request: HtmxRequest, job: SupportJob) -> HttpResponse:
    messages.success(request, f"Asking {job.judge.llm} about {counted(job.total, unit_of(job))}.")
    return redirect(job.page)
