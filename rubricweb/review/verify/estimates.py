"""How often a grader is right, by rating: estimated from the random share of what people checked, only.

Cells have a random order that was decided before anybody looked (`cells.TopicCells.keys`). The sample of any
set of cells is the beginning of its order, up to the first cell that nobody checked yet: who checks worst
first adds cells further down, and these do not count until the order reaches them. Cells that a campaign drew
at random from all of the bank's cells, and that somebody rated, belong to the sample too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.agreement import ENOUGH_CELLS
from grading.types import MAX_RATING, MISSING
from rubricweb.grades.topic_ratings import Mask
from rubricweb.review.verify.cells import BankCells

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `n`, with Wilson's interval."""

    count: int
    n: int

    @property
    def is_too_few(self) -> bool:
        return self.n < ENOUGH_CELLS

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        if not self.n:
            return None
        from scipy.stats import binomtest  # a second and a half that no process needs to start

        interval = binomtest(self.count, self.n).proportion_ci(LEVEL, method="wilson")
        return float(interval.low), float(interval.high)


@dataclass(frozen=True, slots=True)
class LevelRow:
    """What is known of the cells with one rating, and of those with this rating or more."""

    rating: int
    cells: int
    checked: int
    right: Share
    """Of the sample: people gave exactly this rating."""
    precision: Share | None
    """Of sampled cells rated this or more: the share that people rate so too."""
    recall: Share | None
    """Of sampled cells that people rate this or more: the share that the grader rates so too. None for 0."""


@dataclass(frozen=True, slots=True)
class PrecisionRecall:
    rows: tuple[LevelRow, ...]
    """Highest rating first."""
    cells: int
    checked: int
    sampled: int
    """Size of the random sample of all rated cells."""
    drawn: int
    """Cells of the sample that campaigns drew."""
    elsewhere: int
    """Checked cells that campaigns drew for other samples."""


@dataclass(frozen=True, eq=False)
class Population:
    """All rated cells in their random order."""

    graded: NDArray[np.int8]
    people: NDArray[np.int8]
    checked: Mask
    drawn: Mask

    @classmethod
    def of(cls, cells: BankCells) -> Population:
        order = np.argsort(cells.flat("keys"), kind="stable")
        return cls(
            cells.flat("graded")[order].astype(np.int8),
            cells.flat("people")[order].astype(np.int8),
            cells.flat("checked")[order].astype(np.bool_),
            cells.flat("drawn")[order].astype(np.bool_),
        )

    def sample(self, among: Mask) -> NDArray[np.int64]:
        """Return the positions of these cells' random sample."""
        places = np.flatnonzero(among)
        gaps = np.flatnonzero(~self.checked[places])
        is_sampled = self.drawn[places] & self.checked[places]
        is_sampled[: gaps[0] if gaps.size else len(places)] = True
        return places[is_sampled]

    def reaches(self, rating: int) -> Mask:
        """Whether people rate it so; a rating found wrong, without a right one, counts as the opposite."""
        reaches = self.people >= rating
        return np.asarray(np.where(self.people == MISSING, self.graded < rating, reaches))


def estimates(cells: BankCells, highest: int = MAX_RATING) -> PrecisionRecall:
    """Return what is known of the ratings from `highest`, the last of the grader's scale, down to 0."""
    population = Population.of(cells)
    everything = population.sample(np.ones(len(population.graded), dtype=np.bool_))
    rows = tuple(_row(population, rating, everything) for rating in range(highest, -1, -1))
    elsewhere, checked, drawn = (
        cells.flat(name).astype(np.bool_) for name in ("drawn_elsewhere", "checked", "drawn")
    )
    return PrecisionRecall(
        rows=rows,
        cells=len(population.graded),
        checked=int(population.checked.sum()),
        sampled=len(everything),
        drawn=int((population.drawn & population.checked).sum()),
        elsewhere=int((elsewhere & checked & ~drawn).sum()),
    )


def _row(population: Population, rating: int, everything: NDArray[np.int64]) -> LevelRow:
    graded, people = population.graded, population.people
    among = graded == rating
    sample = population.sample(among)
    precision = recall = None
    if rating:
        reaching, above = population.reaches(rating), population.sample(graded >= rating)
        precision = Share(int(reaching[above].sum()), len(above))
        reached = graded[everything][reaching[everything]] >= rating
        recall = Share(int(reached.sum()), len(reached))
    return LevelRow(
        rating=rating,
        cells=int(among.sum()),
        checked=int((among & population.checked).sum()),
        right=Share(int((people[sample] == rating).sum()), len(sample)),
        precision=precision,
        recall=recall,
    )
