"""Organizers make a run: the methods in plain words, the form of one, and what the run takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from grading.systems import MAX_WORDS
from grading.systems.pipeline import LABELS, MOST_PASSES, SOURCES, Answering, SystemSpec
from grading.systems.reranking import STRIDE, WINDOW, rating_prompts
from grading.systems.retrieval import DEPTH
from rubricweb.accounts import roles
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.writers import writer_choices, writer_of
from rubricweb.grades.engine import monitor
from rubricweb.jobs.limits import Limits, LimitsForm
from rubricweb.jobs.progress import Progress, progress_of
from rubricweb.systems import actions, retrieval
from rubricweb.systems.models import SystemJob

MAKE = "systems/make.html"
DEEPEST, MOST_SOURCES, MOST_WORDS = 1_000, 100, 2_000
RETRIEVAL = ("runs", "corpus", "depth")
RATING_PROMPT = "UmbrelaStyle"
MODEL = ("backend", "llm")
SOURCED = (*RETRIEVAL, "sources", "max_words")


@dataclass(frozen=True, slots=True)
class Method:
    """One way to make a run."""

    name: str
    label: str
    does: str
    """What it does, in a sentence or two."""
    needs: str
    source: str
    """The paper that it comes from."""
    answerings: tuple[Answering, ...]
    """More than one where the style is an option."""
    options: tuple[str, ...]
    """Names of the fields that it has, in their order."""
    passes: int = 0
    """Default number of reranking passes."""
    rating_prompt: str = ""
    """Default prompt for reranking."""

    @property
    def needs_model(self) -> bool:
        return "llm" in self.options

    @property
    def calls(self) -> str:
        """Return calls of the model per topic, in words."""
        if not self.needs_model:
            return "none: it costs nothing"
        reranking: dict[str, Any] = {"rerank_passes": self.passes, "rating_prompt": self.rating_prompt}
        calls = SystemSpec(self.answerings[0], **reranking, backend="any", llm="any").calls(DEPTH)
        return f"{'about ' if calls > 1 else ''}{calls} per topic"


METHODS = {
    method.name: method
    for method in (
        Method(
            "bm25",
            "BM25",
            "Ranks the collection's passages by the words that they share with the topic. Use it as a floor.",
            "the texts of the passages",
            "Pradeep et al. 2024, section 6",
            (Answering.NONE,),
            ("corpus", "depth"),
        ),
        Method(
            "fusion",
            "Fused runs",
            "Merges the rankings of two or more runs by reciprocal rank, so that passages found "
            "by several runs come first.",
            "two runs",
            "Cormack et al. 2009",
            (Answering.NONE,),
            ("runs", "depth"),
        ),
        Method(
            "rerank",
            "Reranking by a language model",
            f"Shows the model {WINDOW} passages at a time, from the last to the first by {STRIDE}, and uses "
            "its order.",
            "a language model",
            "Sun et al. 2023; Pradeep et al. 2024, section 6",
            (Answering.NONE,),
            (*RETRIEVAL, "rerank_passes", *MODEL),
            passes=MOST_PASSES,
        ),
        Method(
            "rate",
            "Reranking by ratings",
            "Asks the model to rate each passage by itself, with a grader's prompt, and puts the best first.",
            "a language model",
            "RubricWeb, with the prompts of several papers",
            (Answering.NONE,),
            (*RETRIEVAL, "rating_prompt", *MODEL),
            rating_prompt=RATING_PROMPT,
        ),
        Method(
            "sentences",
            "Best sentences (no language model)",
            "Quotes the sentences of the first passages that share most with the topic, with their sources. "
            "It understands nothing; use it only as a stand-in.",
            "the texts of the passages",
            "RubricWeb; no paper",
            (Answering.SENTENCES,),
            SOURCED,
        ),
        Method(
            "ragnarok",
            "Ragnar\u00f6k",
            "Asks the model once for a complete answer from the first passages, with citations in brackets.",
            "a language model that takes long prompts",
            "Pradeep et al. 2024, section 3",
            (Answering.RAGNAROK,),
            (*SOURCED, "rerank_passes", *MODEL),
        ),
        Method(
            "spans",
            "Ragnar\u00f6k, citing spans",
            "Like Ragnar\u00f6k, but the model marks what each passage supports, as Command R+ does.",
            "a language model that takes long prompts",
            "Pradeep et al. 2024, section 6",
            (Answering.SPANS,),
            (*SOURCED, "rerank_passes", *MODEL),
        ),
        Method(
            "rifer",
            "RIFER",
            "Collects key facts passage by passage, verifies known ones in each next passage, and smooths "
            "them into an answer.",
            "a language model",
            "Farzi and Dietz 2024, TREMA-UNH at TREC, section 3",
            (Answering.RIFER,),
            (*SOURCED, *MODEL),
        ),
        Method(
            "eifrp",
            "EIFRP",
            "Like RIFER, but the model also removes uninformative parts and orders the facts by relevance.",
            "a language model",
            "Farzi and Dietz 2024, TREMA-UNH at TREC, section 4",
            (Answering.EIFRP,),
            (*SOURCED, *MODEL),
        ),
        Method(
            "prompted",
            "Prompted, without retrieval",
            "Asks the model for an article, a web page or an answer from what it knows; boards show a star.",
            "a language model",
            "Farzi and Dietz 2024, RUBRIC, section 6.4",
            (Answering.WIKI, Answering.WEB, Answering.QUESTION),
            ("style", *MODEL),
        ),
    )
}
"""Name -> method, those without a model first."""


@dataclass(frozen=True, slots=True)
class SystemPreset:
    """A system that a paper describes, as settings of a method."""

    label: str
    method: str
    begins_with: str
    settings: Mapping[str, int | str]

    @property
    def query(self) -> str:
        """Return the tail of the form's address."""
        return urlencode({"method": self.method, **self.settings})


TRACKS, BM25 = "the track's ranking", "BM25"
PRESETS = (
    SystemPreset("TREMA-UNH's RIFER (AG)", "rifer", TRACKS, {"sources": 5, "max_words": 400}),
    SystemPreset("TREMA-UNH's EIFRP (AG)", "eifrp", TRACKS, {"sources": 5, "max_words": 400}),
    SystemPreset("TREMA-UNH's RIFER, bm25 (RAG)", "rifer", BM25, {"sources": 5, "max_words": 400}),
    SystemPreset(
        "Ragnar\u00f6k's baseline", "ragnarok", BM25, {"depth": 100, "rerank_passes": 3, "sources": 20}
    ),
    SystemPreset("GPT*-wiki", "prompted", "", {"style": Answering.WIKI.value}),
    SystemPreset("GPT*-web", "prompted", "", {"style": Answering.WEB.value}),
    SystemPreset("GPT*-question", "prompted", "", {"style": Answering.QUESTION.value}),
)
"""The systems of the papers."""


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
        initial: dict[str, object] = {
            "depth": DEPTH,
            "max_words": MAX_WORDS,
            "rerank_passes": method.passes,
            "rating_prompt": method.rating_prompt,
            "sources": SOURCES.get(method.answerings[0]),
        }
        if writer := writer_of(collection):
            initial |= writer.initial
        initial |= {name: submitted[name] for name in method.options if name in submitted}
        super().__init__(submitted if is_sent else None, initial=initial, auto_id="make-%s")
        self._collection, self._method = collection, method
        for name in set(self.fields) - {"run_tag", "topics", *method.options}:
            del self.fields[name]
        offer_choices(self, "topics", [(str(topic.pk), str(topic)) for topic in collection.topics.all()])
        if "corpus" in self.fields:
            offered = [(name, name) for name in retrieval.corpus_names()]
            if offered:
                offer_choices(self, "corpus", [("", "the collection's passages"), *offered])
            else:
                del self.fields["corpus"]
        if "runs" in self.fields:
            tags = self._collection.runs.accepted().values_list("run_tag", flat=True)
            offer_choices(self, "runs", [(tag, tag) for tag in tags])
            # Without runs only BM25 is left, unless the method needs them.
            if not tags and self._method.name != "fusion":
                del self.fields["runs"]
        if "style" in self.fields:
            offer_choices(
                self, "style", [(answering.value, LABELS[answering]) for answering in method.answerings]
            )
        self._fit(method)

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
        """Return what the valid form says."""
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


@dataclass(frozen=True, slots=True)
class SystemJobRow:
    """A run that was made here, or is, with its progress."""

    job: SystemJob
    progress: Progress


def page(collection: Collection, *, may_organize: bool) -> dict[str, Any]:
    """Return the context of the page without a method and without an opened run; latest runs first."""
    jobs = list(collection.system_jobs.select_related("run", "collection", "by"))
    return {
        "collection": collection,
        "may_organize": may_organize,
        "methods": METHODS.values(),
        "presets": PRESETS,
        "rows": list(map(SystemJobRow, jobs, progress_of(jobs, lambda _: None))),
    }


@require_http_methods(["GET", "HEAD", "POST"])
def make(request: HtmxRequest, slug: str) -> HttpResponse:
    """Choose a method, preview what the run takes; POST starts it. Below are the runs that were made here."""
    collection = collection_for(request.user, slug, needed=roles.TO_ORGANIZE)
    given = request.POST if request.method == "POST" else request.GET
    method = METHODS.get(given.get("method", ""))
    context = page(collection, may_organize=True) | {"method": method}
    if method is None:
        return render(request, MAKE, context)
    form = MakeForm(collection, method, given, is_sent="run_tag" in given or request.method == "POST")
    context["form"] = form
    if not (form.is_bound and form.is_valid()):
        return form_response(request, MAKE, context)
    expected = actions.price(
        collection, form.spec, len(form.chosen_topics), workers=monitor.workers().able(form.spec.backend)
    )
    limits = LimitsForm(expected.of_model, request.POST if request.method == "POST" else None)
    if request.method == "POST" and (not expected.calls or limits.is_valid()):
        return _start(request, collection, form, limits.limits if expected.calls else Limits(1))
    context |= {"expected": expected, "limits": limits, "workers": monitor.workers()}
    return form_response(request, MAKE, context, status=422 if limits.is_bound else 200)


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
    except (actions.TagTaken, ValueError) as refusal:
        messages.error(request, str(refusal))
        return redirect("systems:make", collection.slug)
    messages.success(request, f"Making {job.run}. It counts once all topics are done.")
    return redirect("systems:made", collection.slug, job.run_id)
