"""Labels calibrated by people: monotone, by least squares, and none of a topic from its own ratings."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from grading.statistics import calibrated_labels as labels
from grading.statistics.calibration import RatedCells


def cells_of(random, *, topics=12):
    topic = np.repeat(np.arange(topics), 15)
    grades = random.integers(0, 6, len(topic))
    ratings = np.clip(np.rint(grades * 0.6 + random.normal(0, 1, len(topic))), 0, 5).astype(np.int64)
    return RatedCells(grades, ratings, topic)


def test_isotonic_regression_is_that_of_scipy():
    random = np.random.default_rng(1)
    weights = random.integers(1, 9, (200, 6)).astype(float)
    sums = random.normal(0, 2, (200, 6)) * weights
    fitted = labels.isotonic(sums, weights)
    expected = [isotonic_regression(s / w, weights=w).x for s, w in zip(sums, weights, strict=True)]
    np.testing.assert_allclose(fitted, expected, atol=1e-12)


def test_a_topics_own_ratings_never_make_its_labels():
    cells = cells_of(np.random.default_rng(2))
    maps = labels.label_maps(cells)
    lied = RatedCells(cells.grader, np.where(cells.topics == 3, 5, cells.human), cells.topics)
    assert labels.label_maps(lied).of(3) == maps.of(3)
    assert labels.label_maps(lied).usual != maps.usual
    for topic in range(12):
        others = cells.topics != topic
        alone = labels.label_maps(
            RatedCells(*(each[others] for each in (cells.grader, cells.human, cells.topics)))
        )
        assert alone.usual == maps.of(topic)


def test_labels_keep_the_order_of_grades_and_what_has_none():
    maps = labels.label_maps(cells_of(np.random.default_rng(3)))
    made = maps.labels(0, np.array([-1, 0, 1, 2, 3, 4, 5], dtype=np.int16)).tolist()
    assert made == [-1, *sorted(maps.of(0))]
    assert made[-1] < 5, "people rate lower than the grader"


@pytest.mark.parametrize("topics", [9, 3])
def test_too_few_ratings_are_refused_with_their_number(topics):
    with pytest.raises(labels.TooFewRatings, match=f"{15 * topics} pairs .* of {topics} topics: .* 50 pairs"):
        labels.label_maps(cells_of(np.random.default_rng(4), topics=topics))


def test_rows_say_what_a_grade_is_worth_within_an_interval():
    rows = labels.label_rows(cells_of(np.random.default_rng(5), topics=25), min_grade=3)
    assert [row.grade for row in rows] == [0, 1, 2, 3, 4, 5]
    for row in rows:
        assert row.label == int(row.expected.value + 0.5)
        assert row.expected.interval.low <= row.expected.value <= row.expected.interval.high
        assert 0 <= row.reached.interval.low <= row.reached.value <= row.reached.interval.high <= 1
    assert rows[0].reached.value < rows[5].reached.value
