"""Weighted precision and recall as columns of a leaderboard, by names such as `support/precision`.

`support/` is the model that labelled last, or people where none did; `support-judge-7/` one model,
`support-people/` people. Names that end in `_all` judge up to three citations of a sentence, others one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.support import JudgedCitations
from rubricweb.corpus.models import Collection
from rubricweb.support.board import score_table, scores_of
from rubricweb.support.labels import SupportRater, raters

SOURCE = "support"
NAMES = ("precision", "recall")
SUFFIXES = {"": JudgedCitations.FIRST, "_all": JudgedCitations.ALL}
SCORES = {f"{name}{suffix}": (name, rule) for name in NAMES for suffix, rule in SUFFIXES.items()}
"""By the name after the slash: which score, and which citations are judged."""
CITATIONS = {
    JudgedCitations.FIRST: "the first citation of each sentence",
    JudgedCitations.ALL: "up to three citations of each sentence",
}
DENOMINATORS = {"precision": "labelled citations", "recall": "sentences"}


class UnknownColumn(Exception):
    """No score of support has this name. The text says which there are."""


@dataclass(frozen=True, slots=True)
class SupportColumn:
    """A score of support."""

    name: str
    """`precision` or `recall`."""
    rule: JudgedCitations
    rater: SupportRater

    @property
    def whose(self) -> str:
        return str(self.rater.judge or "people")

    @property
    def label(self) -> str:
        citations = "" if self.rule is JudgedCitations.FIRST else ", all citations"
        return f"Support {self.name}{citations} by {self.whose}"

    @property
    def stated(self) -> str:
        """Everything that it depends on, in words."""
        return f"labels of support by {self.whose}, {CITATIONS[self.rule]}"

    @property
    def denominator(self) -> str:
        return f"credit (full 1, partial 0.5) / {DENOMINATORS[self.name]}"


def is_source(source: str) -> bool:
    """Whether what stands before the slash names labels of support."""
    return source == SOURCE or source.startswith(f"{SOURCE}-")


def find(collection: Collection, source: str, name: str) -> SupportColumn:
    """Raises UnknownColumn."""
    if name not in SCORES:
        raise UnknownColumn(f"support has no {name!r}; there are {', '.join(SCORES)}")
    known = {rater.key: rater for rater in raters(collection)}
    key = source.removeprefix(SOURCE).removeprefix("-") or next(iter(known))
    if key not in known:
        there = ", ".join(f"{SOURCE}-{key} ({rater.name})" for key, rater in known.items())
        raise UnknownColumn(f"no {source} with labels here; there are {there}")
    score, rule = SCORES[name]
    return SupportColumn(score, rule, known[key])


def column_names(rater: SupportRater, rule: JudgedCitations) -> str:
    """Of both scores, with a comma between."""
    names = (f"{SOURCE}-{rater.key}/{name}" for name, (_, judged) in SCORES.items() if judged is rule)
    return ",".join(names)


def score_column(
    collection: Collection, column: SupportColumn, runs: Sequence[int], topics: Sequence[int]
) -> NDArray[np.float64]:
    """Return `board.score_table` of a column, shape (runs, topics), in the order of these keys."""
    return score_table(scores_of(collection, column.rater, column.rule), runs, topics, column.name)
