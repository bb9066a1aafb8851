"""Nobody is asked about a passage without a text: how many pairs that are, and what to do, is said."""

from __future__ import annotations

import pytest
from django.urls import reverse

from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import chosen
from rubricweb.campaigns.ratable import without_text
from rubricweb.corpus.models import Passage
from rubricweb.grades.human_models import Draw
from tests.factories import take
from tests.rubricweb.campaigns.conftest import choice_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def textless(bank):
    """A passage of the first topic that has no text: two of twelve cells."""
    passage = bank.collection.topics.first().pool.first().passage
    Passage.objects.filter(pk=passage.pk).update(text="")
    return passage


@pytest.mark.parametrize("order", ["random", "leaderboard", "rank"])
def test_a_campaign_chooses_no_passage_without_a_text(bank, textless, order):
    cells = chosen(choice_of(bank, order=order), seed=1)
    assert (len(cells.cells), cells.population, cells.textless) == (10, 10, 2)
    assert textless.pk not in {cell.passage for cell in cells.cells}
    assert textless.pk not in cells.passages
    Passage.objects.filter(pk=textless.pk).update(text="A text.")
    assert chosen(choice_of(bank, order=order), seed=1).textless == 0


def test_a_draw_knows_what_it_could_not_draw(bank, textless, campaign_of):
    campaign_of()
    assert len(Draw.objects.get().passages) == 5


def test_a_text_that_is_gone_is_waited_for(bank, campaign_of, assessor, client_of, owner):
    """Cells that a campaign has already are dealt again once the text is there."""
    campaign = campaign_of()
    passage = bank.collection.topics.first().pool.first().passage
    Passage.objects.filter(pk=passage.pk).update(text="")
    held = {turn.cell.passage_id for turn in take(campaign, assessor, count=30)}
    assert len(held) == 5
    assert passage.pk not in held
    assert without_text(campaign.turns.all()).count() == 2
    client = client_of(assessor)
    campaign.turns.exclude(cell__passage=passage).update(state="submitted", person=assessor, lease_until=None)
    page = " ".join(client.get(reverse("campaigns:queue", args=["autumn", campaign.pk])).text.split())
    assert "2 pairs wait for the text of their passages, which nobody has imported yet." in page
    assert "All 10 ratings are done" in page
    progress = client_of(owner).get(reverse("campaigns:campaign", args=["autumn", campaign.pk])).text
    assert "Import passages" in progress
    Passage.objects.filter(pk=passage.pk).update(text="Back again.")
    assert {turn.cell.passage_id for turn in take(campaign, assessor, count=30)} == {passage.pk}


def test_the_preview_says_what_is_left_out_and_what_to_do(bank, textless, owner, client_of):
    page = client_of(owner).get(reverse("campaigns:campaign-new", args=["autumn"]))
    assert page.context["preview"].textless == 2
    assert "2 pairs left out: the passages have no text." in " ".join(page.text.split())
    assert not Campaign.objects.exists()
