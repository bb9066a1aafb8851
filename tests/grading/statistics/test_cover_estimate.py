"""Rubric-Cover by people, estimated from a random sample of cells: by simulation, and in what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from bench.estimated_cover import (
    PAIR,
    SETTINGS,
    Topic,
    checked_by,
    made_up,
    sampled_units,
    simulated,
    steadiness,
    true_cover,
)
from grading.statistics.agreement import checks
from grading.statistics.cover_estimate import NOT_RATED, Unit, estimate, sample_size
from grading.statistics.cover_sample import Ranked, cover_sample


@pytest.fixture(scope="module")
def topics():
    return made_up(topics=10, passages=120, runs=8)


@pytest.mark.parametrize(
    ("errors", "pair"),
    [
        ("independent", (0.9, 0.02)),
        ("by item", (0.8, 0.03)),
        ("by passage", (0.95, 0.01)),
        ("by topic", (0.9, 0.02)),
    ],
)
def test_the_interval_holds_the_cover_by_people(topics, errors, pair):
    """The estimate of the grader's best cell of an item held it in 80 % of draws at most, always too low."""
    found = simulated(topics, errors, pair, cells=400, draws=15)
    assert found.held.mean() > 0.85
    assert abs(found.errors.mean()) < 0.03
    assert found.halves.mean() < 0.12
    assert found.refused == 0


def errors_by_run(topics, setting, *, with_judgments, draws=8):
    """Return the mean error of the estimate of each run, with 900 cells."""
    errors = []
    for number in range(draws):
        people = SETTINGS[setting](topics, PAIR, np.random.default_rng(number))
        units = sampled_units(topics, people, cells=900, seed=number)
        if not with_judgments:
            units = [replace(unit, relevant=None) for unit in units]
        errors.append(estimate(units).value - true_cover(topics, people))
    return np.mean(errors, axis=0)


def test_strata_by_judgment_right_the_run_that_ranks_relevant_passages(topics):
    """People agree more often on relevant passages; without strata the best run's estimate is too low."""
    without = errors_by_run(topics, "by relevance, real", with_judgments=False)
    with_strata = errors_by_run(topics, "by relevance, real", with_judgments=True)
    assert without[0] < 0 < without[-1]
    assert np.ptp(without) > 0.05
    assert np.ptp(with_strata) < 0.04


def test_checks_warn_where_people_agree_more_often_on_some_passages(topics):
    def ps(setting):
        draws = []
        for number in range(8):
            people = SETTINGS[setting](topics, PAIR, np.random.default_rng(number))
            draws.append(checked_by(topics, sampled_units(topics, people, cells=400, seed=number)))
        return np.array([[trend.p for trend in each] for each in draws]), draws

    (judgment, *_), found = np.median(ps("by relevance, real")[0], axis=0), ps("by length")
    length = np.median(found[0], axis=0)[1]
    assert judgment < 0.02
    assert length < 0.15
    assert all(each.length.is_rising for each in found[1])
    assert (ps("by item")[0] < 0.05).mean() < 0.15


def test_checks_of_too_few_topics_do_not_warn(topics):
    few = topics[:5]
    people = SETTINGS["by relevance, real"](few, PAIR, np.random.default_rng(1))
    found = checked_by(few, sampled_units(few, people, cells=400, seed=1))
    assert [trend.p for trend in found] == [1, 1, 1]


def test_checks_leave_out_passages_of_unknown_length(topics):
    units = sampled_units(
        topics, SETTINGS["by length"](topics, PAIR, np.random.default_rng(1)), cells=400, seed=1
    )
    unknown = [np.full(len(topic.reached), np.nan) for topic in topics]
    judged = [topic.judged.astype(float) for topic in topics]
    assert checks(units, judged, unknown).length.p == 1
    assert checks(units, judged, unknown).judgment == checked_by(topics, units).judgment


def test_an_item_counts_that_another_passage_than_the_best_covers():
    """Two runs; the grader finds nothing, people find every item on the second passage."""
    ranked = np.arange(40, dtype=np.int32).reshape(2, 20)
    topic = Topic(np.zeros((40, 12), dtype=np.bool_), ranked, np.zeros(40, dtype=np.int64), np.zeros(40))
    people = np.zeros((40, 12), dtype=np.bool_)
    people[[1, 21]] = True
    found = estimate(sampled_units([topic], [people], cells=240, seed=1))
    assert true_cover([topic], [people]).tolist() == [1, 1]
    assert (found.high > 0.9).all()
    assert (found.value > 0.6).all()


def test_cells_that_are_all_rated_leave_no_doubt(topics):
    people = [topic.reached for topic in topics]
    share = np.full((8, 10), 1 / 100)
    units = [
        Unit(topic.reached, topic.ranked, one.astype(np.int8), share)
        for topic, one in zip(topics, people, strict=True)
    ]
    found = estimate(units)
    assert found.value == pytest.approx(true_cover(topics, people))
    assert found.high - found.low == pytest.approx(np.zeros(8), abs=1e-6)


def test_the_estimate_hardly_depends_on_its_random_order(topics):
    assert steadiness(topics) < 0.01


def test_misses_of_one_item_count_less_than_those_of_many(topics):
    """The same number of misses among the same cells: spread, they make an item's cover likelier."""

    def covers(spread):
        units = []
        for number, topic in enumerate(topics):
            rated = np.full(topic.reached.shape, NOT_RATED, dtype=np.int8)
            for item in range(4):
                rows = np.unique(topic.ranked)
                rows = rows[~topic.reached[rows, item]][:10]
                rated[rows, item] = 0
                if spread and item < 2:
                    rated[rows[0], item] = 1
                elif not spread and number < 2 and item == 0:
                    rated[rows, item] = 1
            units.append(Unit(topic.reached, topic.ranked, rated, np.full((8, 10), 0.01)))
        return estimate(units).value.mean()

    assert covers(spread=True) > covers(spread=False) + 0.05


def test_a_sample_is_drawn_in_blocks_of_known_chances(topics):
    """Over many draws each cell comes as often as its probability says."""
    drawn = [cover_sample(topics[:2], size=60, seed=seed) for seed in range(200)]
    counts, chances = {}, {}
    for cell in (cell for one in drawn for cell in one):
        place = (cell.topic, cell.row, cell.column)
        counts[place] = counts.get(place, 0) + 1
        chances.setdefault(place, []).append(cell.probability)
    often = [place for place, count in counts.items() if count >= 20]
    assert len(often) > 30
    found = np.array([counts[place] / 200 for place in often])
    expected = np.array([np.mean(chances[place]) for place in often])
    assert found.mean() == pytest.approx(expected.mean(), rel=0.1)
    assert np.corrcoef(found, expected)[0, 1] > 0.9


def test_each_beginning_of_a_sample_has_both_kinds(topics):
    drawn = cover_sample(topics, size=400, seed=5)
    assert len(drawn) == len({(cell.topic, cell.row, cell.column) for cell in drawn}) == 400
    for end in (100, 200, 400):
        above = np.mean([topics[c.topic].reached[c.row, c.column] for c in drawn[:end]])
        assert 0.3 < above < 0.5


def test_a_sample_of_a_small_collection_ends_with_its_cells():
    topic = Ranked(np.array([[True, False], [False, False]]), np.array([[0, 1]], dtype=np.int32))
    drawn = cover_sample([topic], size=400, seed=1)
    assert {(cell.row, cell.column) for cell in drawn} == {(0, 0), (0, 1), (1, 1)}
    assert cover_sample([], size=400, seed=1) == []


def test_single_cells_of_ever_new_items_are_not_enough(topics):
    """As a uniform draw has them: nothing shows whether misses cluster by item."""
    random = np.random.default_rng(2)
    units = []
    for topic in topics:
        rated = np.full(topic.reached.shape, NOT_RATED, dtype=np.int8)
        chosen = random.random(rated.shape) < 0.02
        rated[chosen] = topic.reached[chosen]
        units.append(Unit(topic.reached, topic.ranked, rated, np.full((8, 10), 0.01)))
    assert sample_size(units).cells > 100
    assert not sample_size(units).is_enough
    assert sample_size(sampled_units(topics, [t.reached for t in topics], cells=200, seed=1)).is_enough
