from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from grading.statistics.panel import (
    FOLDS,
    PanelRule,
    cross_fitted_weights,
    effective_judges,
    error_weights,
    fold_of,
    panel_rating,
)

Errors = NDArray[np.float64]
NONE = None


def errors_of(random: Generator, *, judges: int, shared: float, cells: int) -> Errors:
    """Judges who repeat a common error with a chance of the root of `shared`, which is their correlation."""
    values = [-2.0, -1, 0, 0, 1]
    common = random.choice(values, (cells, 1))
    own = random.choice(values, (cells, judges))
    return np.where(random.random((cells, judges)) < np.sqrt(shared), common, own)


@pytest.mark.parametrize(
    ("rule", "votes", "rating"),
    [
        (PanelRule.MAJORITY, (5, 5, 0), 5),
        (PanelRule.MAJORITY, (5, 0), 0),  # a tie covers nothing
        (PanelRule.MAJORITY, (0, 4, 5), 4),  # all differ: the nearest to the median
        (PanelRule.MAJORITY, (0, 0, 5, 5, 4), 5),
        (PanelRule.MAJORITY, (NONE, 3, NONE), 3),
        (PanelRule.MEDIAN, (1, 5, 4, 0), 1),
        (PanelRule.MEDIAN, (1, 5, 4), 4),
        (PanelRule.FIRST, (2, 5, 5), 2),
        (PanelRule.FIRST, (NONE, 5, 5), 5),
    ],
)
def test_the_rules_are_as_stated(rule: PanelRule, votes: tuple[int | None, ...], rating: int) -> None:
    made = panel_rating(rule, votes)
    assert made is not None
    assert made.rating == rating


def test_nobody_voted_is_no_rating() -> None:
    assert panel_rating(PanelRule.MEDIAN, [None, None]) is None


def test_a_rating_does_not_depend_on_the_order_of_members_and_its_share_is_of_the_votes() -> None:
    for votes in product((None, 0, 3, 5), repeat=3):
        for rule in (PanelRule.MAJORITY, PanelRule.MEDIAN):
            made = {panel_rating(rule, order) for order in (votes, votes[::-1], (*votes[1:], votes[0]))}
            assert len(made) == 1
            (one,) = made
            given = [vote for vote in votes if vote is not None]
            assert (one is None) == (not given)
            assert one is None or one.share == round(given.count(one.rating) / len(given), 6)


def test_weights_without_any_voter_are_equal() -> None:
    made = panel_rating(PanelRule.WEIGHTS, [None, 4, 2], [1.0, 0.0, 0.0])
    assert made is not None
    assert (made.rating, made.share) == (2, 0.5)


def test_the_effective_number_is_right_in_the_worst_case_of_a_grid() -> None:
    """The number of independent judges whose mean errs as much, counted, not computed from correlations."""
    off = []
    for judges, shared in product((2, 3, 5, 9), (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)):
        errors = errors_of(
            default_rng([judges, int(shared * 10)]), judges=judges, shared=shared, cells=20_000
        )
        measured = effective_judges(errors, np.arange(len(errors)) % 40)
        truth = errors.var(axis=0).mean() / errors.mean(axis=1).var()
        exact = judges / (1 + (judges - 1) * shared)
        low, high = measured.interval.low, measured.interval.high
        assert shared == 1 or 1 <= low <= measured.effective <= high <= judges
        off.append(max(abs(measured.effective - truth) / truth, abs(measured.effective - exact) / exact))
    assert max(off) < 0.06


def test_members_who_never_err_or_err_apart_count_as_themselves() -> None:
    apart = np.array([[1.0, -1], [-1, 1]] * 10)
    assert effective_judges(apart, np.arange(20)).effective == 2.0
    assert effective_judges(np.zeros((20, 3)), np.arange(20)).effective == 3.0
    assert np.isnan(effective_judges(np.zeros((0, 3)), np.zeros(0, np.int64)).effective)


def test_weights_are_the_least_squared_error_among_all() -> None:
    random = default_rng(7)
    noise = random.normal(size=(4_000, 3)) * [0.5, 1.0, 1.0]
    errors = noise + random.normal(size=(4_000, 1)) * [0.0, 0.8, 0.8]
    learned = error_weights(errors)
    grid = [
        np.array([a, b, 1 - a - b]) for a in np.arange(0, 1.01, 0.05) for b in np.arange(0, 1.01 - a, 0.05)
    ]
    best = min(float(((errors @ weights) ** 2).mean()) for weights in grid)
    assert float(((errors @ learned) ** 2).mean()) <= best * 1.005
    assert learned.sum() == pytest.approx(1)
    assert (learned >= 0).all()


def test_weights_for_a_topic_have_not_read_its_ratings() -> None:
    queries = [f"t{number}" for number in range(40)]
    folds = np.array([fold_of(query) for query in queries])
    errors = default_rng(3).normal(size=(40, 3))
    weights = cross_fitted_weights(errors, folds)
    assert weights.shape == (FOLDS, 3)
    mine = folds[0]
    changed = np.where((folds == mine)[:, np.newaxis], 9.0, errors)
    assert (cross_fitted_weights(changed, folds)[mine] == weights[mine]).all()
    assert not (cross_fitted_weights(changed, folds)[(mine + 1) % FOLDS] == weights[(mine + 1) % FOLDS]).all()


def test_learned_weights_beat_the_majority_where_two_members_err_together() -> None:
    random = default_rng(11)
    truth = random.integers(0, 2, 6_000)
    flips = random.random((6_000, 4)) < [0.15, 0.15, 0.15, 0.30]
    flips[:, 1] = flips[:, 0]  # one opinion, counted twice
    votes = np.where(flips, 1 - truth[:, np.newaxis], truth[:, np.newaxis])
    weights = error_weights((votes - truth[:, np.newaxis])[:3_000].astype(np.float64)).tolist()
    right = {
        rule: np.mean([panel_rating(rule, row, weights).rating == true for row, true in tail])  # type: ignore[union-attr]
        for tail in [list(zip(votes[3_000:].tolist(), truth[3_000:].tolist(), strict=True))]
        for rule in (PanelRule.MAJORITY, PanelRule.WEIGHTS)
    }
    assert right[PanelRule.WEIGHTS] >= right[PanelRule.MAJORITY]
