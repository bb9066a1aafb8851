"""From a topic to a ranking and an answer: retrieval, reranking, generation, as one description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from grading.generation import TextModel
from grading.graders.backend_options import Value
from grading.systems import (
    MAX_WORDS,
    Answer,
    AnswerSystem,
    Source,
    SystemStep,
    extractive,
    key_facts,
    system_prompt,
)
from grading.systems.extractive import STYLES, BestSentences, Prompted, Ragnarok, SpanCiting
from grading.systems.reranking import (
    STRIDE,
    WINDOW,
    ListwiseReranker,
    PointwiseReranker,
    Reranker,
    rating_prompts,
    windows,
)
from grading.systems.retrieval import DEPTH
from grading.types import Ranking, Topic

MOST_PASSES = 3
"""RankZephyr rho makes three."""


class Answering(StrEnum):
    """How an answer is made."""

    NONE = "none"
    SENTENCES = "sentences"
    RAGNAROK = "ragnarok"
    SPANS = "spans"
    RIFER = "rifer"
    EIFRP = "eifrp"
    WIKI = "wiki"
    WEB = "web"
    QUESTION = "question"


LABELS = {
    Answering.NONE: "No answer: a ranking only",
    Answering.SENTENCES: "Best sentences (no language model)",
    Answering.RAGNAROK: "Ragnar\u00f6k",
    Answering.SPANS: "Ragnar\u00f6k, citing spans",
    Answering.RIFER: "RIFER",
    Answering.EIFRP: "EIFRP",
    Answering.WIKI: "Wikipedia article, without sources",
    Answering.WEB: "Web page, without sources",
    Answering.QUESTION: "The question alone, without sources",
}
SOURCES = {
    Answering.SENTENCES: extractive.SOURCES,
    Answering.RAGNAROK: extractive.SOURCES,
    Answering.SPANS: extractive.SOURCES,
    Answering.RIFER: key_facts.SOURCES,
    Answering.EIFRP: key_facts.SOURCES,
}
"""How many passages an answer is made from, unless told otherwise; of those that read any."""
LONGEST_REPLIES = {
    Answering.RAGNAROK: 1_024,
    Answering.SPANS: 1_024,
    Answering.WIKI: 2_048,
    Answering.WEB: 2_048,
    Answering.QUESTION: 2_048,
}
"""Tokens; for a whole answer of 400 words with citations, and for an article of 1,000 words."""
TOKENS_A_WORD = LONGEST_REPLIES[Answering.RAGNAROK] / MAX_WORDS
"""Tokens a word of such an answer, its citations included."""
PERMUTATION_REPLY, RATING_REPLY = 256, 64
"""Tokens, for the order of a window of 20 and, as graders have it, for one rating."""
_FACTS = ("KeyFacts", "FactInDocument", "FactInSentence")
PROMPTS = {
    Answering.RAGNAROK: ("ChatQa",),
    Answering.SPANS: ("Spans",),
    Answering.RIFER: (*_FACTS, "Smoothing"),
    Answering.EIFRP: (*_FACTS, "Removal", "Sorting", "Smoothing"),
    **{Answering(style): (name,) for style, name in STYLES.items()},
}
"""The prompts that an answer asks."""
LONGEST_REPLY = 512
"""The longest reply of the others, which write a few sentences or a list."""
IN_ONE_CALL = (Answering.RAGNAROK, Answering.SPANS)
"""They answer from all sources at once."""
CLOSED_BOOK = (Answering.WIKI, Answering.WEB, Answering.QUESTION)
"""They answer from what their model knows."""


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """A whole system. What it makes depends on nothing else but the model and the passages."""

    answering: Answering
    runs: tuple[str, ...] = ()
    """Tags of the runs whose rankings it begins with, fused where there are several; empty for BM25."""
    corpus: str = ""
    """Name of a corpus on disk that BM25 searches; empty for the collection's passages."""
    depth: int = DEPTH
    """Passages that are retrieved."""
    rerank_passes: int = 0
    """Passes of listwise reranking."""
    rating_prompt: str = ""
    """Class of the prompt by which each passage is rated to rerank them; empty for none."""
    sources: int = 0
    """Passages that the answer is made from; 0 for the paper's number."""
    max_words: int = MAX_WORDS
    backend: str = ""
    llm: str = ""
    model_options: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Options of the back-end, about thinking and the longest reply (`WRITING`)."""

    def __post_init__(self) -> None:
        """Raise ValueError for parts that do not go together."""
        if self.depth < 1 or not 0 <= self.rerank_passes <= MOST_PASSES:
            raise ValueError(f"the depth is at least 1, and passes of reranking are 0 to {MOST_PASSES}")
        if self.corpus and self.runs:
            raise ValueError("a system begins with runs, or searches a corpus")
        if self.sources < 0 or self.max_words < 1:
            raise ValueError("an answer needs sources and words")
        if self.rating_prompt and (self.rerank_passes or self.rating_prompt not in rating_prompts()):
            raise ValueError(f"passages are reranked in lists, or by one of {', '.join(rating_prompts())}")
        if self.needs_model and not (self.backend and self.llm):
            raise ValueError(f"{LABELS[self.answering]} needs a model")

    @property
    def reads_sources(self) -> bool:
        return self.answering in SOURCES

    @property
    def retrieves(self) -> bool:
        """Return whether it needs a ranking at all."""
        return self.reads_sources or self.answering is Answering.NONE

    @property
    def needs_model(self) -> bool:
        return (
            self.rerank_passes > 0
            or self.rating_prompt != ""
            or self.answering not in (Answering.NONE, Answering.SENTENCES)
        )

    @property
    def is_closed_book(self) -> bool:
        """Return whether it answers without reading anything."""
        return self.answering in CLOSED_BOOK

    @property
    def longest_reply(self) -> int:
        """Return tokens that one reply of the model may have; fewer where the answer may have few words.

        >>> SystemSpec(Answering.RAGNAROK, max_words=100, backend="openai_compatible", llm="m").longest_reply
        256
        >>> SystemSpec(Answering.NONE, rating_prompt="Sun", backend="hf_causal", llm="m").longest_reply
        64
        """
        reranking = PERMUTATION_REPLY if self.rerank_passes else RATING_REPLY
        longest = LONGEST_REPLIES.get(self.answering, LONGEST_REPLY)
        if self.answering is Answering.NONE:
            longest = reranking
        elif self.answering in IN_ONE_CALL:
            longest = min(longest, max(reranking, round(self.max_words * TOKENS_A_WORD)))
        return max(longest, int(self.model_options.get("max_new_tokens", 0)))

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the ids of the prompts that it may ask, in their order.

        >>> SystemSpec(Answering.WIKI, backend="openai_compatible", llm="m").prompts
        ('Wiki@1',)
        """
        reranking = ("Listwise",) if self.rerank_passes else ()
        rating = (rating_prompts()[self.rating_prompt].prompt_id,) if self.rating_prompt else ()
        answering = (*reranking, *PROMPTS.get(self.answering, ()))
        return (*rating, *(system_prompt(name).prompt_id for name in answering))

    @property
    def n_sources(self) -> int:
        return self.sources or SOURCES.get(self.answering, 0)

    @property
    def method(self) -> str:
        """Return the method for people: "BM25, reranked 3 times, RIFER over the first 5, by llama3".

        >>> SystemSpec(Answering.SENTENCES).method
        'BM25, Best sentences (no language model) over the first 20'
        """
        parts = []
        if self.retrieves:
            parts.append(" + ".join(self.runs) or (f"BM25 over {self.corpus}" if self.corpus else "BM25"))
        if self.rerank_passes:
            parts.append(f"reranked {self.rerank_passes} times")
        if self.rating_prompt:
            parts.append(f"reranked by {self.rating_prompt}")
        if self.answering is not Answering.NONE:
            over = f" over the first {self.n_sources}" if self.reads_sources else ""
            parts.append(f"{LABELS[self.answering]}{over}")
        if self.needs_model:
            options = " and ".join(f"{name} {value}" for name, value in self.model_options.items())
            parts.append(f"by {self.llm} with {options}" if options else f"by {self.llm}")
        return ", ".join(parts)

    def calls(self, candidates: int) -> int:
        """Return how many calls of the model a topic with so many candidates is expected to take."""
        calls = 0
        if reranker := _reranker(self, _NoModel()):
            calls += reranker.calls(min(candidates, self.depth))
        answering = _answering(self, _NoModel())
        return calls + (answering.calls(min(candidates, self.n_sources)) if answering else 0)

    def passages_read(self, candidates: int) -> int:
        """Return how many passages those calls read together, for their price."""
        depth, sources = min(candidates, self.depth), min(candidates, self.n_sources)
        read = 0
        if self.rerank_passes:
            spans = windows(depth, WINDOW, STRIDE)
            read += self.rerank_passes * sum(end - start for start, end in spans)
        if self.rating_prompt:
            read += depth
        if self.answering in IN_ONE_CALL:
            read += sources
        elif self.answering in (Answering.RIFER, Answering.EIFRP):
            read += self.calls(candidates)
        return read


@dataclass(frozen=True, slots=True)
class Made:
    """What a system made of one topic."""

    ranking: Ranking
    """Empty where it retrieves nothing."""
    answer: Answer | None
    """None where it only ranks."""
    steps: tuple[SystemStep, ...]
    retrieved: tuple[str, ...] = ()
    """Ids in their order before they were reranked; empty where nothing was."""


SourcesOf = Callable[[Sequence[str]], list[Source]]
"""The passages of these ids, in their order; those without a text are left out."""


def make(
    spec: SystemSpec, topic: Topic, candidates: Ranking, sources_of: SourcesOf, llm: TextModel | None
) -> Made:
    """Rerank the candidates and answer. Raises whatever the model raises where it cannot be asked.

    `llm` may be None for a spec that needs no model.
    """
    model = llm or _NoModel()
    sources = sources_of(candidates.doc_ids[: spec.depth])
    steps: tuple[SystemStep, ...] = ()
    retrieved: tuple[str, ...] = ()
    if reranker := _reranker(spec, model):
        retrieved = tuple(source.passage_id for source in sources)
        reranked = reranker.rerank(topic, sources)
        sources, steps = list(reranked.sources), reranked.steps
        candidates = reranked.ranking(candidates.run_tag, topic.query_id)
    answering = _answering(spec, model)
    if answering is None:
        return Made(candidates, None, steps, retrieved)
    answer = answering.answer(topic, sources[: spec.n_sources] if spec.reads_sources else [])
    return Made(candidates, answer, (*steps, *answer.steps), retrieved)


def _reranker(spec: SystemSpec, llm: TextModel) -> Reranker | None:
    if spec.rating_prompt:
        return PointwiseReranker(llm, rating_prompts()[spec.rating_prompt])
    return ListwiseReranker(llm, passes=spec.rerank_passes) if spec.rerank_passes else None


def _answering(spec: SystemSpec, llm: TextModel) -> AnswerSystem | None:
    match spec.answering:
        case Answering.NONE:
            return None
        case Answering.SENTENCES:
            return BestSentences(max_words=spec.max_words)
        case Answering.RAGNAROK:
            return Ragnarok(llm, spec.max_words)
        case Answering.SPANS:
            return SpanCiting(llm, spec.max_words)
        case Answering.RIFER | Answering.EIFRP:
            return key_facts.Rifer(llm, spec.max_words, enhanced=spec.answering is Answering.EIFRP)
        case _:
            return Prompted(llm, STYLES[spec.answering])


class _NoModel:
    """Stands where no model is asked."""

    def complete(self, messages: Sequence[tuple[str, str]]) -> str:
        raise AssertionError("a system without a model asked one")
