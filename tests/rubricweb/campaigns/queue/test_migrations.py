"""Older databases: nothing of a campaign is lost on the way to the newest tables."""

import pytest

from tests.rubricweb.campaigns.conftest import rate_next
from tests.rubricweb.migrating import migrate_to_newest, migrated

BEFORE = [("grades", "0013_draws"), ("review", "0006_campaign_draws")]
AFTER = [("grades", "0014_remove_drawn_from"), ("review", "0008_remove_is_representative")]


@pytest.fixture
def at_the_end():
    """Later tests need the newest tables."""
    yield
    migrate_to_newest()


@pytest.mark.django_db(transaction=True)
def test_random_ratings_keep_their_draw(at_the_end, campaign_of, assessor):
    campaign = campaign_of(order="random")
    rated = rate_next(campaign, assessor).cell
    wordings = sorted(campaign.draw.revisions)
    old = migrated(BEFORE)
    ratings, campaigns = old.get_model("grades", "HumanGrade"), old.get_model("review", "Campaign")
    assert ratings.objects.get().is_random
    campaigns.objects.update(draw=None, is_representative=True)
    old.get_model("grades", "Draw").objects.all().delete()

    new = migrated(AFTER)
    (draw,) = new.get_model("grades", "Draw").objects.all()
    rating = new.get_model("grades", "HumanGrade").objects.get()
    assert (rating.draw_id, rating.revision_id) == (draw.pk, rated.revision_id)
    assert new.get_model("review", "Campaign").objects.get().draw_id == draw.pk
    assert (draw.design, draw.cutoff) == ("cells", None)
    assert set(draw.revisions) <= set(wordings)
    assert rated.revision_id in draw.revisions


@pytest.mark.django_db(transaction=True)
def test_reasons_lose_the_names_of_runs(at_the_end, campaign_of):
    """Campaigns once wrote the names of the two runs that a rating could swap."""
    campaign_of()
    old = migrated([("review", "0008_remove_is_representative")])
    cells = old.get_model("review", "CampaignCell").objects
    cells.update(reason="Could swap ranks 3 and 4 of the leaderboard: bm25: tuned, dense.")
    cells.filter(order=1).update(reason="Next in this campaign.")
    new = migrated([("review", "0009_reasons_without_runs")]).get_model("review", "CampaignCell").objects
    reasons = new.order_by("order").values_list("reason", flat=True)
    assert list(reasons)[:2] == ["Next in this campaign.", "Could swap ranks 3 and 4 of the leaderboard."]


@pytest.mark.django_db(transaction=True)
def test_campaigns_move_with_all_that_they_hold(at_the_end, campaign_of, assessor):
    """From `review` to an app of their own, and back."""
    campaign = campaign_of(people=[assessor])
    rate_next(campaign, assessor)
    old = migrated([("review", "0009_reasons_without_runs")])
    names = ("Campaign", "CampaignCell", "Turn", "Campaign_people")
    rows = [list(old.get_model("review", name).objects.order_by("pk").values()) for name in names]
    assert all(rows)
    new = migrated([("campaigns", "0001_initial")])
    assert [list(new.get_model("campaigns", name).objects.order_by("pk").values()) for name in names] == rows


@pytest.mark.django_db(transaction=True)
def test_older_campaigns_keep_the_order_of_their_cells(at_the_end, campaign_of):
    campaign_of(passage_order="topic")
    migrated([("campaigns", "0001_initial")])
    new = migrated([("campaigns", "0002_passage_order")])
    assert new.get_model("campaigns", "Campaign").objects.get().passage_order == "cell"
