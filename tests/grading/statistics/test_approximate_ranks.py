"""Approximate official ranks: the rule by hand, and how often their intervals hold in simulations."""

import numpy as np
import pytest

from grading.statistics.max_t import MIN_TOPICS, pairwise_p
from grading.statistics.rank_intervals import approximate_ranks, competition_ranks, order

OFFICIAL = {"pash": 3.0, "bigIR": 27.0, "TUW": 34.0, "InL2": 44.0, "DoRA": 59.0}
OURS = {"pash": 0.738, "bigIR": 0.63, "wiki": 0.627, "TUW": 0.622, "InL2": 0.541, "DoRA": 0.113}


def better_of(tags, pairs):
    """Return the matrix in which the first of each pair is clearly ahead of the second."""
    better = np.zeros((len(tags), len(tags)), dtype=bool)
    for ahead, behind in pairs:
        better[tags.index(ahead), tags.index(behind)] = True
    return better


def test_the_rank_of_the_run_above():
    (placed,) = approximate_ranks(OURS, OFFICIAL)
    assert (placed.run_tag, placed.rank, placed.low, placed.high) == ("wiki", 27, None, None)
    assert placed.with_interval == "27"


def test_the_interval_ends_before_the_next_run_that_is_clearly_behind():
    better = better_of(list(OURS), [("pash", "wiki"), ("wiki", "InL2"), ("wiki", "DoRA")])
    (placed,) = approximate_ranks(OURS, OFFICIAL, better)
    assert (placed.low, placed.high, placed.with_interval) == (3, 43, "27 (3\N{EN DASH}43)")


def test_the_ends_of_the_board():
    """The best and the worst run; official runs without a score may stand on either side of the last one."""
    ours = {"top": 0.9, **OURS, "bottom": 0.0}
    nothing = np.zeros((len(ours), len(ours)), dtype=bool)
    top, _, bottom = approximate_ranks(ours, {**OFFICIAL, "unscored": 61.0}, nothing)
    assert (top.rank, top.low, top.high) == (1, 1, 61)
    assert (bottom.rank, bottom.low, bottom.high) == (59, 1, 61)
    all_behind = better_of(list(ours), [("top", tag) for tag in OURS])
    assert approximate_ranks(ours, OFFICIAL, all_behind)[0].interval == "1\N{EN DASH}2"


def test_equal_scores_and_shared_ranks():
    """A run that ties with another one is not behind it; tied official runs share the better rank."""
    official = competition_ranks({"a": 0.5, "b": 0.5, "c": 0.1})
    nothing = np.zeros((4, 4), dtype=bool)
    (placed,) = approximate_ranks({"a": 3.0, "new": 2.0, "b": 2.0, "c": 1.0}, official, nothing)
    assert (official, placed.rank) == ({"a": 1, "b": 1, "c": 3}, 1)


def test_no_ranks_from_two_runs_or_for_runs_without_a_score():
    assert approximate_ranks({"a": 1.0, "b": 0.5, "new": 0.7}, {"a": 1, "b": 2, "c": 3}) == []
    assert approximate_ranks({**OURS, "empty": float("nan")}, OFFICIAL)[0].run_tag == "wiki"


def true_rank(run, means, scored, ranks):
    """Return the official rank of the official run just ahead of a run by the true means."""
    ahead = [ranks[other] for other in scored if means[other] > means[run]]
    return max(ahead, default=1.0)


WORST = {
    "all equal": np.zeros(16),
    "two groups": np.repeat([0.0, 0.6], 8),
    "four groups": np.tile([0.0, 0.3, 0.6, 0.9], 4),
    "all different": np.linspace(0, 1.5, 16),
}


@pytest.mark.parametrize("means", WORST.values(), ids=WORST)
def test_all_intervals_of_a_board_hold_together(means):
    """Of 16 runs the track had 13, of which the collection has 10, and three are new.

    Runs differ in their spread over topics, which are few.
    """
    rng, boards, topics = np.random.default_rng(7), 200, 12
    means = rng.permutation(means)
    tags = [str(run) for run in range(16)]
    official = competition_ranks({tag: means[int(tag)] for tag in tags[:13]})
    ranks, spread = {int(tag): rank for tag, rank in official.items()}, rng.uniform(0.1, 0.5, size=16)
    seen = [*range(3, 13), 13, 14, 15]
    held = 0
    for _ in range(boards):
        scores = means[seen, None] + spread[seen, None] * rng.standard_normal((len(seen), topics))
        ours = dict(zip([tags[run] for run in seen], scores.mean(axis=1).tolist(), strict=True))
        better = order(scores.mean(axis=1), pairwise_p(scores)).better
        placed = approximate_ranks(ours, official, better)
        assert len(placed) == 3
        assert all(one.low <= one.rank <= one.high for one in placed)
        truth = {one.run_tag: true_rank(int(one.run_tag), means, range(13), ranks) for one in placed}
        held += all(one.low <= truth[one.run_tag] <= one.high for one in placed)
    assert held / boards >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / boards)


def test_many_topics_make_the_interval_narrow():
    rng = np.random.default_rng(3)
    means = np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.4])
    scores = means[:, None] + 0.05 * rng.standard_normal((6, 2 * MIN_TOPICS))
    ours = dict(zip("abcdez", scores.mean(axis=1).tolist(), strict=True))
    official = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
    (placed,) = approximate_ranks(ours, official, order(scores.mean(axis=1), pairwise_p(scores)).better)
    assert (placed.rank, placed.interval) == (3, "3")
