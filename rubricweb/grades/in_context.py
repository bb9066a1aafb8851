"""Answers graded passage by passage with what each says before it, beside the grades of the passages alone.

A passage is known by its text and shared by runs, so that what comes before it is not one thing. A passage in
context is therefore one of its own, whose text has both parts (`grading.in_context`), in no pool: boards and
qrels do not change. Equal ones are the same passage and are paid once. The first passage of an answer has
nothing before it: it is the passage alone, with its grade. A response that was graded as a whole is cut into
sentences, which are in no pool either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from grading.errors import BadPrompt, GradingError
from grading.graders import PROMPT, GraderSpec, registry
from grading.in_context import InContext, in_context, parts_of, prompt_in_context
from grading.prompts import as_options
from grading.segmentation import PassagesOf, response_passages, sentences_of
from grading.types import FAILED, MISSING, GradeMatrix
from rubricweb.banks.models import ItemQuerySet
from rubricweb.corpus.models import Collection, Passage, Response
from rubricweb.corpus.topic_pools import CollectionPool, TopicPool, rankings_of, restamped
from rubricweb.grades.configs import config_draft, spec_of
from rubricweb.grades.engine.missing import Missing, missing_over
from rubricweb.grades.engine.stages import Stages, can_ask, staged
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import GraderConfig

CACHED = 8
AT_ONCE = 500
READ_AT_ONCE = 100
PASSAGES_OF = {PassagesOf.PARAGRAPH: PassagesOf.PARAGRAPH}
"""What a passage is of responses by what became one at the import; a sentence of all others."""
Ranked = dict[int, dict[int, tuple[str, ...]]]
"""Doc ids in context, by topic and run."""


class CannotGradeInContext(Exception):
    """The grader cannot be told which part of a passage to rate; the text says why."""


def config_in_context(config: GraderConfig) -> GraderConfig:
    """Return the same grader with its prompt in context, unsaved if new. Raises CannotGradeInContext."""
    if not can_ask(config):
        raise CannotGradeInContext("its grades came in a file, or its prompt has changed")
    spec, backend = spec_of(config), registry.BACKENDS[config.backend]
    if not backend.needs_model:
        raise CannotGradeInContext("it reads no prompt, which would tell it what to rate")
    try:
        prompt = prompt_in_context(spec.prompt)
        if not backend.asks(prompt):
            raise CannotGradeInContext("its back-end asks only prompts of its own")
        options = {**spec.options, PROMPT: as_options(prompt)}
        return config_draft(GraderSpec(spec.backend, spec.llm, prompt.prompt_class, options))
    except BadPrompt as error:
        raise CannotGradeInContext(str(error)) from error
    except GradingError as error:
        raise CannotGradeInContext(f"its back-end refuses the prompt: {error}") from error


@dataclass(frozen=True, slots=True)
class _Derived:
    """What follows from the responses alone: ids and lengths, without texts."""

    ranked: Ranked
    isolated: Mapping[str, str]
    """The doc id of the passage alone, by that in context."""
    chars: Mapping[str, int]


@lru_cache(maxsize=CACHED)
def _derived(stamp: int, runs: tuple[int, ...], topics: tuple[int, ...], max_words: int) -> _Derived:
    """Return what `_read` yields, in memory; the stamp changes with the responses."""
    ranked: Ranked = {}
    isolated: dict[str, str] = {}
    chars: dict[str, int] = {}
    for response, passages in _read(runs, topics, max_words):
        ids = {each.doc_id: each for each in passages}
        ranked.setdefault(response.topic_id, {})[response.run_id] = tuple(ids)
        isolated |= {doc_id: each.isolated_id for doc_id, each in ids.items()}
        chars |= {each.isolated_id: len(each.text) for each in passages}
        chars |= {doc_id: len(each.whole) for doc_id, each in ids.items()}
    return _Derived(ranked, isolated, chars)


def _read(
    runs: Iterable[int], topics: Iterable[int], max_words: int
) -> Iterator[tuple[Response, list[InContext]]]:
    rows = Response.objects.filter(run__in=list(runs), topic__in=list(topics))
    fields = rows.only("run_id", "topic_id", "sentences", "passages_of").order_by("topic_id", "run_id")
    for response in fields.iterator(chunk_size=READ_AT_ONCE):
        texts = [sentence["text"] for sentence in response.sentences]
        if response.is_one_text:
            texts = sentences_of(texts[0])
        kind = PASSAGES_OF.get(PassagesOf(response.passages_of), PassagesOf.SENTENCE)
        passages = dict.fromkeys(passage.text for passage in response_passages(texts, kind))
        yield response, list(in_context(list(passages), max_words))


@dataclass(frozen=True, eq=False)
class AnswersInContext:
    """The answers of the runs of a pool; runs without an answer are left out."""

    collection: Collection
    runs: CollectionPool
    max_words: int

    @cached_property
    def _derived(self) -> _Derived:
        topics = tuple(topic.topic_id for topic in self.runs.topics)
        return _derived(self.runs.stamp, self.runs.run_pks, topics, self.max_words)

    @cached_property
    def pool(self) -> CollectionPool:
        """Return the hypothetical pool of passages in context; what is not stored has a negative key."""
        return self._pool({doc_id: doc_id for doc_id in self._derived.isolated})

    @cached_property
    def alone(self) -> CollectionPool:
        """Return the pool of the same passages alone."""
        return self._pool(self._derived.isolated)

    def _pool(self, ids: Mapping[str, str]) -> CollectionPool:
        """Return the pool of what the ids in context stand for."""
        answering = {run for by_run in self._derived.ranked.values() for run in by_run}
        pairs = zip(self.runs.run_pks, self.runs.run_tags, strict=True)
        runs = {pk: tag for pk, tag in pairs if pk in answering}
        topics = []
        for topic in self.runs.topics:
            by_run = self._derived.ranked.get(topic.topic_id, {})
            ranks = [
                None if run not in by_run else tuple(dict.fromkeys(ids[doc_id] for doc_id in by_run[run]))
                for run in runs
            ]
            listed = tuple(dict.fromkeys(doc_id for of_run in ranks for doc_id in of_run or ()))
            scores = [
                None if of_run is None else tuple(map(float, range(len(of_run), 0, -1))) for of_run in ranks
            ]
            pks = tuple(self._keys[doc_id] for doc_id in listed)
            ranked = rankings_of(listed, ranks, scores)
            topics.append(TopicPool(topic.topic_id, topic.query_id, pks, listed, ranked))
        n_stored = sum(key > 0 for key in self._keys.values())
        stamp = restamped(
            self.runs.stamp, "in context", self.max_words, ids is self._derived.isolated, n_stored
        )
        return CollectionPool(self.runs.collection_id, stamp, (*runs.values(),), (*runs,), (*topics,))

    @cached_property
    def _keys(self) -> dict[str, int]:
        ids = list(self._derived.chars)
        keys = {doc_id: -number for number, doc_id in enumerate(ids, 1)}
        for first in range(0, len(ids), AT_ONCE):
            rows = Passage.objects.filter(collection=self.collection, doc_id__in=ids[first : first + AT_ONCE])
            keys |= dict(rows.values_list("doc_id", "pk"))
        return keys

    def is_alone(self, doc_id: str) -> bool:
        """Return whether nothing comes before the passage."""
        return self._derived.isolated[doc_id] == doc_id

    def rows_alone(self, topic_id: int) -> tuple[int, ...]:
        """Return the rows in `alone` of the topic's passages in context."""
        row_of = self.alone.by_topic[topic_id].row_of
        return tuple(
            row_of[self._derived.isolated[doc_id]] for doc_id in self.pool.by_topic[topic_id].doc_ids
        )

    def plan(self, config: GraderConfig, items: ItemQuerySet) -> Stages:
        """Return the missing pairs of both sides: passages in context, and alone.

        Raises CannotGradeInContext.
        """
        twin = config_in_context(config)
        pools = {config: self.alone, twin: self._with_context()}
        chars = {self._keys[doc_id]: n_chars for doc_id, n_chars in self._derived.chars.items()}

        def find(configs: Iterable[GraderConfig]) -> list[Missing]:
            return [
                replace(missing, chars=chars)
                for each in configs
                for missing in missing_over(self.collection, [each], pools[each], items)
            ]

        return staged(self.collection, (config, twin), find)

    def _with_context(self) -> CollectionPool:
        """Return the pool without passages that nothing comes before."""
        topics = []
        for topic in self.pool.topics:
            kept = [row for row, doc_id in enumerate(topic.doc_ids) if not self.is_alone(doc_id)]
            topics.append(topic.keeping(np.array(kept, dtype=np.intp)))
        return replace(self.pool, topics=tuple(topics))

    def store(self) -> AnswersInContext:
        """Store the passages, new ones in no pool, and return the same answers with their keys."""
        new: dict[str, str] = {}
        for _, passages in _read(self.runs.run_pks, self.runs.by_topic, self.max_words):
            for each in passages:
                new |= {each.isolated_id: each.text, each.doc_id: each.whole}
            if len(new) >= AT_ONCE:
                self._write(new)
                new = {}
        self._write(new)
        return replace(self)

    def _write(self, texts: Mapping[str, str]) -> None:
        rows = [Passage(collection=self.collection, doc_id=key, text=text) for key, text in texts.items()]
        Passage.objects.bulk_create(rows, ignore_conflicts=True)

    def sides(
        self, alone: Mapping[int, TopicGrades], twin: Mapping[int, TopicGrades]
    ) -> tuple[dict[int, TopicGrades], dict[int, TopicGrades]]:
        """Return the grades of the passages alone and in context over `pool`, by topic.

        The arguments are the grades over `alone`, and those of the prompt in context over `pool`. A pair
        counts only where both sides have a grade, so that the sides differ by the context alone.
        """
        pairs = {
            topic.topic_id: _both(
                alone[topic.topic_id],
                twin[topic.topic_id],
                self.rows_alone(topic.topic_id),
                tuple(map(self.is_alone, topic.doc_ids)),
            )
            for topic in self.pool.topics
        }
        return {pk: pair[0] for pk, pair in pairs.items()}, {pk: pair[1] for pk, pair in pairs.items()}


@lru_cache(maxsize=4_000)
def _both(
    alone: TopicGrades, twin: TopicGrades, rows: tuple[int, ...], are_alone: tuple[bool, ...]
) -> tuple[TopicGrades, TopicGrades]:
    uids = tuple(dict.fromkeys((*alone.matrix.item_ids, *twin.matrix.item_ids)))
    before = alone.matrix.columns(uids).outcomes[np.array(rows, dtype=np.intp)]
    is_first = np.array(are_alone, dtype=np.bool_)[:, np.newaxis]
    after = np.where(is_first, before, twin.matrix.columns(uids).outcomes)
    lacks = np.isin(before, (MISSING, FAILED)) | np.isin(after, (MISSING, FAILED))
    make = partial(GradeMatrix.of_outcomes, twin.pool.query_id, twin.pool.doc_ids, uids)
    first, second = (make(np.where(lacks, MISSING, side).astype(np.int8)) for side in (before, after))
    return TopicGrades(twin.pool, first), TopicGrades(twin.pool, second)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A run whose answer has a passage in this context, and the passage's rank there."""

    run_id: int
    rank: int


def occurrences(collection: Collection, topic_id: int, passage: Passage) -> list[Occurrence]:
    """Return where accepted runs say the passage, in its context where it has one."""
    parts = parts_of(passage.text) or InContext("", passage.text)
    runs = collection.runs.accepted().values_list("pk", flat=True)
    return [
        Occurrence(response.run_id, rank)
        for response, passages in _read(runs, [topic_id], 0)
        for rank, each in enumerate(passages, 1)
        if each.text == parts.text and _single_spaced(each.before).endswith(_single_spaced(parts.before))
    ]


def config_on(passage: Passage, config: GraderConfig) -> GraderConfig:
    """Return the config that grades this passage where `config` grades those of pools."""
    if parts_of(passage.text) is None:
        return config
    try:
        return config_in_context(config)
    except CannotGradeInContext:
        return config


def alone_of(passage: Passage) -> int:
    """Return the key of the same passage alone; the passage's own if nothing comes before it."""
    parts = parts_of(passage.text)
    if parts is None:
        return passage.pk
    rows = Passage.objects.filter(collection=passage.collection_id, doc_id=parts.isolated_id)
    return rows.values_list("pk", flat=True).first() or passage.pk


def _single_spaced(text: str) -> str:
    return " ".join(text.split())
