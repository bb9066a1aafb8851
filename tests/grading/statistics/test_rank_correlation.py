"""tau-AP, tau-GAP, @k, the runs that cost most, and resampled boards: against plain loops and scipy."""

from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from grading.statistics.rank_correlation import (
    ALL_TIED,
    TOO_FEW,
    VOID_NAMES,
    Coefficient,
    Correlation,
    Cost,
    costliest,
    kendall,
    official_top,
    pearson,
    resampled,
    spearman,
    tau_ap,
    tau_gap,
)

few_values = st.sampled_from([0.0, 0.25, 0.5, 0.75])


def yilmaz(ours, official):
    """The definition, for a board without ties: 2 / (n - 1) * sum over places of C(i) / (i - 1), minus 1."""
    order = sorted(range(len(ours)), key=lambda run: -ours[run])
    right = [
        sum(official[above] > official[run] for above in order[:place]) / place
        for place, run in enumerate(order)
        if place
    ]
    return 2 / (len(order) - 1) * sum(right) - 1


def over_all_orders(ours, official):
    """The mean of the definition over every way to break the ties of either board."""
    places = list(permutations(range(len(ours))))

    def untied(scores):
        broken = [tuple(len(order) - order.index(run) for run in range(len(scores))) for order in places]
        return [
            one
            for one in broken
            if all(
                (one[i] > one[j]) or scores[i] <= scores[j]
                for i in range(len(scores))
                for j in range(len(scores))
            )
        ]

    return np.mean([yilmaz(one, other) for one in untied(ours) for other in untied(official)])


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_tau_ap_is_its_definition(ours, official):
    assert tau_ap(ours, official).value == pytest.approx(yilmaz(ours, official))


@given(st.lists(st.tuples(few_values, few_values), min_size=3, max_size=4))
def test_tau_ap_averages_over_the_orders_of_ties(pairs):
    ours, official = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(set(ours)) == 1 or len(set(official)) == 1:
        assert tau_ap(ours, official) == Correlation(None, len(pairs), ALL_TIED)
    else:
        assert tau_ap(ours, official).value == pytest.approx(over_all_orders(ours, official))


def test_tau_ap_by_hand():
    """b before a: places 2, 3, 4 have 0 of 1, 2 of 2 and 3 of 3 right above them."""
    assert tau_ap([3, 4, 2, 1], [4, 3, 2, 1]).value == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_ap([4, 3, 2, 1], [4, 3, 2, 1]).value == pytest.approx(1)
    assert tau_ap([1, 2, 3, 4], [4, 3, 2, 1]).value == pytest.approx(-1)
    assert tau_ap([1, 2], [1, 2]) == Correlation(None, 2, TOO_FEW)


@cache
def from_auto_judge():
    """Their module by itself: their package downloads word lists when it is imported."""
    folder = Path(find_spec("autojudge_evaluate").origin).parent
    spec = spec_from_file_location("their_tau_gap", folder / "tau_gap.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tau_gap_by_hand():
    """b, a, c, d: 0 of 6; 7 + 1 of 8; 8 + 2 + 1 of 11. a, b, d, c: 6 of 6; 8 + 2 of 10; 7 + 1 of 9."""
    official = [9, 3, 2, 1]
    assert tau_gap([3, 4, 2, 1], official).value == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_gap([4, 3, 1, 2], official).value == pytest.approx(2 / 3 * (1 + 1 + 8 / 9) - 1)
    assert tau_gap(official, official).value == pytest.approx(1)
    assert tau_gap([1, 2, 3, 4], official).value == pytest.approx(-1)
    assert tau_gap([4, 3, 2, 1], [5, 5, 1, 0]).value == pytest.approx(1), "one place has no gap"
    assert tau_gap([1, 2], [1, 2]) == Correlation(None, 2, TOO_FEW)


@pytest.mark.skipif(find_spec("autojudge_evaluate") is None, reason="no autojudge-evaluate")
@given(st.lists(st.tuples(few_values, few_values), min_size=3, max_size=9))
def test_tau_gap_is_that_of_auto_judge_evaluate(pairs):
    ours, official = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(set(ours)) == 1 or len(set(official)) == 1:
        assert tau_gap(ours, official) == Correlation(None, len(pairs), ALL_TIED)
    else:
        theirs = from_auto_judge().tau_gap(official, ours)
        assert tau_gap(ours, official).value == pytest.approx(theirs)


def test_at_k_compares_the_official_top():
    official = {"a": 9.0, "b": 8.0, "c": 8.0, "d": 1.0}
    assert official_top(official, 1) == {"a": 9.0}
    assert official_top(official, 2) == official_top(official, 3) == {"a": 9.0, "b": 8.0, "c": 8.0}
    assert official_top(official, 50) == official
    assert official_top({}, 3) == {}


def test_void_reasons_have_names():
    found = [kendall([1, 2], [1, 2]).reason, kendall([1, 1, 1], [1, 2, 3]).reason]
    assert [VOID_NAMES[reason] for reason in found] == ["too_few", "all_tied"]


@given(st.lists(st.tuples(few_values, few_values), min_size=4, max_size=9))
def test_costs_are_what_leaving_out_gains(pairs):
    ours = {f"run{place}": pair[0] for place, pair in enumerate(pairs)}
    official = {f"run{place}": pair[1] for place, pair in enumerate(pairs)}
    found = costliest(ours, official, Coefficient.KENDALL)
    values = [cost.cost for cost in found]
    assert values == sorted(values, reverse=True)
    for cost in found:
        kept = [tag for tag in ours if tag != cost.run_tag]
        without = stats.kendalltau([ours[t] for t in kept], [official[t] for t in kept]).statistic
        whole = stats.kendalltau(list(ours.values()), list(official.values())).statistic
        assert cost.cost == pytest.approx(without - whole)


def test_the_costliest_run_is_the_misplaced_one():
    official = {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}
    ours = official | {"e": 9}
    assert costliest(ours, official, Coefficient.SPEARMAN)[0] == Cost("e", pytest.approx(1.0))
    assert costliest({"a": 1, "b": 1, "c": 1}, official, Coefficient.SPEARMAN) == []


@pytest.mark.parametrize(
    ("coefficient", "one"),
    [
        (Coefficient.SPEARMAN, spearman),
        (Coefficient.KENDALL, kendall),
        (Coefficient.TAU_AP, tau_ap),
        (Coefficient.TAU_GAP, tau_gap),
        (Coefficient.PEARSON, pearson),
    ],
)
def test_resampled_boards_are_the_single_ones(coefficient, one):
    generator = np.random.default_rng(3)
    boards = generator.integers(0, 6, size=(600, 8)).astype(float)
    boards[17] = 2.0
    fixed, moving = np.arange(8.0), generator.integers(0, 6, size=(600, 8)).astype(float)
    for official in (fixed, moving):
        values = resampled(boards, official, coefficient)
        every = np.broadcast_to(official, boards.shape)
        single = [one(board, theirs).value for board, theirs in zip(boards, every, strict=True)]
        np.testing.assert_allclose(values, np.array(single, dtype=float), atol=1e-6)
        assert np.isnan(values[17])


@given(st.lists(st.tuples(few_values, few_values), min_size=3, max_size=8))
def test_pearson_is_that_of_scipy(pairs):
    ours, official = zip(*pairs, strict=True)
    if len(set(ours)) == 1 or len(set(official)) == 1:
        assert pearson(ours, official) == Correlation(None, len(pairs), ALL_TIED)
    else:
        assert pearson(ours, official).value == pytest.approx(stats.pearsonr(ours, official).statistic)


def test_pearson_by_hand_sees_how_far_apart_runs_are():
    """Deviations 1.5, 0.5, -0.5, -1.5 and 6, -1, -2, -3: 14 / sqrt(5 * 50)."""
    assert pearson([3, 2, 1, 0], [9, 2, 1, 0]).value == pytest.approx(14 / 250**0.5)
    assert spearman([3, 2, 1, 0], [9, 2, 1, 0]).value == pytest.approx(1)
    assert pearson([1, 2], [1, 2]) == Correlation(None, 2, TOO_FEW)


def test_too_few_runs_to_resample():
    assert np.isnan(resampled(np.zeros((5, 2)), np.zeros(2), Coefficient.KENDALL)).all()
