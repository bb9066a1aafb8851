"""Correlations of many boards with one other, as a table; and all that is to know of one of its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from grading.measures.bootstrap import resamples
from grading.measures.rank_correlation import (
    COEFFICIENTS,
    NO_GRADES,
    Coefficient,
    Correlation,
    Cost,
    costliest,
    official_top,
    resampled,
)
from grading.measures.resampling import UNDEFINED, Interval, interval
from rubricweb.corpus.official import Official
from rubricweb.leaderboards.board.scored import Scored, scored
from rubricweb.leaderboards.meta.contenders import Contender
from rubricweb.leaderboards.meta.references import Reference, official_reference, reference

RESAMPLES = 1_000
NAMED_COSTS = 3
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is compared, and how."""

    reference: str
    measures: tuple[str, ...]
    min_relevant: int
    k: int | None = None
    """Compare the official top k only."""
    within: float = 0.05
    """So much below the best is as good (EXAM++ 5.1)."""
    board: Official | None = None
    """An official leaderboard that the collection does not hold; it takes the place of `reference`."""


@dataclass(frozen=True, slots=True)
class Found:
    """One cell of the table: a board's correlations, by coefficient; empty where the board has no meaning."""

    by: Mapping[Coefficient, Correlation]

    def value(self, coefficient: Coefficient) -> float | None:
        found = self.by.get(coefficient)
        return found.value if found else None


@dataclass(frozen=True, slots=True)
class MetaRow:
    contender: Contender
    found: tuple[Found, ...]
    """By measure."""


@dataclass(frozen=True, slots=True)
class DetailRow:
    """One board and measure with everything around its correlations."""

    contender: Contender
    against: str
    by: Mapping[Coefficient, tuple[Correlation, Interval]]
    costs: tuple[Cost, ...]
    """The runs whose place costs Kendall's tau most."""


def meta_rows(rows: Sequence[Contender], wanted: Wanted) -> list[MetaRow]:
    return [MetaRow(row, tuple(_found(row, name, wanted) for name in wanted.measures)) for row in rows]


def detail_rows(rows: Sequence[Contender], measure: str, wanted: Wanted) -> list[DetailRow]:
    """Of one measure: intervals over resampled topics, and the runs that cost most."""
    found = [_detail(row, measure, wanted) for row in rows]
    return [row for row in found if row is not None]


def _found(row: Contender, name: str, wanted: Wanted) -> Found:
    spec = row.spec(name)
    if spec is None:
        return Found({})
    made = scored(spec)
    return Found(_correlations(made, _their_values(_reference(made, wanted), wanted)))


def _reference(made: Scored, wanted: Wanted) -> Reference:
    if wanted.board:
        return official_reference(wanted.board)
    return reference(made.spec.collection, wanted.reference, made.spec.measure, wanted.min_relevant)


def _their_values(other: Reference, wanted: Wanted) -> Mapping[str, float]:
    return other.values if wanted.k is None else official_top(other.values, wanted.k)


def _correlations(made: Scored, theirs: Mapping[str, float]) -> dict[Coefficient, Correlation]:
    if made.is_ungraded:
        return {name: Correlation(None, 0, NO_GRADES) for name in Coefficient}
    ours = made.by_run
    return {name: correlate(ours, theirs) for name, correlate in COEFFICIENTS.items()}


def _detail(row: Contender, name: str, wanted: Wanted) -> DetailRow | None:
    spec = row.spec(name)
    if spec is None:
        return None
    made = scored(spec)
    other = _reference(made, wanted)
    theirs = _their_values(other, wanted)
    found = _correlations(made, theirs)
    both = {
        coefficient: (
            value,
            UNDEFINED if value.value is None else _interval(made, other, theirs, coefficient),
        )
        for coefficient, value in found.items()
    }
    is_void = found[Coefficient.KENDALL].value is None
    costs = [] if is_void else costliest(made.by_run, theirs, Coefficient.KENDALL)
    dearest = tuple(cost for cost in costs[:NAMED_COSTS] if cost.cost > 0)
    return DetailRow(row, other.label, both, dearest)


def _interval(
    made: Scored, other: Reference, theirs: Mapping[str, float], coefficient: Coefficient
) -> Interval:
    """Over topics: ours are resampled, and theirs with them where their board is made of topics too."""
    tags = [tag for tag in made.table.run_tags if tag in theirs]
    ours = _drawn_means(made.table.scores[_places(made.table.run_tags, tags)])
    if other.by_topic is None:
        values = np.array([theirs[tag] for tag in tags])
    else:
        values = _drawn_means(other.by_topic[_places(other.run_tags, tags)])
    return interval(resampled(ours, values, coefficient))


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
        np.divide(counts @ scores[:, counted].T, sizes, out=means, where=sizes > 0)
    # A resample's ties are those of equal sums: their last digits are noise.
    return np.round(means, 9)


@lru_cache(maxsize=4)
def _draws(n_topics: int) -> Floats:
    return resamples(n_topics, RESAMPLES).astype(np.float64)
