"""The measures of the track, from the grades of what each run said on a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grading.arrays import take_rows
from grading.measures.base import Rows
from grading.measures.cover import cover, covered_items, weighted_cover
from grading.types import FAILED, MISSING, Ratings
from rubricweb.autojudge.items import WeighedItem
from rubricweb.autojudge.model import Graded
from rubricweb.autojudge.passages import Part

MEASURES: dict[str, tuple[type, str]] = {
    "NUGGET_COVERAGE": (float, "share of a topic's items with a grade of at least grade_threshold"),
    "WEIGHTED_COVERAGE": (float, "the same by the items' weights: vital 1, okay 0.5, avoid -1"),
    "COVERED_COUNT": (int, "items with a grade of at least grade_threshold"),
    "AVG_GRADE": (float, "mean over items of the best grade, 0 to 5"),
    "MAX_GRADE": (int, "the best grade of any item, 0 to 5"),
}
"""By name: its type on each topic, and its words."""
Values = dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class GradedReports:
    """The reports on one topic."""

    ratings: Ratings
    """Shape (passages, items)."""
    ranked: Rows
    """Shape (reports, longest): the passages of each."""
    weights: list[float]


def graded_reports(
    reports: Sequence[Sequence[Part]], items: Sequence[WeighedItem], graded: Graded
) -> GradedReports:
    """Return the matrix of a topic from the parts of its reports."""
    ids = dict.fromkeys(part.passage.passage_id for parts in reports for part in parts)
    rows = {passage_id: row for row, passage_id in enumerate(ids)}
    ratings = np.full((len(rows), len(items)), FAILED, dtype=np.int8)
    for column, one in enumerate(items):
        for passage_id, row in rows.items():
            grade = graded.get((one.item.item_id, passage_id))
            if grade is not None and grade.rating is not None:
                ratings[row, column] = grade.rating
    longest = max((len(parts) for parts in reports), default=0) or 1
    ranked = np.full((len(reports), longest), -1, dtype=np.int32)
    for place, parts in enumerate(reports):
        ranked[place, : len(parts)] = [rows[part.passage.passage_id] for part in parts]
    return GradedReports(ratings, ranked, [one.weight for one in items])


def best_grades(topic: GradedReports) -> Ratings:
    """Return, shape (reports, items), the best grade of any of a report's passages; 0 where none was read."""
    best: Ratings = take_rows(topic.ratings, topic.ranked, outside=MISSING).max(axis=1)
    return np.maximum(best, np.int8(0))


def values_of(topic: GradedReports, *, grade_threshold: int) -> list[Values]:
    """Return the measures of each report."""
    reach = {"cutoff": topic.ranked.shape[1], "min_grade": grade_threshold}
    best = best_grades(topic)
    columns = {
        "NUGGET_COVERAGE": cover(topic.ratings, topic.ranked, **reach),
        "WEIGHTED_COVERAGE": np.nan_to_num(
            weighted_cover(topic.ratings, topic.ranked, topic.weights, **reach)
        ),
        "COVERED_COUNT": covered_items(topic.ratings, topic.ranked, **reach).sum(axis=1),
        "AVG_GRADE": best.mean(axis=1),
        "MAX_GRADE": best.max(axis=1),
    }
    kinds = {name: kind for name, (kind, _) in MEASURES.items()}
    return [
        {name: kinds[name](column[place]) for name, column in columns.items()}
        for place in range(len(topic.ranked))
    ]
