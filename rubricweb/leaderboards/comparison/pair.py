"""Two runs of a board topic by topic, or one run beside the mean of all: what their page and files have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.urls import reverse

from grading.arrays import best_first
from grading.formats.tables import PrintedTable, TextCell, Value, from_mappings, number, row
from grading.topic_attributes import TopicSlice
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import rank_span
from rubricweb.corpus.models import Run, Topic
from rubricweb.corpus.official import scores_of_run
from rubricweb.leaderboards import comparison, plots
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard, certainty
from rubricweb.leaderboards.by_attribute import sliceable
from rubricweb.leaderboards.comparison import (
    Floats,
    RunComparison,
    TopicPair,
    compare_rows,
    mean_of_all,
    redrawn_means,
    topic_pairs,
)
from rubricweb.leaderboards.comparison.opened import Opened, opened_topic

ALL_RUNS = "mean of all runs"


@dataclass(frozen=True, slots=True)
class PairRow:
    pair: TopicPair
    text: str
    bar: plots.Bar


@dataclass(frozen=True, slots=True)
class PairGroup:
    """Topics with one value of an attribute, or all of them; with the means of A and B on them."""

    topics: TopicSlice | None
    rows: tuple[PairRow, ...]

    @property
    def means(self) -> tuple[float, float]:
        first, second = zip(*((row.pair.first, row.pair.second) for row in self.rows), strict=True)
        return float(np.mean(first)), float(np.mean(second))

    @property
    def difference(self) -> float:
        first, second = self.means
        return first - second


@dataclass(frozen=True, eq=False)
class Pair:
    """Run A beside run B, or beside the mean of all runs; `a` and `b` are rows of the table of scores."""

    scored: ScoredBoard
    a: int
    b: int | None

    @classmethod
    def of(cls, scored: ScoredBoard, a: int | None, b: int | None) -> Pair:
        """Take runs by their primary keys; without any, the first two of the board."""
        pks, order = scored.base.pool.run_pks, best_first(scored.mean_merits).tolist()
        if a is None:
            first = next(run for run in order if pks[run] != b)
            b = pks[order[1]] if b is None and len(order) > 1 else b
            return cls(scored, first, None if b is None else pks.index(b))
        return cls(scored, pks.index(a), None if b is None else pks.index(b))

    @property
    def a_pk(self) -> int:
        return self.scored.base.pool.run_pks[self.a]

    @property
    def b_pk(self) -> int | None:
        return None if self.b is None else self.scored.base.pool.run_pks[self.b]

    @property
    def a_tag(self) -> str:
        return self.scored.run_tags[self.a]

    @property
    def b_tag(self) -> str:
        return ALL_RUNS if self.b is None else self.scored.run_tags[self.b]

    @cached_property
    def theirs(self) -> Floats:
        """Return the scores of B, shape (topics,)."""
        return mean_of_all(self.scored) if self.b is None else self.scored.table.scores[self.b]

    @cached_property
    def comparison(self) -> RunComparison | None:
        return None if self.b is None else compare_rows(self.scored, self.a, self.b)

    @cached_property
    def topics(self) -> tuple[TopicPair, ...]:
        return topic_pairs(self.scored, self.scored.table.scores[self.a], self.theirs)

    @property
    def verdict(self) -> str:
        """Return the board's own sentence on this pair, or on this run."""
        if self.comparison is None:
            return comparison.verdict_on_run(self.scored, self.a)
        return comparison.verdict(self.comparison, self.a_tag, self.b_tag)

    @property
    def facts(self) -> str:
        sides = [pair.first for pair in self.topics], [pair.second for pair in self.topics]
        ours, theirs = (float(np.mean(side)) if side else np.nan for side in sides)
        if not self.topics:
            return ""
        if self.comparison is None:
            score = f"{comparison.number(ours)}{self._interval}"
            return f"{self._rank}{score}; {ALL_RUNS} {comparison.number(theirs)}."
        return comparison.scores_and_difference(self.comparison, ours, theirs)

    @property
    def _rank(self) -> str:
        ranks = self.scored.ranks
        if ranks is None or not ranks.can_tell:
            return ""
        return f"Rank {rank_span(*ranks.possible(self.a))} of {len(self.scored.run_tags)}; "

    @property
    def _interval(self) -> str:
        certain = certainty(self.scored.table.scores, self.scored.spec.test) if self.scored.ranks else None
        if certain is None or np.isnan(certain.intervals.low[self.a]):
            return ""
        ends = (
            comparison.number(float(side[self.a])) for side in (certain.intervals.low, certain.intervals.high)
        )
        return f", 95 % {' to '.join(ends)}"

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return how many topics are better for A, equal, and better for B."""
        sides = [plots.bar(pair.lead, 1.0).side for pair in self.topics]
        return sides.count("a"), sides.count("equal"), sides.count("b")

    @property
    def limit(self) -> float:
        return plots.limit_of([pair.lead for pair in self.topics])

    @property
    def ticks(self) -> list[plots.Tick]:
        return plots.symmetric_ticks(self.limit)

    @cached_property
    def rows(self) -> tuple[PairRow, ...]:
        texts, limit = self.texts, self.limit
        return tuple(PairRow(pair, texts[pair.topic_id], plots.bar(pair.lead, limit)) for pair in self.topics)

    @cached_property
    def texts(self) -> dict[int, str]:
        """Return the queries, by topic id."""
        return dict(_texts(self.scored.spec.collection.pk))

    @cached_property
    def distribution(self) -> plots.Distribution | None:
        """Return the mean lead of A by topics drawn anew; None where it has no interval."""
        pair = self.comparison
        if pair is None or not pair.has_interval:
            return None
        ends = (pair.low, pair.high) if pair.first == self.a_tag else (-pair.high, -pair.low)
        return plots.distribution(redrawn_means(np.array([row.lead for row in self.topics])), ends)

    def groups(self, attribute: str) -> list[PairGroup]:
        """Return the topics by their values of the attribute; those without one come last."""
        slices = sliceable(self.scored.spec.collection).get(attribute, [])
        if not slices:
            return [PairGroup(None, self.rows)]
        groups = [
            PairGroup(entry, tuple(row for row in self.rows if row.pair.query_id in entry.query_ids))
            for entry in slices
        ]
        listed = {query_id for entry in slices for query_id in entry.query_ids}
        groups.append(PairGroup(None, tuple(row for row in self.rows if row.pair.query_id not in listed)))
        return [group for group in groups if group.rows]

    def opened(self, query_id: str) -> Opened | None:
        """Return the topic of this id, or else the first of the list; None where no topic counts."""
        pair = next((row for row in self.topics if row.query_id == query_id), next(iter(self.topics), None))
        runs = [self.a] if self.b is None else [self.a, self.b]
        return opened_topic(self.scored, pair.topic_id, runs) if pair else None

    def steps(self, topic_id: int) -> tuple[str, str]:
        """Return the ids of the topics before and after this one in the list; empty at its ends."""
        ids = ["", *(pair.query_id for pair in self.topics), ""]
        at = next(place for place, pair in enumerate(self.topics, 1) if pair.topic_id == topic_id)
        return ids[at - 1], ids[at + 1]

    def sheet(self, grid_query: str = "") -> PrintedTable:
        """Return each topic that counts for both as a table; for one run with its official scores, too."""
        spec = self.scored.spec
        boards = scores_of_run(Run.objects.get(pk=self.a_pk)) if self.b is None else []
        best = self._best
        lines: list[dict[str, Value]] = []
        printed = []
        for entry in self.topics:
            further = [best[entry.unit]] if self.b is None else []
            official = [board.by_topic.get(entry.topic_id) for board in boards]
            name = f"{entry.query_id}: {self.texts[entry.topic_id]}".removesuffix(": ")
            href = ""
            if spec.bank:
                topic = reverse("review:topic", args=[spec.bank.pk, entry.topic_id], query={"view": "grid"})
                href = topic + grid_query.replace("?", "&", 1)
            cells = row(entry.first, entry.second, entry.difference, *further)
            printed.append(
                (TextCell(name, href=href), *cells, *(TextCell(number(value)) for value in official))
            )
            line: dict[str, Value] = {
                "topic": entry.query_id,
                self.a_tag: entry.first,
                self.b_tag: entry.second,
            }
            line |= dict(zip(("best of all runs",), further, strict=False))
            lines.append(line | dict(zip((board.label for board in boards), official, strict=True)))
        heads = (
            "Topic",
            self.a_tag,
            self.b_tag,
            "Difference",
            *(["Best of all runs"] if self.b is None else []),
        )
        return PrintedTable(
            f"{self.a_tag} and {self.b_tag} by topic, {provenance.measure_name(spec)}",
            (*heads, *(board.label for board in boards)),
            tuple(printed),
            comments=tuple(
                f"{board.label} is official, from {board.source}" for board in boards if board.source
            ),
            data=from_mappings(lines, provenance.scored_statements(self.scored)),
        )

    @property
    def _best(self) -> list[float | None]:
        merits = self.scored.merits
        highest = np.where(np.isnan(merits), -np.inf, merits).max(axis=0, initial=-np.inf)
        best = self.scored.spec.measure.merits(highest)
        return [value if np.isfinite(value) else None for value in best.tolist()]


@compiled_once
def _texts(collection: int) -> QuerySet[Topic, Any]:
    return Topic.objects.filter(collection=collection).values_list("pk", "text").order_by()


def bars_file(pair: Pair) -> str:
    """Return the plot of the differences as an SVG file."""
    rows = [(f"{row.pair.query_id}  {row.text}", row.pair.lead) for row in pair.rows]
    return plots.bars_file(f"{pair.a_tag} and {pair.b_tag} by topic", rows, (pair.a_tag, pair.b_tag))
