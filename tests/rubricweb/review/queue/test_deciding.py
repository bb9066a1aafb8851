"""Campaigns over the cells that decide a board, and which ratings estimates may stand on."""

import pytest

from grading.types import ItemKind
from rubricweb.grades.humans import deciding_cells
from rubricweb.grades.models import HumanGrade
from rubricweb.review.queue.actions import Plan, open_campaign
from rubricweb.review.queue.models import Campaign
from tests.factories import ItemFactory, RankingFactory, RunFactory
from tests.rubricweb.review.queue.conftest import choice_of, rate_next

pytestmark = pytest.mark.django_db
Order, Cells = Campaign.Order, Campaign.Cells


@pytest.fixture
def ranked(bank):
    """By topic: the passage that each of two runs ranks first; all are rated the same."""
    runs = RunFactory.create_batch(2, collection=bank.collection)
    firsts = {}
    for topic in bank.collection.topics.all():
        passages = [pooled.passage for pooled in topic.pool.order_by("position")]
        for run, passage in zip(runs, passages, strict=False):
            doc_ids = [passage.doc_id, passages[2].doc_id]
            RankingFactory(run=run, topic=topic, doc_ids=doc_ids)
        firsts[topic.pk] = {passage.pk for passage in passages[:2]}
    return firsts


def test_the_first_of_the_best_passages_decide(campaign_of, ranked):
    campaign = campaign_of(cells=Cells.DECIDING)
    assert campaign.cells.count() == 8  # 2 topics x 2 items x 2 runs
    assert all(cell.passage_id in ranked[cell.topic_id] for cell in campaign.cells.all())


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, True), ({"cells": Cells.DECIDING}, True), ({"cells": Cells.HIGH}, False)],
)
def test_estimates_stand_on_random_cells_of_the_whole_bank(campaign_of, ranked, assessor, said, expected):
    campaign = campaign_of(order=Order.RANDOM, **said)
    rate_next(campaign, assessor)
    assert (campaign.is_representative, HumanGrade.objects.get().is_random) == (expected, expected)


@pytest.mark.parametrize("cells", [Cells.ALL, Cells.DECIDING])
def test_a_rating_says_from_which_cells_it_was_drawn(bank, campaign_of, ranked, assessor, cells):
    campaign = campaign_of(order=Order.RANDOM, cells=cells, cutoff=5)
    rate_next(campaign, assessor)
    config = campaign.cells.first().config_id

    expected = deciding_cells(config, 5) if cells == Cells.DECIDING else ""
    assert HumanGrade.objects.get().drawn_from == expected


def test_part_of_the_topics_or_kinds_stands_for_itself_only(bank, ranked, campaign_of, owner):
    choice = choice_of(bank)
    part = type(choice)(bank, choice.topics[:1], choice.kinds, choice.rater)
    assert not open_campaign(part, Plan("One topic"), by=owner).is_representative
    ItemFactory(bank=bank, topic=choice.topics[0], kind=ItemKind.NUGGET, text="red from sugar")
    part = type(choice)(bank, choice.topics, frozenset({ItemKind.QUESTION}), choice.rater)
    assert not open_campaign(part, Plan("Questions"), by=owner).is_representative


def test_cells_that_were_not_drawn_are_no_sample(campaign_of, assessor):
    rate_next(campaign_of(order=Order.CONFIDENCE, random_share=0.0), assessor)
    assert not HumanGrade.objects.get().is_random
