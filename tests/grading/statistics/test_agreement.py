"""Kappa and alpha against the tables of papers, plain loops and scipy's bootstrap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from grading.statistics.agreement import (
    binarised,
    bootstrapped,
    cell_kappas,
    cohen_kappa,
    coincidences,
    contingency,
    ordinal_alpha,
    weighted_kappa,
)
from grading.statistics.resampling import interval

DL20 = np.array(
    [
        [64, 87, 80, 276],
        [325, 522, 720, 1301],
        [23, 35, 61, 255],
        [14, 54, 120, 299],
        [4, 14, 17, 75],
        [216, 308, 942, 5574],
    ]
)
"""RUBRIC on DL 2020: grades 5 to 0 by judgments 3 to 0 (the graded table of the ICTIR paper)."""

KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
        [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
    ]
)
"""The four observers and twelve units of "Computing Krippendorff's Alpha-Reliability" (2011), section C."""

squares = st.lists(st.lists(st.integers(0, 20), min_size=3, max_size=3), min_size=3, max_size=3).map(np.array)


def plain_kappa(table):
    """By definition, from a list of pairs."""
    pairs = [(i, j) for i, row in enumerate(table) for j, n in enumerate(row) for _ in range(int(n))]
    n = len(pairs)
    seen = sum(i == j for i, j in pairs) / n
    by_chance = sum(
        sum(i == c for i, _ in pairs) / n * sum(j == c for _, j in pairs) / n for c in range(len(table))
    )
    return (seen - by_chance) / (1 - by_chance)


def test_published_kappas():
    assert cohen_kappa(np.array([[998, 2377], [668, 7343]])) == pytest.approx(0.25, abs=0.005)
    assert cohen_kappa(np.array([[1211, 4095], [455, 5625]])) == pytest.approx(0.16, abs=0.005)
    assert cohen_kappa(np.array([[1272, 3492], [394, 6228]])) == pytest.approx(0.23, abs=0.005)
    assert cohen_kappa(np.array([[1910, 1117], [880, 2445]])) == pytest.approx(0.37, abs=0.005)


def test_the_graded_table_collapses_to_the_binary_one():
    assert binarised(DL20, n_rows=2, n_columns=2).tolist() == [[998, 2377], [668, 7343]]
    assert cell_kappas(DL20)[5, 3] == pytest.approx(0.29, abs=0.005)
    assert cell_kappas(DL20)[1, 0] == pytest.approx(0.10, abs=0.005)


@given(squares)
def test_kappa_is_its_definition(table):
    found = cohen_kappa(table)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if table.sum() == 0 or (rows @ columns) == table.sum() ** 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(plain_kappa(table))


@given(squares)
def test_weighted_kappa_is_one_minus_squared_distance_over_that_by_chance(table):
    first = np.repeat([0, 1, 2], table.sum(axis=1))
    second = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
    expected = np.mean((first[:, None] - second[None, :]) ** 2) if len(first) else 0
    found = weighted_kappa(table)
    if expected == 0:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(1 - np.mean((first - second) ** 2) / expected)


def test_a_stack_gives_a_value_each():
    stack = np.stack([DL20[:4], DL20[1:5]])
    assert cohen_kappa(stack).tolist() == [cohen_kappa(DL20[:4]).item(), cohen_kappa(DL20[1:5]).item()]


def test_contingency_leaves_out_unknown_labels():
    table = contingency([5, 4, -1, 4], [3, 0, 3, 3], rows=[5, 4], columns=[3, 0])
    assert table.tolist() == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="2 labels against 1"):
        contingency([5, 4], [3], rows=[5], columns=[3])


def test_krippendorff_s_own_example():
    """Nominal 0.743 and ordinal 0.815 in his text."""
    pairs = coincidences(KRIPPENDORFF, [1, 2, 3, 4, 5])
    assert pairs.sum() == pytest.approx(40)
    np.testing.assert_allclose(pairs.sum(axis=1), [9, 13, 10, 5, 3])
    assert ordinal_alpha(pairs) == pytest.approx(0.815, abs=0.0005)
    nominal = 1 - 39 * (40 - np.trace(pairs)) / (40**2 - (pairs.sum(axis=1) ** 2).sum())
    assert nominal == pytest.approx(0.743, abs=0.0005)


def test_alpha_of_topics_adds_up_and_is_undefined_without_variation():
    categories = [1, 2, 3, 4, 5]
    halves = [coincidences(part, categories) for part in (KRIPPENDORFF[:, :6], KRIPPENDORFF[:, 6:])]
    np.testing.assert_allclose(sum(halves), coincidences(KRIPPENDORFF, categories))
    assert np.isnan(ordinal_alpha(coincidences(np.array([[3, 3], [3, 3]]), categories)))
    assert np.isnan(ordinal_alpha(coincidences(np.array([[3, -1], [-1, 3]]), categories)))


def test_bootstrap_interval_is_scipy_s():
    generator = np.random.default_rng(5)
    tables = generator.integers(0, 9, size=(30, 2, 2))
    ours = bootstrapped(tables, cohen_kappa, resamples=20_000, seed=1)
    theirs = stats.bootstrap(
        (np.arange(30),),
        lambda places, axis: cohen_kappa(tables[places].sum(axis=1 if places.ndim > 1 else 0)),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(2),
        vectorized=True,
    ).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.01)
    assert ours.high == pytest.approx(theirs.high, abs=0.01)


def test_bootstrap_is_seeded_and_says_when_it_is_undefined():
    tables = np.random.default_rng(1).integers(0, 5, size=(9, 2, 2))
    assert bootstrapped(tables, cohen_kappa, resamples=50) == bootstrapped(tables, cohen_kappa, resamples=50)
    assert not bootstrapped([np.array([[4, 0], [0, 0]])] * 3, cohen_kappa, resamples=50).is_defined
    assert not bootstrapped([], cohen_kappa).is_defined
    assert interval(np.array([])).is_defined is False
