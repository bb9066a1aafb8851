"""The form of a run to be made: what the chosen method takes, for which topics, and its limits."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from grading.systems.pipeline import LABELS, MOST_PASSES, SOURCES, SystemSpec
from grading.systems.reranking import rating_prompts
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.writers import writer_choices, writer_of
from rubricweb.systems import corpora
from rubricweb.systems.methods import DEFAULTS, Method

DEEPEST, MOST_SOURCES, MOST_WORDS = 1_000, 100, 2_000


class MakeForm(forms.Form):
    """Of one method: fields that it does not take are left out."""

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
            (one.prompt_class, f"{one.prompt_class}: {one.source.partition(',')[0]}")
            for one in rating_prompts().values()
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

    def __init__(self, collection: Collection, method: Method, sent: QueryDict, *, is_sent: bool) -> None:
        """Without `is_sent`, what the address already says is only the beginning."""
        initial = _initial(collection, method) | {name: sent[name] for name in method.options if name in sent}
        super().__init__(sent if is_sent else None, initial=initial, auto_id="make-%s")
        self._collection, self._method = collection, method
        for name in set(self.fields) - {"run_tag", "topics", *method.options}:
            del self.fields[name]
        offer_choices(self, "topics", [(str(one.pk), str(one)) for one in collection.topics.all()])
        if "corpus" in self.fields:
            self._offer_corpora()
        if "runs" in self.fields:
            self._offer_runs()
        if "style" in self.fields:
            offer_choices(self, "style", [(one.value, LABELS[one]) for one in method.answerings])
        self._fit(method)

    def _offer_runs(self) -> None:
        """Without runs there is nothing to choose but BM25, unless the method needs them."""
        tags = self._collection.runs.accepted().values_list("run_tag", flat=True)
        offer_choices(self, "runs", [(tag, tag) for tag in tags])
        if not tags and self._method.name != "fusion":
            del self.fields["runs"]

    def _offer_corpora(self) -> None:
        """Nothing is asked where there is none."""
        offered = [(name, name) for name in corpora.names()]
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
        """What fields mean differs between methods."""
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
        answerings = {one.value: one for one in self._method.answerings}
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
