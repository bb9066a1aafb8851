"""Answers graded passage by passage with what each says before it, beside the grades of the passages alone.

A passage is known by its text and shared by runs, so that what comes before it is not one thing. A passage in
context is therefore one of its own, whose text has both parts (`grading.in_context`), in no pool: boards and
qrels do not change. Equal ones are the same passage and are paid once. The first passage of an answer has
nothing before it: it is the passage alone, with its grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial

import numpy as np

from grading.errors import BadPrompt, GradingError
from grading.graders import registry
from grading.graders.base import PROMPT, GraderSpec
from grading.in_context import InContext, in_context, parts_of, prompt_in_context
from grading.prompts import as_options
from grading.types import FAILED, MISSING, GradeMatrix
from rubricweb.banks.models import ItemQuerySet
from rubricweb.corpus import convert
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
CUT = (Response.PassagesOf.SENTENCE, Response.PassagesOf.PARAGRAPH)
"""The responses that have several passages."""
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
def _derived(stamp: int, runs: tuple[int, ...], topics: tuple[int, ...], words: int) -> _Derived:
    """Return what `_read` yields, in memory; the stamp changes with the responses."""
    ranked: Ranked = {}
    isolated: dict[str, str] = {}
    chars: dict[str, int] = {}
    for response, passages in _read(runs, topics, words):
        ids = {each.doc_id: each for each in passages}
        ranked.setdefault(response.topic_id, {})[response.run_id] = tuple(ids)
        isolated |= {doc_id: each.isolated_id for doc_id, each in ids.items()}
        chars |= {doc_id: len(each.whole) for doc_id, each in ids.items()}
    return _Derived(ranked, isolated, chars)


def _read(
    runs: Iterable[int], topics: Iterable[int], words: int
) -> Iterator[tuple[Response, list[InContext]]]:
    rows = Response.objects.filter(run__in=list(runs), topic__in=list(topics), passages_of__in=CUT)
    fields = rows.only("run_id", "topic_id", "sentences", "passages_of").order_by("topic_id", "run_id")
    for response in fields.iterator(chunk_size=READ_AT_ONCE):
        texts = (passage.text for passage in convert.response_passages(response, ()))
        yield response, list(in_context(list(dict.fromkeys(texts)), words))


@dataclass(frozen=True, eq=False)
class AnswersInContext:
    """The answers of the runs of a pool; runs without an answer cut into passages are left out."""

    collection: Collection
    base: CollectionPool
    """The runs with their passages alone."""
    words: int

    @cached_property
    def _derived(self) -> _Derived:
        topics = tuple(topic.topic_id for topic in self.base.topics)
        return _derived(self.base.stamp, self.base.run_pks, topics, self.words)

    @cached_property
    def pool(self) -> CollectionPool:
        """Return the hypothetical pool of passages in context; what is not stored has a negative key."""
        answering = {run for by_run in self._derived.ranked.values() for run in by_run}
        pairs = zip(self.base.run_pks, self.base.run_tags, strict=True)
        runs = {pk: tag for pk, tag in pairs if pk in answering}
        keys = self._keys
        topics = [self._topic(topic, tuple(runs), keys) for topic in self.base.topics]
        n_stored = sum(key > 0 for key in keys.values())
        stamp = restamped(self.base.stamp, "in context", self.words, n_stored)
        return CollectionPool(self.base.collection_id, stamp, (*runs.values(),), (*runs,), (*topics,))

    def _topic(self, topic: TopicPool, runs: tuple[int, ...], keys: Mapping[str, int]) -> TopicPool:
        by_run = self._derived.ranked.get(topic.topic_id, {})
        ranks = [by_run.get(run) for run in runs]
        ids = tuple(dict.fromkeys(doc_id for of_run in ranks for doc_id in of_run or ()))
        scores = [None if ids is None else tuple(map(float, range(len(ids), 0, -1))) for ids in ranks]
        pks = tuple(keys[doc_id] for doc_id in ids)
        return TopicPool(topic.topic_id, topic.query_id, pks, ids, rankings_of(ids, ranks, scores))

    @cached_property
    def _keys(self) -> dict[str, int]:
        ids = list(self._derived.isolated)
        keys = {doc_id: -number for number, doc_id in enumerate(ids, 1)}
        for first in range(0, len(ids), AT_ONCE):
            rows = Passage.objects.filter(collection=self.collection, doc_id__in=ids[first : first + AT_ONCE])
            keys |= dict(rows.values_list("doc_id", "pk"))
        return keys

    def is_alone(self, doc_id: str) -> bool:
        """Return whether nothing comes before the passage."""
        return self._derived.isolated[doc_id] == doc_id

    def plan(self, config: GraderConfig, items: ItemQuerySet) -> Stages:
        """Return the missing pairs of both sides: passages in context, and alone.

        Raises CannotGradeInContext.
        """
        beside = config_in_context(config)
        pools = {config: self._alone(), beside: self._with_context()}

        def find(configs: Iterable[GraderConfig]) -> list[Missing]:
            return [
                replace(missing, chars=self._chars if asked == beside else {})
                for asked in configs
                for missing in missing_over(self.collection, [asked], pools[asked], items)
            ]

        return staged(self.collection, (config, beside), find)

    @cached_property
    def _chars(self) -> dict[int, int]:
        return {self._keys[doc_id]: n_chars for doc_id, n_chars in self._derived.chars.items()}

    def _with_context(self) -> CollectionPool:
        return replace(self.pool, topics=tuple(map(self._less, self.pool.topics)))

    def _less(self, topic: TopicPool) -> TopicPool:
        """Return the topic without passages that nothing comes before."""
        kept = [row for row, doc_id in enumerate(topic.doc_ids) if not self.is_alone(doc_id)]
        return topic.keeping(np.array(kept, dtype=np.intp))

    def _alone(self) -> CollectionPool:
        """Return the pool of the same passages alone, as far as they are in the runs' own pool."""
        topics = []
        for topic, own in zip(self.pool.topics, self.base.topics, strict=True):
            rows = sorted({row for row in self.rows_alone(topic, own) if row >= 0})
            topics.append(own.keeping(np.array(rows, dtype=np.intp)))
        return replace(self.base, topics=tuple(topics))

    def rows_alone(self, topic: TopicPool, own: TopicPool) -> tuple[int, ...]:
        """Return the row of each passage alone in the runs' own pool; -1 for one that is not in it."""
        return tuple(own.row_of.get(self._derived.isolated[doc_id], -1) for doc_id in topic.doc_ids)

    def store(self) -> AnswersInContext:
        """Store the passages in context, in no pool, and return the same answers with their keys."""
        new: dict[str, str] = {}
        for _, passages in _read(self.base.run_pks, self.base.by_topic, self.words):
            new |= {each.doc_id: each.whole for each in passages if each.before}
            if len(new) >= AT_ONCE:
                self._write(new)
                new = {}
        self._write(new)
        return replace(self)

    def _write(self, texts: Mapping[str, str]) -> None:
        rows = [Passage(collection=self.collection, doc_id=key, text=text) for key, text in texts.items()]
        Passage.objects.bulk_create(rows, ignore_conflicts=True)

    def sides(
        self, alone: Mapping[int, TopicGrades], beside: Mapping[int, TopicGrades]
    ) -> tuple[dict[int, TopicGrades], dict[int, TopicGrades]]:
        """Return the grades of the passages alone and in context over `pool`, by topic.

        `alone` has the grades over the runs' own pool, `beside` those of the prompt in context over `pool`. A
        pair counts only where both sides have a grade, so that the sides differ by the context alone.
        """
        pairs = {
            topic.topic_id: _both(
                alone[topic.topic_id],
                beside[topic.topic_id],
                self.rows_alone(topic, self.base.by_topic[topic.topic_id]),
                tuple(map(self.is_alone, topic.doc_ids)),
            )
            for topic in self.pool.topics
        }
        return {pk: pair[0] for pk, pair in pairs.items()}, {pk: pair[1] for pk, pair in pairs.items()}


@lru_cache(maxsize=4_000)
def _both(
    alone: TopicGrades, beside: TopicGrades, rows: tuple[int, ...], are_alone: tuple[bool, ...]
) -> tuple[TopicGrades, TopicGrades]:
    uids = tuple(dict.fromkeys((*alone.matrix.item_ids, *beside.matrix.item_ids)))
    of_pool = alone.matrix.columns(uids).outcomes
    padded = np.vstack([of_pool, np.full((1, len(uids)), MISSING, dtype=np.int8)])
    before = padded[np.array(rows, dtype=np.intp)]
    is_first = np.array(are_alone, dtype=np.bool_)[:, np.newaxis]
    after = np.where(is_first, before, beside.matrix.columns(uids).outcomes)
    lacks = np.isin(before, (MISSING, FAILED)) | np.isin(after, (MISSING, FAILED))
    make = partial(GradeMatrix.of_outcomes, beside.pool.query_id, beside.pool.doc_ids, uids)
    first, second = (make(np.where(lacks, MISSING, side).astype(np.int8)) for side in (before, after))
    return TopicGrades(beside.pool, first), TopicGrades(beside.pool, second)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A run whose answer has a passage in this context, and the passage's rank there."""

    run_id: int
    rank: int


def occurrences(collection: Collection, topic_id: int, passage: Passage) -> list[Occurrence]:
    """Return where accepted runs say the passage in its context, whatever the limit of words was."""
    parts = parts_of(passage.text)
    if parts is None:
        return []
    runs = collection.runs.accepted().values_list("pk", flat=True)
    return [
        Occurrence(response.run_id, rank)
        for response, passages in _read(runs, [topic_id], 0)
        for rank, each in enumerate(passages, 1)
        if each.text == parts.text and _words(each.before).endswith(_words(parts.before))
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


def _words(text: str) -> str:
    return " ".join(text.split())
