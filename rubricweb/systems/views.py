"""Organizers make a run; developers too see how it was made, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from grading.systems.pipeline import LABELS, MOST_PASSES, SOURCES, SystemSpec
from grading.systems.reranking import rating_prompts
from rubricweb.accounts import roles
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import HtmxRequest, after_post, form_response, page_or_part, parse_id
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.prompts import writer_choices, writer_of
from rubricweb.grades.engine import monitor
from rubricweb.jobs.steering import Limits, LimitsForm
from rubricweb.systems import access, actions, retrieval, selectors
from rubricweb.systems.actions import TagTaken
from rubricweb.systems.kind import price
from rubricweb.systems.methods import DEFAULTS, METHODS, PRESETS, Method
from rubricweb.systems.models import SystemJob

DEEPEST, MOST_SOURCES, MOST_WORDS = 1_000, 100, 2_000

MAKE = "systems/make.html"
STEPS_A_PAGE = 20


class MakeForm(forms.Form):
    """The form of one method, without the fields that it does not take."""

    run_tag = forms.CharField(label="Name of the run", max_length=200)
    runs = forms.MultipleChoiceField(
        label="Start from",
        required=False,
        help_text="If you choose none: BM25. Several runs are fused.",
    )
    corpus = forms.ChoiceField(
        label="Search",
        required=False,
        help_text="A corpus on this server's disk; passages that the run names are imported.",
    )
    depth = forms.IntegerField(label="Passages to retrieve", min_value=1, max_value=DEEPEST)
    rerank_passes = forms.IntegerField(
        label="Passes of reranking",
        min_value=0,
        max_value=MOST_PASSES,
        help_text="By the same model, before it answers.",
    )
    rating_prompt = forms.ChoiceField(
        label="Prompt",
        choices=[
            (prompt.prompt_class, f"{prompt.prompt_class}: {prompt.source.partition(',')[0]}")
            for prompt in rating_prompts().values()
        ],
        help_text="Asked for each passage, with the topic's query as the question.",
    )
    sources = forms.IntegerField(label="Passages to answer from", min_value=1, max_value=MOST_SOURCES)
    max_words = forms.IntegerField(label="Longest answer, in words", min_value=1, max_value=MOST_WORDS)
    style = forms.ChoiceField(label="Ask for")
    backend = forms.ChoiceField(label="Back-end", choices=writer_choices)
    llm = forms.CharField(
        label="Model",
        max_length=200,
        help_text="As the worker or server knows it: a name such as google/flan-t5-large, or a folder.",
    )
    topics = forms.MultipleChoiceField(label="Topics", required=False, help_text="If you choose none: all.")

    def __init__(
        self, collection: Collection, method: Method, submitted: QueryDict, *, is_sent: bool
    ) -> None:
        """Make the form of one method; without `is_sent`, the values of the address are only initial."""
        initial = _initial(collection, method) | {
            name: submitted[name] for name in method.options if name in submitted
        }
        super().__init__(submitted if is_sent else None, initial=initial, auto_id="make-%s")
        self._collection, self._method = collection, method
        for name in set(self.fields) - {"run_tag", "topics", *method.options}:
            del self.fields[name]
        offer_choices(self, "topics", [(str(topic.pk), str(topic)) for topic in collection.topics.all()])
        if "corpus" in self.fields:
            self._offer_corpora()
        if "runs" in self.fields:
            self._offer_runs()
        if "style" in self.fields:
            offer_choices(
                self, "style", [(answering.value, LABELS[answering]) for answering in method.answerings]
            )
        self._fit(method)

    def _offer_runs(self) -> None:
        """Offer the runs to start from; without runs only BM25 is left, unless the method needs them."""
        tags = self._collection.runs.accepted().values_list("run_tag", flat=True)
        offer_choices(self, "runs", [(tag, tag) for tag in tags])
        if not tags and self._method.name != "fusion":
            del self.fields["runs"]

    def _offer_corpora(self) -> None:
        """Offer the corpora on disk, or drop the field without any."""
        offered = [(name, name) for name in retrieval.corpus_names()]
        if offered:
            offer_choices(self, "corpus", [("", "the collection's passages"), *offered])
        else:
            del self.fields["corpus"]

    def clean_corpus(self) -> str:
        corpus = str(self.cleaned_data["corpus"])
        if corpus and self.cleaned_data.get("runs"):
            raise forms.ValidationError("Start from runs, or search a corpus.")
        return corpus

    def _fit(self, method: Method) -> None:
        """Fit labels and help texts to the method, since the fields differ between methods."""
        if method.name == "fusion":
            choice_field(self, "runs").required = True
            self.fields["runs"].help_text = "Two or more."
        if method.name == "rerank":
            self.fields["rerank_passes"].help_text = "One window after the other, through the whole list."
            self.fields["rerank_passes"].widget.attrs["min"] = 1

    def clean_run_tag(self) -> str:
        tag = str(self.cleaned_data["run_tag"])
        if len(tag.split()) != 1:
            raise forms.ValidationError("A run's name is one word: files separate columns by spaces.")
        if Run.objects.filter(collection=self._collection, run_tag=tag).exists():
            raise forms.ValidationError("This collection has a run of this name already.")
        return tag

    def clean_runs(self) -> list[str]:
        runs: list[str] = self.cleaned_data["runs"]
        if self._method.name == "fusion" and len(runs) < 2:
            raise forms.ValidationError("Choose at least two runs.")
        return runs

    def clean_rerank_passes(self) -> int:
        passes = int(self.cleaned_data["rerank_passes"])
        if self._method.name == "rerank" and not passes:
            raise forms.ValidationError("Reranking takes at least one pass.")
        return passes

    @property
    def spec(self) -> SystemSpec:
        """What the valid form says."""
        chosen = self.cleaned_data
        answerings = {answering.value: answering for answering in self._method.answerings}
        taken = {
            name: chosen[name] for name in self._method.options if name in set(chosen) - {"style", "runs"}
        }
        return SystemSpec(
            answerings[chosen.get("style", next(iter(answerings)))],
            runs=tuple(chosen.get("runs", ())),
            **taken,
        )

    @property
    def chosen_topics(self) -> list[Topic]:
        topics = self._collection.topics.all()
        chosen = self.cleaned_data["topics"]
        return list(topics.filter(pk__in=chosen) if chosen else topics)


def _initial(collection: Collection, method: Method) -> dict[str, object]:
    initial = {**DEFAULTS, "rerank_passes": method.passes, "rating_prompt": method.rating_prompt}
    initial |= {"sources": SOURCES.get(method.answerings[0])}
    writer = writer_of(collection)
    return initial | writer.initial if writer else initial


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
