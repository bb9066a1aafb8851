"""Rubric-Cover and Rubric-Qrels: the papers' example, hand-worked tables, and plain loops."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from grading.measures.cover import UNJUDGED, LabelMode, cover, covered_items, labels, normalised_cover
from grading.types import FAILED, MISSING

# Workbench (Dietz 2024), Figure 1: three passages, five questions.
FIGURE_1 = np.array([[4, 4, 0, 0, 4], [5, 0, 0, 4, 4], [0, 0, 4, 0, 4]], dtype=np.int8)


def rows(*rankings):
    return np.array(rankings, dtype=np.int32)


def matrix(*passages):
    return np.array(passages, dtype=np.int8)


@st.composite
def topics(draw):
    """(ratings, ranked): a small topic with missing and failed cells, and runs with outside passages."""
    passages, items = draw(st.integers(0, 6)), draw(st.integers(0, 5))
    runs, depth = draw(st.integers(0, 4)), draw(st.integers(0, 7))
    ratings = draw(arrays(np.int8, (passages, items), elements=st.integers(FAILED, 5)))
    ranked = draw(arrays(np.int32, (runs, depth), elements=st.integers(-1, passages - 1)))
    return ratings, ranked


def test_figure_1_covers_five_of_five():
    assert cover(FIGURE_1, rows([0, 1, 2])).tolist() == [1.0]
    assert cover(FIGURE_1, rows([0, 1, 2]), min_grade=5).tolist() == [0.2]


def test_the_cutoff_counts_passages():
    assert cover(FIGURE_1, rows([0, 2, 1]), cutoff=1).tolist() == [0.6]
    assert cover(FIGURE_1, rows([0, 2, 1]), cutoff=2).tolist() == [0.8]
    assert cover(FIGURE_1, rows([0, 2, 1]), cutoff=3).tolist() == [1.0]
    with pytest.raises(ValueError, match="expected 1 or more"):
        cover(FIGURE_1, rows([0]), cutoff=0)


def test_an_outside_passage_takes_a_place_and_covers_nothing():
    assert cover(FIGURE_1, rows([-1, 1], [-1, -1]), cutoff=1).tolist() == [0.0, 0.0]
    assert cover(FIGURE_1, rows([-1, 1], [-1, -1]), cutoff=2).tolist() == [0.6, 0.0]


def test_missing_and_failed_cover_nothing_even_at_grade_zero():
    ratings = matrix([MISSING, FAILED, 0])
    assert covered_items(ratings, rows([0]), min_grade=0).tolist() == [[False, False, True]]


def test_a_topic_without_items_is_undefined():
    assert np.isnan(cover(np.zeros((2, 0), np.int8), rows([0], [1]))).all()
    assert np.isnan(normalised_cover(matrix([3, 3]), rows([0]))).all(), "no passage reaches the grade"


def test_normalised_cover_divides_by_what_the_pool_reaches():
    ratings = matrix([4, 0, 0, 0], [0, 5, 0, 0], [0, 0, 3, 0])
    assert normalised_cover(ratings, rows([0, 2], [0, 1])).tolist() == [0.5, 1.0]


@given(topics(), st.integers(1, 8), st.integers(0, 5))
def test_cover_is_what_a_plain_loop_says(topic, cutoff, min_grade):
    ratings, ranked = topic
    passages, items = ratings.shape
    reachable = {i for p in range(passages) for i in range(items) if ratings[p, i] >= min_grade}
    found = cover(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    normalised = normalised_cover(ratings, ranked, cutoff=cutoff, min_grade=min_grade)
    for run, ranking in enumerate(ranked.tolist()):
        top = [row for row in ranking[:cutoff] if row >= 0]
        covered = {i for row in top for i in range(items) if ratings[row, i] >= min_grade}
        assert np.isclose(found[run], len(covered) / items if items else np.nan, equal_nan=True)
        expected = len(covered) / len(reachable) if reachable else np.nan
        assert np.isclose(normalised[run], expected, equal_nan=True)


def test_figure_1_labels():
    assert labels(FIGURE_1).tolist() == [4, 5, 4]
    assert labels(FIGURE_1, mode=LabelMode.BINARY, min_grade=5).tolist() == [0, 1, 0]
    assert labels(FIGURE_1, mode=LabelMode.COUNT).tolist() == [3, 3, 2]


@pytest.mark.parametrize(
    ("min_answers", "highest", "binary"),
    [(1, [5, 4, 0], [1, 1, 0]), (2, [4, 0, 0], [1, 0, 0]), (3, [1, 0, 0], [0, 0, 0]), (4, [0] * 3, [0] * 3)],
)
def test_min_answers_takes_the_mth_highest_rating(min_answers, highest, binary):
    ratings = matrix([4, 5, 1], [MISSING, 4, FAILED], [0, 0, 0])
    assert labels(ratings, min_answers=min_answers).tolist() == highest
    assert labels(ratings, mode=LabelMode.BINARY, min_answers=min_answers).tolist() == binary


def test_graded_zero_is_judged_and_failed_is_not():
    ratings = matrix([0, MISSING], [FAILED, MISSING], [MISSING, MISSING])
    for mode in LabelMode:
        assert labels(ratings, mode=mode).tolist() == [0, UNJUDGED, UNJUDGED]
    with pytest.raises(ValueError, match="expected 1 or more"):
        labels(ratings, min_answers=0)


@given(topics(), st.integers(1, 5), st.integers(1, 7))
def test_labels_are_what_a_plain_loop_says(topic, min_grade, min_answers):
    ratings, _ = topic
    arguments = {"min_grade": min_grade, "min_answers": min_answers}
    found = {mode: labels(ratings, mode=mode, **arguments).tolist() for mode in LabelMode}
    for passage, row in enumerate(ratings.tolist()):
        rated = sorted((rating for rating in row if rating >= 0), reverse=True)
        highest = rated[min_answers - 1] if len(rated) >= min_answers else 0
        expected = (highest, int(highest >= min_grade), sum(rating >= min_grade for rating in rated))
        seen = tuple(found[mode][passage] for mode in (LabelMode.MAX, LabelMode.BINARY, LabelMode.COUNT))
        assert seen == (expected if rated else (UNJUDGED,) * 3)
