"""The methods that organizers choose from, in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from grading.systems.base import MAX_WORDS
from grading.systems.pipeline import MOST_PASSES, Answering, SystemSpec
from grading.systems.reranking import STRIDE, WINDOW
from grading.systems.retrieval import DEPTH

RETRIEVAL = ("runs", "corpus", "depth")
RERANKING = ("rerank_passes",)
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
        """Calls of the model per topic, in words."""
        if not self.needs_model:
            return "none: it costs nothing"
        reranking: dict[str, Any] = {"rerank_passes": self.passes, "rating_prompt": self.rating_prompt}
        spec = SystemSpec(self.answerings[0], **reranking, backend="any", llm="any")
        calls = spec.calls(DEPTH)
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
            (*RETRIEVAL, *RERANKING, *MODEL),
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
            (*SOURCED, *RERANKING, *MODEL),
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
class Preset:
    """A system that a paper describes, as settings of a method."""

    label: str
    method: str
    begins_with: str
    settings: Mapping[str, int | str]

    @property
    def query(self) -> str:
        """The tail of the form's address."""
        return urlencode({"method": self.method, **self.settings})


TRACKS, BM25 = "the track's ranking", "BM25"
PRESETS = (
    Preset("TREMA-UNH's RIFER (AG)", "rifer", TRACKS, {"sources": 5, "max_words": 400}),
    Preset("TREMA-UNH's EIFRP (AG)", "eifrp", TRACKS, {"sources": 5, "max_words": 400}),
    Preset("TREMA-UNH's RIFER, bm25 (RAG)", "rifer", BM25, {"sources": 5, "max_words": 400}),
    Preset("Ragnar\u00f6k's baseline", "ragnarok", BM25, {"depth": 100, "rerank_passes": 3, "sources": 20}),
    Preset("GPT*-wiki", "prompted", "", {"style": Answering.WIKI.value}),
    Preset("GPT*-web", "prompted", "", {"style": Answering.WEB.value}),
    Preset("GPT*-question", "prompted", "", {"style": Answering.QUESTION.value}),
)
"""The systems of the papers."""

DEFAULTS: dict[str, object] = {"depth": DEPTH, "max_words": MAX_WORDS}
"""Default values of options that do not depend on the method."""
