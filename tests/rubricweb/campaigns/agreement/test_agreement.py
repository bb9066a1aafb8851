"""Agreement over hand-worked ratings, and beside other programs' reckoning."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest
from scipy.stats import contingency

from rubricweb.campaigns.actions import rate
from rubricweb.campaigns.adjudication import CellKey, CountedRating, Event, decide, ratings, settled
from rubricweb.campaigns.agreement import agreement, anchoring, document
from rubricweb.campaigns.models import Turn
from rubricweb.corpus.pseudonyms import assessor_pseudonym
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.raters import raters
from tests.factories import CollectionFactory, take

pytestmark = pytest.mark.portable

MODES = (Turn.Mode.BLIND, Turn.Mode.ASSISTED)

How = HumanGrade.How
FIRST = (0, 1, 2, 3, 4, 5, 5, 0, 2, 3, 4, 1)
SECOND = (0, 1, 2, 3, 4, 4, 5, 1, 2, 0, 4, 1)


@pytest.fixture
def campaign(campaign_of, assessor, second):
    """Twelve cells, each rated by two."""
    campaign = campaign_of(mode="blind", assessors=2)
    for person, said in ((assessor, FIRST), (second, SECOND)):
        for rating in said:
            rate(take(campaign, person, count=1)[0].cell, rating=rating, by=person, seen=0, uid=uuid4())
    return campaign


def by_hand() -> tuple[float, float]:
    """Cohen's kappa, and that with squared weights, from the table of the two."""
    table = np.zeros((6, 6))
    for one, other in zip(FIRST, SECOND, strict=True):
        table[one, other] += 1
    expected = contingency.expected_freq(table)
    off = 1 - np.eye(6)
    squared = np.subtract.outer(np.arange(6), np.arange(6)) ** 2
    return tuple(1 - (table * weights).sum() / (expected * weights).sum() for weights in (off, squared))


@pytest.mark.django_db
class TestAgreement:
    def test_two_assessors(self, campaign, collection, bank):
        view = agreement(collection)
        (pair,) = view.pairs
        kappa, weighted = by_hand()
        assert (pair.cells, pair.same) == (12, 9 / 12)
        assert pair.kappa == pytest.approx(kappa)
        assert pair.weighted == pytest.approx(weighted)
        assert not pair.interval.is_defined, "two topics are too few to resample"
        assert {pair.first, pair.second}.isdisjoint({"assessor", "second"})

    def test_alpha_over_everybody(self, campaign, collection):
        """Ordinal distances from the marginals, written out as in Krippendorff's example."""
        view = agreement(collection)
        said = np.array([FIRST, SECOND])
        counts = np.bincount(said.ravel(), minlength=6)
        middle = np.cumsum(counts) - counts / 2
        apart = (middle[:, None] - middle[None, :]) ** 2
        seen = sum(apart[one, other] for one, other in zip(FIRST, SECOND, strict=True)) / 12
        expected = (np.outer(counts, counts) * apart).sum() / (24 * 23)
        assert view.overall.alpha == pytest.approx(1 - seen / expected)
        assert (view.overall.cells, view.overall.raters) == (12, 2)

    def test_each_with_the_grader(self, campaign, collection, bank, assessor, second):
        """The grader rated every cell 4."""
        view = agreement(collection, shows_names=True)
        same = {row.first: row.same for row in view.with_grader(raters(bank)[0])}
        assert same[str(assessor)] == FIRST.count(4) / 12
        assert sorted(same.values()) == sorted([FIRST.count(4) / 12, SECOND.count(4) / 12])

    def test_by_topic_and_item(self, campaign, collection):
        view = agreement(collection)
        assert sum(row.cells for row in view.by_topic) == sum(row.cells for row in view.by_item) == 12
        assert len(view.by_topic) == 2
        assert len(view.by_item) == 4
        assert [row.same for row in view.by_item] == sorted(row.same for row in view.by_item)
        whole = sum(row.same * row.cells for row in view.by_topic) / 12
        assert whole == pytest.approx(9 / 12)

    def test_files_have_no_numbers_of_too_few_cells(self, campaign, collection):
        """As the page, which prints "too few": twelve cells are enough, those of one topic are not."""
        view = agreement(collection)
        overall = document(view.overall)
        assert (overall["is_too_few"], overall["alpha"]) == (False, view.overall.alpha)
        for row in view.by_topic:
            assert document(row) == {
                "name": row.name,
                "cells": row.cells,
                "same": None,
                "alpha": None,
                "is_too_few": True,
            }

    def test_decisions_do_not_count_as_ratings(self, campaign, collection, developer):
        cell = campaign.cells.get(order=6)
        place = CellKey(cell.topic_id, cell.revision_id, cell.passage_id)
        decide(place, rating=0, by=developer, seen=0)
        assert sorted(ratings(collection)[place].values()) == [4, 5]

    def test_nobody_rated(self, bank, collection):
        view = agreement(collection)
        assert view.with_grader(raters(bank)[0]) == view.pairs == ()
        assert (view.overall.raters, view.overall.cells) == (0, 0)
        assert np.isnan(view.overall.alpha)

    def test_independent_ratings_are_those_before_the_grader_was_seen(self, campaign, collection, assessor):
        cell = campaign.cells.get(order=1)
        rate(cell, rating=4, by=assessor, seen=1, uid=uuid4())
        place = CellKey(cell.topic_id, cell.revision_id, cell.passage_id)
        assert ratings(collection)[place][assessor.pk] == 4
        assert ratings(collection, CountedRating.INDEPENDENT)[place][assessor.pk] == 0

    def test_one_campaign_at_a_time(self, campaign, campaign_of, bank, collection, developer):
        cell = Cell(*ratings(collection).popitem()[0])
        other = campaign_of(size=1)
        rate_cell(cell, rating=2, by=developer, seen=0)
        assert len(ratings(collection, campaign=other)) == 1
        assert len(ratings(collection, campaign=campaign)) == 12


def event(rating, how=How.BLIND, *, is_withdrawn=False) -> Event:
    return Event(1, rating, how, is_withdrawn)


@pytest.mark.parametrize(
    ("events", "latest", "independent"),
    [
        ([event(2)], 2, 2),
        ([event(2), event(4, How.ASSISTED)], 4, 2),
        ([event(4, How.ASSISTED)], 4, None),
        ([event(2), event(None, is_withdrawn=True)], None, None),
        ([event(2), event(None, is_withdrawn=True), event(3, How.ASSISTED)], 3, None),
        ([event(2), event(4, How.ASSISTED), event(2)], 2, 2),
    ],
)
def test_which_rating_counts(events, latest, independent):
    assert settled(events, CountedRating.LATEST) == latest
    assert settled(events, CountedRating.INDEPENDENT) == independent


@pytest.mark.django_db
class TestAnchoring:
    def test_the_pull_of_a_shown_rating(self, campaign_of, collection, assessor):
        """Who sees the grader's 4 says 4 but once; who does not says 4 once only."""
        campaign = campaign_of(mode="mixed")
        counts = {"blind": 0, "assisted": 0}
        while held := take(campaign, assessor, count=1):
            mode = held[0].mode
            counts[mode] += 1
            is_first = counts[mode] == 1
            rating = 4 if (mode == "assisted") != is_first else 1
            rate(held[0].cell, rating=rating, by=assessor, seen=0, uid=uuid4())
        found = anchoring(collection)
        assert (found.blind, found.assisted) == (counts["blind"], counts["assisted"])
        assert found.blind_same == pytest.approx(1 / counts["blind"])
        assert found.assisted_same == pytest.approx((counts["assisted"] - 1) / counts["assisted"])
        assert found.difference == pytest.approx(found.assisted_same - found.blind_same)

    def test_only_campaigns_that_draw_by_lot(self, campaign, collection):
        assert anchoring(collection) is None


@pytest.mark.django_db
def test_pseudonyms_are_of_one_collection(collection, assessor):
    other = CollectionFactory()
    assert assessor_pseudonym(collection, assessor.pk) == assessor_pseudonym(collection, assessor.pk)
    assert assessor_pseudonym(collection, assessor.pk) != assessor_pseudonym(other, assessor.pk)
