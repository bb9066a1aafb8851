"""A grader beside people: numbers by their definitions, intervals by simulation."""

import numpy as np
import pytest

from grading.statistics.calibration import RatedCells, biases, calibration, thirds


def cells_of(random, *, topics, bias=0.0, groups=2):
    """Topics of twenty cells, some of which the grader rates otherwise than people as a whole."""
    n = 20 * topics
    topic = np.repeat(np.arange(topics), 20)
    people = random.integers(0, 6, n)
    of_topic = random.normal(0, 0.4, topics)[topic]
    group = random.integers(0, groups, n)
    wished = people + of_topic + bias * (group == 0) + random.normal(0, 0.8, n)
    return RatedCells(np.clip(np.rint(wished), 0, 5).astype(np.int64), people, topic), group


def test_agreement_is_as_it_is_defined():
    cells, _ = cells_of(np.random.default_rng(1), topics=8)
    found = calibration(cells, min_grade=4)
    by_chance = (cells.grader[:, np.newaxis] - cells.human[np.newaxis, :]) ** 2
    expected = 1 - ((cells.grader - cells.human) ** 2).mean() / by_chance.mean()
    assert found.kappa.value == pytest.approx(expected)
    assert found.kappa.interval.low < expected < found.kappa.interval.high
    assert found.same.value == (cells.grader == cells.human).mean()
    assert found.near.value == (abs(cells.grader - cells.human) <= 1).mean()
    assert found.bias.value == pytest.approx((cells.grader - cells.human).mean())
    assert [row.rating for row in found.by_rating] == [0, 1, 2, 3, 4, 5]
    four = cells.human[cells.grader == 4]
    assert found.by_rating[4].human_rating.value == pytest.approx(four.mean())
    assert found.by_rating[4].reached.value == (four >= 4).mean()


def test_a_group_stands_beside_the_others():
    cells, group = cells_of(np.random.default_rng(2), topics=12, bias=1.0)
    (found, none) = biases(cells, [("own", group == 0), ("none", group > 5)])
    difference = cells.grader - cells.human
    assert (found.name, found.cells) == ("own", (group == 0).sum())
    inside, outside = difference[group == 0].mean(), difference[group != 0].mean()
    assert found.beyond_others.value == pytest.approx(inside - outside)
    assert found.beyond_others.interval.low > 0
    assert (found.is_clear, none.cells, none.is_clear) == (True, 0, False)
    assert np.isnan([none.bias.value, none.p]).all()


def test_few_topics_have_no_interval():
    cells, group = cells_of(np.random.default_rng(3), topics=4)
    found = calibration(cells, min_grade=4)
    whole, some = biases(cells, [("all", group >= 0), ("some", group == 0)])
    estimates = [found.same, found.kappa, found.bias, some.bias, some.beyond_others]
    assert not any(one.interval.is_defined for one in estimates)
    assert np.isnan(whole.beyond_others.value), "there are no others"
    empty = np.zeros(0, dtype=np.int64)
    assert np.isnan(calibration(RatedCells(empty, empty, empty), min_grade=4).kappa.value)


def test_equal_values_claim_no_certainty():
    topics = np.repeat(np.arange(8), 5)
    found = calibration(RatedCells(np.zeros_like(topics), np.zeros_like(topics), topics), min_grade=4)
    (row,) = found.by_rating
    assert (row.reached.value, row.reached.interval.is_defined) == (0.0, False)


def test_intervals_cover_what_many_topics_show():
    truth_cells, truth_group = cells_of(np.random.default_rng(4), topics=4_000, bias=0.5)
    truth = truth_cells.grader - truth_cells.human
    bias = truth.mean()
    beyond = truth[truth_group == 0].mean() - truth[truth_group == 1].mean()
    random, tries = np.random.default_rng(5), 80
    covered = np.zeros(2)
    for _ in range(tries):
        cells, group = cells_of(random, topics=25, bias=0.5)
        own = biases(cells, [("own", group == 0)])[0].beyond_others
        whole = calibration(cells, min_grade=4).bias
        for place, (estimate, true) in enumerate(((whole, bias), (own, beyond))):
            covered[place] += estimate.interval.low <= true <= estimate.interval.high
    assert (covered / tries >= 0.89).all()  # 0.95 less two and a half errors


def groups_of(random, topics, bias=0.0):
    """Cells of a grader who is as often too high as too low, and nine groups, as on a card."""
    topic = np.repeat(np.arange(topics), random.integers(8, 25, topics))
    shares = np.array([0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    families = random.random((len(topic), 6)) < shares * random.uniform(0.5, 1.5, (topics, 6))[topic]
    lengths = random.integers(0, 3, len(topic))[:, np.newaxis] == np.arange(3)
    off = random.normal(0, 0.4, topics)[topic] + random.normal(0, 0.9, len(topic)) + bias * families[:, 2]
    cells = RatedCells(10 + np.rint(off).astype(np.int64), np.full(len(topic), 10), topic)
    return cells, [(str(place), mask) for place, mask in enumerate([*families.T, *lengths.T])]


def test_groups_of_a_grader_without_bias_are_rarely_called_clear():
    """Of the intervals of these groups, some excluded 0 on half of all cards."""
    random, tries = np.random.default_rng(6), 100
    accused = excluded = 0
    for _ in range(tries):
        rows = biases(*groups_of(random, 12))
        accused += any(row.is_clear for row in rows)
        excluded += any(row.beyond_others.interval.low * row.beyond_others.interval.high > 0 for row in rows)
    assert accused <= 12  # 5 expected, and more than three errors
    assert excluded > 20, "their own intervals are of one group each"


def test_group_with_a_bias_is_called_clear():
    random = np.random.default_rng(7)
    rows = biases(*groups_of(random, 25, bias=1.0))
    assert rows[2].is_clear
    assert rows[2].beyond_others.interval.low > 0


def test_groups_are_not_compared_where_no_group_could_be_clear():
    random = np.random.default_rng(7)
    cells, groups = groups_of(random, 5, bias=1.0)
    assert np.isnan([row.p for row in biases(cells, groups)]).all()
    cells, groups = groups_of(random, 9, bias=1.0)
    in_four = cells.topics < 4
    some, whole = biases(cells, [("in four topics", in_four), groups[0]])
    assert (np.isnan(some.p), np.isnan(whole.p)) == (True, False)


def test_lengthskeep_equal_sizes_together():
    assert {name: mask.tolist() for name, mask in thirds(np.array([1.0, 1, 1, 9])).items()} == {
        "short": [True, True, True, False],
        "long": [False, False, False, True],
    }
    assert thirds(np.zeros(0)) == {}
