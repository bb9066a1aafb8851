"""As good as the best: by the interval of the paired difference."""

import numpy as np

from grading.statistics.rank_intervals import standings

RANDOM = np.random.default_rng(5)


def test_wide_intervals_leave_open_what_a_fixed_distance_would_decide():
    """.510 [.15, .69] against .330 [-.09, .63]: nearly 0.2 apart, and not to be told apart."""
    best, other = 0.51 + RANDOM.normal(0, 0.14, 1_000), 0.33 + RANDOM.normal(0, 0.18, 1_000)
    assert [one.is_as_good for one in standings([0.51, 0.33], [best, other], topics=25)] == [True, True]
    assert [one.is_as_good for one in standings([0.51, 0.33], [best, other], topics=25, within=0.05)] == [
        True,
        False,
    ]


def test_paired_resamples_tell_apart_what_overlaps():
    """Each interval is wide, since the topics differ much; on the same topics one is always ahead."""
    shared = RANDOM.normal(0, 0.2, 1_000)
    best, other = 0.60 + shared, 0.57 + shared + RANDOM.normal(0, 0.005, 1_000)
    first, second = standings([0.60, 0.57], [best, other], topics=25)
    assert (first.is_best, second.is_as_good) == (True, False)
    assert 0.01 < second.interval.low < second.behind < second.interval.high < 0.05


def test_without_intervals_only_the_best_is_as_good():
    empty = np.full(1_000, np.nan)
    found = standings([0.5, 0.5, 0.499, None], [empty, empty, empty, None], topics=25)
    assert [one.is_as_good if one else None for one in found] == [True, True, False, None]
    assert standings([None, None], [None, None], topics=25) == [None, None]


def test_resamples_that_are_never_defined_together_tell_nothing():
    draws = np.random.default_rng(2).normal(size=(2, 100))
    draws[0, :50] = draws[1, 50:] = np.nan
    best, other = standings([0.9, 0.1], list(draws), topics=9)
    assert (best.is_as_good, other.is_as_good, other.interval.is_defined) == (True, True, False)


def test_equally_good_graders_are_rarely_called_behind_by_eight_topics():
    """Without a wider spread for few topics one is on every eighth table."""
    random, wrong = np.random.default_rng(6), 0
    drawn = random.multinomial(8, np.full(8, 1 / 8), size=400) / 8
    for _ in range(150):
        topics = random.normal(0.5, 0.2, (4, 8))
        found = standings(topics.mean(axis=1).tolist(), list(topics @ drawn.T), topics=8)
        wrong += not all(one.is_as_good for one in found)
    assert wrong / 150 <= 0.1
