"""Campaigns over the cells that decide a board, and which ratings estimates may stand on."""

import html

import pytest
from django.urls import reverse

from grading.types import ItemKind
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import Campaign
from rubricweb.grades.human_models import Draw, HumanGrade
from tests.factories import ItemFactory, RankingFactory, RunFactory
from tests.rubricweb.campaigns.conftest import choice_of, rate_next
from tests.rubricweb.markup import markup

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
    ("cells", "design"),
    [
        (Cells.ALL, Draw.Design.CELLS),
        (Cells.COVER, Draw.Design.COVER),
        (Cells.PASSAGES, Draw.Design.PASSAGES),
        (Cells.DECIDING, None),
        (Cells.HIGH, None),
    ],
)
def test_a_rating_of_a_random_cell_points_to_its_draw(campaign_of, ranked, assessor, cells, design):
    campaign = campaign_of(order=Order.RANDOM, cells=cells)
    rate_next(campaign, assessor)
    draw = HumanGrade.objects.get().draw
    assert (draw.design if draw else None) == design
    assert draw == campaign.draw


def test_a_sample_for_rubric_cover_says_for_which_board(bank, campaign_of, ranked):
    campaign = campaign_of(cells=Cells.COVER, order=Order.CONFIDENCE, cutoff=5, min_grade=3, size=6)
    cells = list(campaign.cells.all())
    assert (campaign.draw.cutoff, campaign.draw.min_grade) == (5, 3)
    assert [config.pk for config in campaign.draw.configs.all()] == [cells[0].config_id]
    assert len(cells) == 6
    assert all(cell.is_random and 0 < cell.draw_probability <= 1 for cell in cells)
    assert (campaign.order, campaign.random_share) == (Order.RANDOM, 1.0)
    assert campaign.population == 12  # 2 topics x 3 passages among the first 5 x 2 items


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (Cells.COVER, "leaderboards of this grader, threshold 4 and cutoff 20. They do not count in Verify"),
        (Cells.COVER, "The intervals hold once all are rated."),
        (Cells.PASSAGES, "leaderboards by P_20. They do not count in Verify"),
        (Cells.ALL, "count in the shares of Verify grading, and for “By people, estimated”"),
        (Cells.HIGH, "These pairs support no estimate"),
    ],
)
def test_a_campaign_says_which_estimates_stand_on_it(campaign_of, owner, client_of, ranked, cells, said):
    campaign = campaign_of(order=Order.RANDOM, cells=cells)
    page = client_of(owner).get(reverse("campaigns:campaign", args=[campaign.collection.slug, campaign.pk]))
    assert said in " ".join(html.unescape(markup(page)).split())


def test_a_draw_holds_the_wordings_that_it_could_draw(bank, campaign_of, ranked, owner):
    """Neither items of topics and kinds that were not chosen, nor those without text."""
    choice = choice_of(bank)
    nugget = ItemFactory(bank=bank, topic=choice.topics[0], kind=ItemKind.NUGGET, text="red from sugar")
    unknown = ItemFactory(bank=bank, topic=choice.topics[0], text="gone")
    unknown.revision.text = ""
    unknown.revision.save()
    asked = {item.revision_id for item in bank.items.filter(topic=choice.topics[0])}
    part = type(choice)(bank, choice.topics[:1], frozenset({ItemKind.QUESTION}), choice.rater)
    draw = open_campaign(part, CampaignPlan("Questions of one topic"), by=owner).draw
    assert set(draw.revisions) == asked - {nugget.revision_id, unknown.revision_id}


def test_cells_that_were_not_drawn_are_no_sample(campaign_of, assessor):
    campaign = campaign_of(order=Order.CONFIDENCE, random_share=0.0)
    rate_next(campaign, assessor)
    assert campaign.draw is None
    assert HumanGrade.objects.get().draw is None
