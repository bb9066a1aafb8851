"""Intervals of means: beside a plain loop, and by simulation."""

import numpy as np
import pytest

from grading.statistics.mean_intervals import mean_intervals, n_resamples, resamples

NAN = float("nan")


def test_the_interval_is_that_of_the_studentised_bootstrap_written_as_a_loop():
    values = np.array([0.1, 0.3, 0.2, 0.9, 0.4, 0.5, 0.35])
    n, mean = len(values), values.mean()
    statistics = []
    for drawn in resamples(n).astype(int):
        sample = np.repeat(values, drawn)
        spread = max(sample.std(), 0.3 * values.std())
        statistics.append(abs(sample.mean() - mean) / (spread / np.sqrt(n - 1)))
    half = np.quantile(statistics, 0.95) * values.std(ddof=1) / np.sqrt(n)
    found = mean_intervals(values[np.newaxis])
    assert (found.low[0], found.high[0]) == pytest.approx((mean - half, mean + half), abs=2e-4)
    assert 0 < found.error[0] < half / 10


def test_topics_that_a_row_lacks_are_left_out_of_it():
    values = np.array([0.1, NAN, 0.3, 0.2, NAN, 0.9, 0.4])
    alone = values[~np.isnan(values)]
    both = mean_intervals(np.array([values, [0.5, 0.4, 0.2, 0.6, 0.1, 0.0, 0.3]]))
    assert both.low[0] == mean_intervals(alone[np.newaxis]).low[0]
    assert not np.isnan(both.high).any()


@pytest.mark.parametrize("values", [[0.1, 0.9, 0.4, 0.2], [0.5] * 9, [NAN] * 9, [0.1, 0.9] + [NAN] * 7])
def test_few_topics_or_equal_scores_have_no_interval(values):
    assert np.isnan(mean_intervals(np.array([values]))).all()


@pytest.mark.parametrize("topics", [5, 8, 12])
@pytest.mark.parametrize(
    ("mean", "drawn"),
    [
        (0.4, lambda random, shape: random.binomial(20, random.beta(2, 3, shape)) / 20),
        (0.2, lambda random, shape: random.beta(0.5, 2, shape)),
    ],
    ids=["shares", "skewed"],
)
def test_intervals_of_few_topics_hold_the_true_mean(topics, mean, drawn):
    """The percentile bootstrap holds .81 to .93 here."""
    found = mean_intervals(drawn(np.random.default_rng(4), (600, topics)))
    held = (found.low <= mean) & (mean <= found.high)
    assert held[~np.isnan(found.low)].mean() >= 0.905


def test_intervals_of_many_topics_hold_the_true_mean_with_fewer_resamples():
    """Of 5,000 topics 4,000 resamples are drawn; one topic in fifty has a score."""
    topics, share = 5_000, 0.02
    assert n_resamples(topics) == len(resamples(topics)) == 4_000
    found = mean_intervals((np.random.default_rng(6).random((300, topics)) < share).astype(np.float64))
    held = (found.low <= share) & (share <= found.high)
    assert 0.92 <= held.mean() <= 0.98
    assert (found.error < 0.05 * (found.high - found.low)).all()
