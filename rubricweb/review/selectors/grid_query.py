"""The grid's query: which passages and items, in which order, and whose ratings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.arrays import undefined_last
from grading.types import FAILED, MISSING, ItemKind
from rubricweb.grades.human_matrices import Source
from rubricweb.grades.raters import KINDS
from rubricweb.grades.topic_ratings import Mask
from rubricweb.review.selectors.layers import CheckedSheet
from rubricweb.review.selectors.window import GridColumn


def _any(cells: Mask) -> Mask:
    """Return a mask of the passages with any matching cell."""
    return np.asarray(cells.any(axis=1))


SHOWS: dict[str, tuple[str, Callable[[CheckedSheet], Mask]]] = {
    "all": ("all", lambda sheet: np.ones(len(sheet.judged), dtype=np.bool_)),
    "uncovered": ("relevant but not covered", lambda sheet: sheet.uncovered),
    "disagree": ("in conflict with the judgment", lambda sheet: sheet.disagree),
    "failed": ("with failed grades", lambda sheet: _any(sheet.graded == FAILED)),
    "missing": ("with missing grades", lambda sheet: _any(sheet.graded == MISSING)),
    "stale": ("graded for an earlier wording", lambda sheet: _any(sheet.stale)),
    "unsure": ("low confidence", lambda sheet: _any(sheet.unsure)),
    "overridden": ("overridden by people", lambda sheet: _any(sheet.overridden)),
    "checked": ("verified by people", lambda sheet: _any(sheet.checked)),
    "mine": ("rated by me", lambda sheet: _any(sheet.mine)),
    "ungraded-relevant": ("relevant but ungraded", lambda sheet: sheet.ungraded_relevant),
}
SORTS: dict[str, tuple[str, Callable[[CheckedSheet], NDArray[np.float64]]]] = {
    "pool": ("pool order", lambda sheet: np.zeros(len(sheet.judged))),
    "label": ("label", lambda sheet: sheet.labels.astype(float)),
    "disagreement": ("disagreement", lambda sheet: sheet.disagreement),
    "covered": ("items covered", lambda sheet: sheet.covers.sum(axis=1).astype(float)),
    "unsure": ("low confidence", lambda sheet: sheet.unsure.sum(axis=1).astype(float)),
}
ITEM_FILTERS: dict[str, tuple[str, Callable[[GridColumn], bool]]] = {
    "all": ("all", lambda column: True),
    "nobody": ("never covered", lambda column: column.is_covering_nobody),
    "spurious": ("misleading", lambda column: column.is_spurious),
    "unknown": ("without text", lambda column: not column.text),
}
ORDERS: dict[str, tuple[str, Callable[[GridColumn], float]]] = {
    "bank": ("rubric order", lambda column: 0.0),
    "spurious": ("most misleading first", lambda column: -undefined_last(column.spurious)),
    "covered": ("most covered first", lambda column: -undefined_last(column.covered)),
    "discrimination": (
        "least discriminating first",
        lambda column: -undefined_last(-column.discrimination),
    ),
}
GROUPS = {"judgment": "judgment", "none": "none"}
SOURCES = {
    Source.GRADER: "the grader",
    Source.HUMANS: "people",
    Source.CORRECTED: "the grader, corrected by people",
}


@dataclass(frozen=True, slots=True)
class GridQuery:
    """The part of a topic to show; every field is in the address."""

    groups: str = "judgment"
    """`judgment`: passages of one human judgment stand together, the most relevant first; or `none`."""
    sort: str = "pool"
    """Within a group."""
    show: str = "all"
    items: str = "all"
    order: str = "bank"
    kind: str = ""
    run: str = ""
    source: str = Source.GRADER.value
    version: int = 0
    """The number of a version of the bank; 0 for the bank as it is."""
    min_grade: int | None = None
    """The threshold; None for the one that the grader's prompts state."""
    rows: str = ""
    """`roomy` for passages with their runs; else compact."""
    page: int = 1
    columns: int = 1
    hidden: frozenset[int] = frozenset()
    """Items that the reader excluded."""
    at: tuple[int, int] | None = None
    """A passage and an item; the window that has them is shown, if the filters keep them."""

    @property
    def is_roomy(self) -> bool:
        return self.rows == "roomy"

    @property
    def kinds(self) -> tuple[ItemKind, ...]:
        return (ItemKind(self.kind),) if self.kind else KINDS
