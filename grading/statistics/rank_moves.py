"""Whether runs change places between two boards by more than the noise of the topics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grading.statistics.uncertainty import mean_and_stderr

Floats = NDArray[np.float64]


def relative_gains(before: Floats, after: Floats) -> Floats:
    """Return an array of shape (runs, topics): what each run gains on the mean of all runs from one board to
    the other.

    Both boards, of shape (runs, topics), have the same runs and topics. Each is taken in units of the
    standard deviation of its runs' means, so that boards of different measures compare. A paired test of
    each row says whether its run changes its standing by more than the topics' noise. NaN where a board
    does not count the topic for the run.

    >>> before, after = np.array([[0.2, 0.4], [0.4, 0.6]]), np.array([[0.4, 0.8], [0.2, 0.6]])
    >>> relative_gains(before, after).round(2).tolist()
    [[2.0, 2.0], [-2.0, -2.0]]
    """
    return _standing(after) - _standing(before)


def _standing(scores: Floats) -> Floats:
    counted = ~np.isnan(scores)
    n = np.maximum(counted.sum(axis=0), 1)
    centred = scores - np.where(counted, scores, 0.0).sum(axis=0) / n
    means = mean_and_stderr(scores).mean
    known = means[~np.isnan(means)]
    spread = float(known.std()) if len(known) else 0.0
    return centred / spread if spread > 1e-12 else np.where(counted, 0.0, np.nan)
