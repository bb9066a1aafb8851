"""A board by the grades of passages alone and by those in context, and the pairs that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from django.urls import reverse
from numpy.typing import NDArray

from grading.formats.tables import PrintedTable, TextCell, from_mappings
from grading.in_context import parts_of
from grading.statistics.mean_intervals import mean_intervals
from grading.types import MISSING
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Passage
from rubricweb.grades.engine.stages import Stages
from rubricweb.grades.human_matrices import ratings_by
from rubricweb.grades.in_context import AnswersInContext, CannotGradeInContext, config_in_context
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import NOTHING, Basis, basis, score_units
from rubricweb.leaderboards.comparison import number
from rubricweb.leaderboards.comparison.changes import item_keys

SHOWN = 40
"""Pairs of the list of what changed most."""
SHOWN_RUNS = 5
SHOWN_CHARS = 160
NONE = "\N{EN DASH}"
METHOD = (
    "both scores count the pairs graded alone and in context; 95 %: bootstrap-t interval of the mean "
    "difference over topics, as the board's"
)


@dataclass(frozen=True, slots=True)
class RunInContext:
    """A run on both sides; NaN where no topic counts, or without an interval."""

    run_tag: str
    alone: float
    in_context: float
    low: float
    high: float
    n_topics: int

    @property
    def difference(self) -> float:
        return self.in_context - self.alone

    @property
    def is_clear(self) -> bool:
        """Return whether the interval of the difference is off 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class ChangedPair:
    """A pair that is graded differently in context."""

    topic_id: int
    query_id: str
    uid: str
    row: int
    alone: int
    in_context: int
    is_crossing: bool
    """Whether it covers its item on one side only."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """A board alone and in context."""

    spec: BoardSpec
    base: Basis
    answers: AnswersInContext

    @classmethod
    def of(cls, spec: BoardSpec, max_words: int) -> Contexts:
        """Compare this board; raise CannotGradeInContext where its grader cannot be told what to rate."""
        if spec.bank is None:
            raise CannotGradeInContext("it labels whole passages")
        config_in_context(spec.config)
        base = basis(replace(spec, columns=()))
        return cls(spec, base, AnswersInContext(spec.collection, base.pool, max_words))

    @cached_property
    def sides(self) -> tuple[ScoredBoard, ScoredBoard]:
        """Return the board alone and in context, of the runs with answers."""
        pool, spec = self.answers.pool, self.base.spec
        alone = ratings_by(spec.source, spec.config, self.answers.alone)
        in_context = ratings_by(spec.source, config_in_context(spec.config), pool)
        pair = (
            Basis(spec, pool, grades, self.base.topic_items)
            for grades in self.answers.sides(alone, in_context)
        )
        first, second = (ScoredBoard(each, score_units(each, spec.measure)) for each in pair)
        return first, second

    @property
    def plan(self) -> Stages:
        """Return the pairs that lack a grade on either side."""
        bank, spec = self.spec.bank, self.spec
        if bank is None:  # `of` refuses it
            raise CannotGradeInContext("it labels whole passages")
        kinds = [str(kind) for kind in spec.kinds]
        return self.answers.plan(spec.config, bank.all_items.filter(kind__in=kinds))

    @property
    def pairs(self) -> tuple[int, int]:
        """Return how many pairs are graded on both sides, and how many there are."""
        alone = self.sides[0].base
        graded = total = 0
        for topic in alone.pool.topics:
            uids = alone.topic_items.get(topic.topic_id, NOTHING).uids
            ratings = alone.grades[topic.topic_id].matrix.columns(uids).ratings
            graded, total = graded + int((ratings != MISSING).sum()), total + ratings.size
        return graded, total

    @cached_property
    def rows(self) -> list[RunInContext]:
        """Return the runs, the largest gain first."""
        alone, in_context = (side.table.scores for side in self.sides)
        gains = in_context - alone
        has_interval = self.spec.measure.bootstraps_by_topic
        ends = mean_intervals(gains) if has_interval else None
        none = np.full(len(gains), np.nan)
        low, high = (none, none) if ends is None else (ends.low, ends.high)
        counts = ~np.isnan(gains)
        rows = [
            RunInContext(
                tag,
                _mean(alone[run], counts[run]),
                _mean(in_context[run], counts[run]),
                float(low[run]),
                float(high[run]),
                int(counts[run].sum()),
            )
            for run, tag in enumerate(self.sides[0].run_tags)
        ]
        return sorted(rows, key=lambda row: (-np.nan_to_num(row.difference), row.run_tag))

    @property
    def changed(self) -> list[ChangedPair]:
        """Return the pairs with another grade in context: first those that cover on one side only."""
        least = self.spec.measure.min_grade
        pairs: list[ChangedPair] = []
        alone, in_context = (side.base for side in self.sides)
        for topic in alone.pool.topics:
            uids = alone.topic_items.get(topic.topic_id, NOTHING).uids
            sides = (side.grades[topic.topic_id].matrix.columns(uids).ratings for side in (alone, in_context))
            before, after = sides
            for row, column in np.argwhere(before != after).tolist():
                ends = int(before[row, column]), int(after[row, column])
                crosses = (ends[0] >= least) != (ends[1] >= least)
                place = topic.topic_id, topic.query_id, uids[column], row
                pairs.append(ChangedPair(*place, *ends, crosses))
        return sorted(pairs, key=lambda pair: (not pair.is_crossing, -abs(pair.in_context - pair.alone)))

    def run_table(self) -> PrintedTable:
        lines = [
            (
                TextCell(row.run_tag),
                TextCell(_three(row.alone)),
                TextCell(_three(row.in_context)),
                TextCell(_three(row.difference, signed=True)),
                TextCell(_interval(row)),
                TextCell(str(row.n_topics)),
            )
            for row in self.rows
        ]
        heads = ("Run", "Isolated", "In context", "Difference", "95 %", "Topics")
        return PrintedTable("Runs in context", heads, tuple(lines), 1, (METHOD,), data=self._data())

    def _data(self) -> Any:  # as `from_mappings` returns it
        lines = [
            {
                "run_tag": row.run_tag,
                "isolated": _or_none(row.alone),
                "in_context": _or_none(row.in_context),
                "difference": _or_none(row.difference),
                "low": _or_none(row.low),
                "high": _or_none(row.high),
                "topics": row.n_topics,
            }
            for row in self.rows
        ]
        graded, total = self.pairs
        return from_mappings(
            lines,
            [
                *provenance.scored_statements(self.sides[0]),
                ("prompt in context", config_in_context(self.spec.config).prompt_name),
                ("words before a passage, at most", str(self.answers.max_words or "all")),
                ("pairs on both sides", f"{graded} of {total}"),
                ("interval", METHOD),
            ],
        )

    def pair_table(self) -> PrintedTable:
        """Return the pairs that changed most; each grade leads to its pair."""
        listed = self.changed[:SHOWN]
        texts = _PairTexts.of(self, listed)
        visible = [pair for pair in listed if (pair.topic_id, pair.uid) in texts.items]
        heads = ("Passage", "Item", "Topic", "Runs", "Isolated", "In context")
        lines = tuple(self._line(pair, texts) for pair in visible)
        return PrintedTable("Pairs that changed most", heads, lines, 4)

    def _line(self, pair: ChangedPair, texts: _PairTexts) -> tuple[TextCell, ...]:
        topic = self.answers.pool.by_topic[pair.topic_id]
        ranked = np.flatnonzero((topic.ranked_rows == pair.row).any(axis=1)).tolist()
        tags = [self.answers.pool.run_tags[run] for run in ranked]
        more = [f"and {len(tags) - SHOWN_RUNS} more"] if len(tags) > SHOWN_RUNS else []
        item = texts.keys.get((pair.topic_id, pair.uid))
        alone = self.answers.rows_alone(pair.topic_id)[pair.row]
        pks = self.answers.alone.by_topic[pair.topic_id].passage_pks[alone], topic.passage_pks[pair.row]
        links = ["", ""]
        if item and self.spec.bank:
            query = {"grader": self.spec.config.pk}
            places = ([self.spec.bank.pk, pair.topic_id, pk, item] for pk in pks)
            links = [reverse("review:cell", args=place, query=query) for place in places]
        text = texts.passages.get(pks[1], topic.doc_ids[pair.row])
        return (
            TextCell(text[:SHOWN_CHARS]),
            TextCell(texts.items[pair.topic_id, pair.uid]),
            TextCell(pair.query_id),
            TextCell(", ".join([*tags[:SHOWN_RUNS], *more])),
            TextCell(str(pair.alone), href=links[0]),
            TextCell(str(pair.in_context), href=links[1]),
        )


@dataclass(frozen=True, slots=True)
class _PairTexts:
    """The texts and keys of what a table of pairs shows, without secret items."""

    items: Mapping[tuple[int, str], str]
    keys: Mapping[tuple[int, str], int]
    passages: Mapping[int, str]

    @classmethod
    def of(cls, contexts: Contexts, pairs: list[ChangedPair]) -> _PairTexts:
        topics = {pair.topic_id for pair in pairs}
        wordings = ItemRevision.objects.filter(topic__in=topics).values_list("topic_id", "uid", "text")
        by_topic = contexts.answers.pool.by_topic
        pks = [by_topic[pair.topic_id].passage_pks[pair.row] for pair in pairs]
        texts = dict(Passage.objects.filter(pk__in=pks).values_list("pk", "text"))
        parts = {pk: parts_of(text) for pk, text in texts.items()}
        return cls(
            {(topic, uid): text or uid for topic, uid, text in wordings},
            item_keys(contexts.spec.bank),
            {pk: part.text if (part := parts[pk]) else text for pk, text in texts.items()},
        )


def _mean(scores: NDArray[np.float64], counts: NDArray[np.bool_]) -> float:
    return float(scores[counts].mean()) if counts.any() else float("nan")


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value


def _interval(row: RunInContext) -> str:
    return "" if np.isnan(row.low) else f"{_three(row.low, signed=True)} to {_three(row.high, signed=True)}"


def _three(value: float, *, signed: bool = False) -> str:
    return NONE if np.isnan(value) else number(value, signed=signed)
