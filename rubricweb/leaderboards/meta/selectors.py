"""Correlations of many boards with one other, as a table; and all that is to know of one of its measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide
from grading.statistics.bootstrap import resamples
from grading.statistics.rank_correlation import (
    NO_GRADES,
    Coefficient,
    Correlation,
    Cost,
    correlate,
    costliest,
    official_top,
    resampled,
)
from grading.statistics.resampling import ConfidenceInterval, interval
from grading.statistics.standing import Standing, standings
from rubricweb.corpus.official import Official
from rubricweb.leaderboards.board.items import items_stamp
from rubricweb.leaderboards.board.scored import Scored, scored
from rubricweb.leaderboards.meta.contenders import Contender
from rubricweb.leaderboards.meta.references import Reference, official_reference, reference

RESAMPLES = 1_000
NAMED_COSTS = 3
KEPT_DRAWS = 2_000
Floats = NDArray[np.float64]
NO_DRAWS: Floats = np.full(RESAMPLES, np.nan)


@dataclass(frozen=True, slots=True)
class MetaSpec:
    """What is compared, and how."""

    reference: str
    measures: tuple[str, ...]
    min_relevant: int
    k: int | None = None
    """Compare the official top k only."""
    within: float | None = None
    """So much below the best is as good (EXAM++ 5.2); None: where the intervals say so."""
    board: Official | None = None
    """A board that is not the collection's, in place of `reference`."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """One board and measure against another board; `by` is empty where the measure has no meaning."""

    by: Mapping[Coefficient, Correlation]
    draws: Mapping[Coefficient, Floats]
    """Shape (resamples,): over resampled topics."""
    against: str = ""
    ours: Mapping[str, float] = field(default_factory=dict)
    """Run tag -> score."""
    theirs: Mapping[str, float] = field(default_factory=dict)
    n_items: int = 0
    items_stamp: str = ""

    def value(self, coefficient: Coefficient) -> float | None:
        found = self.by.get(coefficient)
        return found.value if found else None

    def interval(self, coefficient: Coefficient) -> ConfidenceInterval:
        return interval(self.draws.get(coefficient, NO_DRAWS))

    @property
    def costs(self) -> tuple[Cost, ...]:
        """The runs whose place costs Kendall's tau most."""
        if self.value(Coefficient.KENDALL) is None:
            return ()
        costs = costliest(self.ours, self.theirs, Coefficient.KENDALL)
        return tuple(cost for cost in costs[:NAMED_COSTS] if cost.cost > 0)


@dataclass(frozen=True, slots=True, eq=False)
class MetaRow:
    contender: Contender
    found: tuple[Found, ...]
    """By measure."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrelationColumn:
    """A measure and a coefficient, over all rows."""

    measure: str
    coefficient: Coefficient
    found: tuple[Found, ...]
    standings: tuple[Standing | None, ...]

    @property
    def as_good(self) -> list[bool]:
        return [standing is not None and standing.is_as_good for standing in self.standings]


def meta_rows(
    rows: Sequence[Contender], wanted: MetaSpec, coefficients: Iterable[Coefficient] = Coefficient
) -> list[MetaRow]:
    """A row a contender, with these coefficients of each measure."""
    shown = tuple(coefficients)
    return [MetaRow(row, tuple(_found(row, name, wanted, shown) for name in wanted.measures)) for row in rows]


def column(
    rows: Sequence[MetaRow], place: int, coefficient: Coefficient, wanted: MetaSpec
) -> CorrelationColumn:
    """The measure in that place with each row's standing beside the best."""
    found = tuple(row.found[place] for row in rows)
    values = [one.value(coefficient) for one in found]
    draws = [one.draws.get(coefficient) for one in found]
    beside = tuple(standings(values, draws, within=wanted.within))
    return CorrelationColumn(wanted.measures[place], coefficient, found, beside)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Contenders against one board, with each one's standing by each measure and coefficient."""

    rows: Sequence[MetaRow]
    wanted: MetaSpec
    columns: Sequence[CorrelationColumn]

    def of(self, measure: str) -> list[CorrelationColumn]:
        return [one for one in self.columns if one.measure == measure]

    def wins(self, place: int) -> int:
        """The measures of which the row is best, or as good, by every coefficient."""
        measures = {one.measure for one in self.columns}
        return sum(all(one.as_good[place] for one in self.of(measure)) for measure in measures)


def compared(rows: Sequence[MetaRow], wanted: MetaSpec, shown: Iterable[Coefficient]) -> Comparison:
    coefficients = tuple(shown)
    columns = [
        column(rows, place, coefficient, wanted)
        for place in range(len(wanted.measures))
        for coefficient in coefficients
    ]
    return Comparison(rows, wanted, columns)


def _found(row: Contender, name: str, wanted: MetaSpec, shown: Sequence[Coefficient]) -> Found:
    spec = row.spec(name)
    if spec is None:
        return Found({}, {})
    made = scored(spec)
    if wanted.board:
        other = official_reference(wanted.board)
    else:
        other = reference(spec.collection, wanted.reference, spec.measure, wanted.min_relevant)
    theirs = other.values if wanted.k is None else official_top(other.values, wanted.k)
    found = _correlations(made, theirs, shown)
    draws: dict[Coefficient, Floats] = {}
    if spec.measure.bootstraps_by_topic:
        draws = {c: _draws_of(made, other, theirs, c) for c in shown if found[c].value is not None}
    items = made.base.items
    n_items, stamp = sum(len(uids) for uids in items.values()), items_stamp(made.base.pool, items)
    return Found(found, draws, other.label, made.by_run, theirs, n_items, stamp)


def _correlations(
    made: Scored, theirs: Mapping[str, float], shown: Sequence[Coefficient]
) -> dict[Coefficient, Correlation]:
    if made.is_ungraded:
        return {name: Correlation(None, 0, NO_GRADES) for name in shown}
    ours = made.by_run
    return {name: correlate(ours, theirs, name) for name in shown}


def _draws_of(
    made: Scored, other: Reference, theirs: Mapping[str, float], coefficient: Coefficient
) -> Floats:
    """Over topics: ours are resampled, and theirs with them where their board is made of topics too."""
    tags = [tag for tag in made.table.run_tags if tag in theirs]
    ours = made.table.scores[_places(made.table.run_tags, tags)]
    if other.by_topic is None:
        values, by_topic = np.array([theirs[tag] for tag in tags], dtype=np.float64), False
    else:
        values, by_topic = other.by_topic[_places(other.run_tags, tags)], True
    return _drawn(ours.tobytes(), values.tobytes(), len(tags), by_topic, coefficient)


@lru_cache(maxsize=KEPT_DRAWS)
def _drawn(ours: bytes, theirs: bytes, runs: int, by_topic: bool, coefficient: Coefficient) -> Floats:
    boards = _drawn_means(np.frombuffer(ours).reshape(runs, -1))
    values = np.frombuffer(theirs)
    against = _drawn_means(values.reshape(runs, -1)) if by_topic else values
    return resampled(boards, against, coefficient)


def _places(run_tags: Sequence[str], wanted: Sequence[str]) -> list[int]:
    place = {tag: number for number, tag in enumerate(run_tags)}
    return [place[tag] for tag in wanted]


def _drawn_means(scores: Floats) -> Floats:
    """Shape (resamples, runs): means over the same resampled topics of the collection for every board."""
    counted = ~np.isnan(scores).any(axis=0)
    counts = _draws(scores.shape[1])[:, counted]
    sizes = counts.sum(axis=1, keepdims=True)
    means: Floats = np.full((len(counts), len(scores)), np.nan)
    if counted.sum() > 1:  # one topic says nothing about others
        means = divide(counts @ scores[:, counted].T, sizes)
    # A resample's ties are those of equal sums: their last digits are noise.
    return np.round(means, 9)


@lru_cache(maxsize=4)
def _draws(n_topics: int) -> Floats:
    return resamples(n_topics, RESAMPLES).astype(np.float64)
