"""How a run is scored on a topic: what every measure states; the registry lists them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grading.types import MAX_RATING, USUAL_MIN_GRADE, Importance, Ratings

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int32]
"""Shape (runs, depth): row numbers of the rating matrix, best rank first; -1 = not in the matrix, or padding.
"""
Labels = NDArray[np.signedinteger[Any]]
"""A label below 0 is that of a passage that is pooled and not judged, or NOT_POOLED."""
NOT_POOLED = int(np.iinfo(np.int16).min)
"""Stands for the label of a passage that the judgments do not name, and for what is after a run's end."""
Weighed = tuple[Importance, float]
"""An item's importance, and its weight."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A whole number that a score depends on, with its range."""

    name: str
    lowest: int
    highest: int
    default: int
    meaning: str


MIN_GRADE = Parameter("min_grade", 1, MAX_RATING, USUAL_MIN_GRADE, "lowest grade that counts")
CUTOFF = Parameter("cutoff", 1, 100_000, 20, "how many passages of a run count")
MIN_ANSWERS = Parameter("min_answers", 1, 100_000, 1, "a passage's label is the best rating of so many items")
LABEL_PARAMETERS = MIN_GRADE, MIN_ANSWERS
"""Parameters of labels that are made of ratings."""


@dataclass(frozen=True, slots=True)
class NumberInName:
    """A number that is part of a measure's name, as trec_eval writes it: the 20 of `P_20`."""

    symbol: str
    pattern: str
    lowest: float
    highest: float
    decimals: int = 0

    def spelled(self, number: str) -> str | None:
        """Return the number as trec_eval writes it; None for one that is out of range.

        >>> K.spelled("05"), K.spelled("0"), RECALL_LEVEL.spelled(".1")
        ('5', None, '0.10')
        """
        is_number = re.fullmatch(self.pattern, number) is not None
        if not is_number or not self.lowest <= float(number) <= self.highest:
            return None
        return f"{float(number):.{self.decimals}f}"


K = NumberInName("K", "[0-9]+", CUTOFF.lowest, CUTOFF.highest)
RECALL_LEVEL = NumberInName("X", r"[01]|[01]?\.[0-9]+", 0, 1, decimals=2)
MULTIPLE = NumberInName("X", r"[0-9]{1,2}|[0-9]{0,2}\.[0-9]+", 0.005, 99.99, decimals=2)


class Threshold(StrEnum):
    """The source of the lowest grade that counts, where nobody names one."""

    PROMPT = "the prompt"
    NONE = "none: labels are gains"
    ANY = "none: any label counts"


@dataclass(frozen=True, slots=True)
class ShortName:
    """A measure with values of its parameters, such as `cover-5`; the threshold may be left open."""

    name: str
    cutoff: int = CUTOFF.default
    min_grade: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How a run is scored on a topic; a `MeasureSpec` adds the values of its parameters."""

    name: str
    """The name in addresses, commands and files; without its number, where it has one."""
    label: str
    """The name as people write it, without parameters."""
    denominator: str
    """What is divided by what; {min_grade} and {partial_grade} stand for the thresholds."""
    citation: str
    parameters: tuple[Parameter, ...]
    threshold: Threshold = Threshold.PROMPT
    short_names: Mapping[str, ShortName] = field(default_factory=dict)
    suggested: tuple[str, ...] = ()
    """The names that forms suggest."""
    less_is_better: bool = False
    """The best run has the lowest score."""
    bootstraps_by_topic: bool = True
    """A board's score is a mean over topics: resampled topics give its interval, paired tests its ranks."""
    plugin: str = ""
    """The distribution that brings it, with its version; empty for those of this package."""


@dataclass(frozen=True, slots=True, eq=False)
class GradedTopic:
    """What a measure of items is given."""

    ratings: Ratings
    """Shape (passages, items)."""
    ranked: Rows
    items: Sequence[Weighed]
    """Items by column of `ratings`."""
    cutoff: int = CUTOFF.default
    min_grade: int = MIN_GRADE.default
    doc_ids: Sequence[str] = ()
    """Document ids by row of `ratings`."""
    contradicted: Mask | None = None
    """Which cells say the contrary of their item, of the shape of `ratings`, which have 0 there."""
    questions: Sequence[str] = ()
    """The question that each item is an answer to, by column of `ratings`; empty: each item is its own."""

    @property
    def reach(self) -> dict[str, int]:
        """Return which passages and ratings count, as keyword arguments."""
        return {"cutoff": self.cutoff, "min_grade": self.min_grade}

    @property
    def weights(self) -> list[float]:
        return [weight for _, weight in self.items]


@dataclass(frozen=True, slots=True)
class Formula:
    """What a measure of items computes of a topic."""

    scores: Callable[[GradedTopic], Floats]
    """Shape (runs,); NaN where the score is 0 / 0."""
    denominator: str
    worths: Callable[[GradedTopic], Floats] | None = None
    """Shape (items,): what covering each item adds; None for a score that is no sum over items."""


@dataclass(frozen=True, slots=True)
class CellCredits:
    """How the score of a run with one passage a topic is a sum over cells."""

    credit: Callable[[Ratings, int], Floats]
    """The credit of ratings, by the threshold: 0 to 1, of the same shape."""
    worths: Callable[[GradedTopic], Floats]
    """Shape (items,): what a full credit adds to the score of the topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMeasure(Measure):
    """A measure of which items a run covers."""

    scores: Callable[[GradedTopic], Floats]
    worths: Callable[[GradedTopic], Floats] | None = None
    workbench: Formula | None = None
    """The published Workbench's definition; None where it has none."""
    parameters: tuple[Parameter, ...] = (CUTOFF, MIN_GRADE)
    is_of_vital: bool = False
    """It looks at vital items only."""
    has_estimate: bool = False
    """`statistics.cover_estimate` estimates what people's ratings of all cells would give."""
    cells: CellCredits | None = None
    """What `statistics.linear_estimate` needs for runs with one passage a topic."""

    @property
    def formula(self) -> Formula:
        return Formula(self.scores, self.denominator, self.worths)


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTopic:
    """What a measure of labels is given; runs are in trec_eval's order."""

    ranked: Labels
    """Shape (runs, depth): the labels of the passages of each run."""
    judged: Labels
    """Every label of the topic."""
    lengths: NDArray[np.signedinteger[Any]] | None = None
    """Shape (runs,): how many passages each run ranks, 0 where it lacks the topic; None for `depth` each."""
    level: int = 1
    """The lowest relevant label."""
    cutoff: int | None = None
    """The whole number in the measure's name."""
    share: float = 0
    """The decimal number in the measure's name."""

    @property
    def top(self) -> Labels:
        """Return the labels of the passages that count."""
        return self.ranked[:, : self.cutoff]

    @property
    def relevant(self) -> Mask:
        return np.asarray(self.top >= self.level)

    @property
    def n_ranked(self) -> NDArray[np.signedinteger[Any]]:
        """Return how many passages each run ranks, shape (runs,)."""
        return np.full(len(self.ranked), self.ranked.shape[1]) if self.lengths is None else self.lengths

    @property
    def n_relevant(self) -> int:
        return int((self.judged >= self.level).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMeasure(Measure):
    """A measure of the labels of the passages that a run ranks."""

    scores: Callable[[LabelledTopic], Floats]
    """Shape (runs,)."""
    is_share_of_first: bool = False
    """It is the share of relevant passages among the first k, so `statistics.linear_estimate` estimates it.
    """
    number: NumberInName | None = None
    parameters: tuple[Parameter, ...] = LABEL_PARAMETERS
