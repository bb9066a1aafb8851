"""Kappa and alpha against the tables of papers, plain loops and simulations."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from grading.statistics.agreement import (
    cohen_kappa,
    coincidences,
    contingency,
    ordinal_alpha,
    weighted_kappa,
)
from grading.statistics.mean_intervals import mean_intervals, statistic_interval
from reproduce.rubric_agreement import DL20

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


def mean(sums):
    return sums[..., 0] / sums[..., 1]


def labelled(random, topics):
    """Tables by topic, of labels by two who agree more on some topics than on others."""
    of_topic = np.repeat(np.arange(topics), random.integers(6, 20, topics))
    truth = random.normal(size=len(of_topic)) + random.normal(0, 0.5, topics)[of_topic]
    other = truth + random.normal(0, 0.4, topics)[of_topic] + random.normal(0, 0.6, len(of_topic))
    first, second = (np.searchsorted([-0.2, 0.3, 0.8, 1.2, 1.7], values) for values in (truth, other))
    tables = np.zeros((topics, 6, 6))
    np.add.at(tables, (of_topic, first, second), 1)
    return tables


def test_statistic_interval_of_a_mean_is_that_of_means():
    values = np.random.default_rng(3).random(9)
    found = statistic_interval(np.stack([values, np.ones(9)], axis=1), mean)
    expected = mean_intervals(values[np.newaxis])
    assert (found.low, found.high) == pytest.approx((expected.low[0], expected.high[0]))


def test_statistic_interval_holds_with_few_topics():
    """Percentiles of resamples held .81 to .83 here."""
    random, tries = np.random.default_rng(11), 150
    statistics = {"kappa": cohen_kappa, "weighted": weighted_kappa, "same": share_of_equal}
    truth = labelled(random, 20_000).sum(axis=0)
    for name, statistic in statistics.items():
        held = 0
        for _ in range(tries):
            found = statistic_interval(labelled(random, 5), statistic, bounds=(-1.0, 1.0))
            held += found.low <= statistic(truth) <= found.high
        assert held / tries >= 0.92, name


def share_of_equal(tables):
    return np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1))


def test_statistic_interval_ends_within_the_bounds_of_the_number():
    shares = np.array([[9, 10], [10, 10], [3, 10], [10, 10], [10, 10], [10, 10]])
    assert statistic_interval(shares, mean).high > 1
    assert statistic_interval(shares, mean, bounds=(0.0, 1.0)).high == 1


@pytest.mark.parametrize(
    ("tables", "why"),
    [
        ([[[3, 1], [1, 3]]] * 4, "four topics"),
        ([[[3, 1], [1, 3]]] * 4 + [[[0, 0], [0, 0]]] * 4, "four topics with pairs"),
        ([[[3, 1], [1, 3]]] * 8, "no topic changes it"),
        ([[[5, 0], [0, 5]]] * 8, "all agree"),
        ([[[5, 0], [0, 0]]] * 7 + [[[2, 1], [1, 2]]], "undefined without the last topic"),
        (np.zeros((0, 2, 2)), "nothing"),
    ],
)
def test_statistic_interval_is_undefined_rather_than_of_no_width(tables, why):
    assert not statistic_interval(np.array(tables), cohen_kappa).is_defined, why
