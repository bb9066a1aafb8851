"""Resamples of topics, and marks of means."""

import numpy as np
import pytest

from grading.statistics.mean_intervals import marks, resamples

NAN = float("nan")


def test_resamples_draw_as_many_topics_as_there_are():
    drawn = resamples(30)
    assert drawn.shape == (10_000, 30)
    assert (drawn.sum(axis=1) == 30).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(30), abs=0.05)
    assert drawn.var(axis=0) == pytest.approx(np.full(30, 29 / 30), abs=0.1), "multinomial"


def test_marks_are_numpy_s_percentiles_without_undefined_means():
    found = marks(np.array([0.5, 0.1, NAN, 0.3]))
    assert (found.minimum, found.median, found.maximum) == (0.1, 0.3, 0.5)
    assert (found.upper_quarter, found.upper_15) == (0.4, 0.44)
    assert np.isnan(marks(np.array([NAN]))).all()
