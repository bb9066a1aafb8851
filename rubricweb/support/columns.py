"""Weighted precision and recall as columns of a leaderboard, by names such as `support/precision`.

`support/` is the model that labelled last, or people where none did; `support-judge-7/` one model,
`support-people/` people. Names that end in `_all` judge up to three citations of a sentence, others one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.support.scores import JudgedCitations
from rubricweb.corpus.models import Collection
from rubricweb.support.board import scores_of
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


def score_table(
    collection: Collection, column: SupportColumn, runs: Sequence[int], topics: Sequence[int]
) -> NDArray[np.float64]:
    """Shape (runs, topics), in the order of these keys.

    NaN for topics on which no run has a score, for runs without any, and for answers without a label. A run
    that has scores and does not answer a topic has 0 there.
    """
    scores = scores_of(collection, column.rater, column.rule)
    table = np.full((len(runs), len(topics)), np.nan)
    unanswered = np.ones(table.shape, dtype=np.bool_)
    place = {topic: number for number, topic in enumerate(topics)}
    for row, run in enumerate(runs):
        for topic, score in scores.get(run, {}).items():
            if topic in place:
                table[row, place[topic]] = getattr(score, column.name)
                unanswered[row, place[topic]] = False
    is_known = ~np.isnan(table)
    counts = np.outer(is_known.any(axis=1), is_known.any(axis=0))
    return np.where(unanswered & counts, 0.0, table)
