"""A board without each item, and who depends on one: against computing the board anew."""

import numpy as np
import pytest
from scipy import stats

from grading.measures.cover import cover
from grading.statistics.influence import Dependent, dependents, influences, means_without

RATINGS = np.array([[5, 0, 0], [0, 4, 0], [0, 0, 4], [4, 4, 0]], dtype=np.int8)
RANKED = np.array([[0, 1], [3, 2], [2, -1]], dtype=np.int32)


def test_means_without_an_item_are_those_of_the_board_without_it():
    other = np.array([[0.2], [0.4], [0.9]])
    table = np.column_stack([cover(RATINGS, RANKED), other])
    without = np.stack([cover(np.delete(RATINGS, item, axis=1), RANKED) for item in range(3)])
    found = means_without(table, 0, without)
    anew = [
        np.column_stack([cover(np.delete(RATINGS, item, axis=1), RANKED), other]).mean(axis=1)
        for item in range(3)
    ]
    np.testing.assert_allclose(found, anew)
    effects = influences(table.mean(axis=1), found)
    assert effects[2].tau == pytest.approx(stats.kendalltau(table.mean(axis=1), anew[2]).statistic)
    assert effects[2].mean_change == pytest.approx((anew[2] - table.mean(axis=1)).mean())


def test_a_topic_without_its_only_item_leaves_the_mean():
    table = np.array([[1.0, 0.5, np.nan], [0.0, 0.25, np.nan]])
    assert means_without(table, 0, np.full((1, 2), np.nan)).tolist() == [[0.5, 0.25]]
    assert np.isnan(means_without(table[:, :1], 0, np.full((1, 2), np.nan))).all()


def test_who_depends_on_one_item():
    board = np.array([0.9, 0.8, 0.7, 0.1])
    without = np.array([[0.9, 0.8, 0.7, 0.1], [0.6, 0.8, 0.7, 0.1], [0.9, 0.6, 0.7, 0.1]])
    assert dependents(board, without) == [
        Dependent(run=0, item=1, before=1, after=3),
        Dependent(run=1, item=1, before=2, after=1),
        Dependent(run=2, item=1, before=3, after=2),
    ]
    assert [effect.largest_move for effect in influences(board, without)] == [0, 2, 1]
    assert [effect.n_swapped for effect in influences(board, without)] == [0, 2, 1]
    assert dependents(board, np.zeros((0, 4))) == []
    assert dependents(np.zeros(0), np.zeros((2, 0))) == []


def test_a_board_that_an_item_ties_has_no_tau():
    assert influences(np.array([0.3, 0.2, 0.1]), np.array([[0.5, 0.5, 0.5]]))[0].tau is None
