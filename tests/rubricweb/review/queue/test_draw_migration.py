"""What campaigns and ratings said of random cells becomes draws, and nothing is lost."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.rubricweb.review.queue.conftest import rate_next

BEFORE = [("grades", "0013_draws"), ("review", "0006_campaign_draws")]
AFTER = [("grades", "0014_remove_drawn_from"), ("review", "0008_remove_is_representative")]


def migrated(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


@pytest.fixture
def at_the_end():
    """Later tests need the newest tables."""
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.mark.django_db(transaction=True)
def test_random_ratings_keep_their_draw(at_the_end, campaign_of, assessor):
    campaign = campaign_of(order="random")
    rated = rate_next(campaign, assessor).cell
    asked = sorted(campaign.draw.revisions)
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
    assert set(draw.revisions) <= set(asked)
    assert rated.revision_id in draw.revisions
