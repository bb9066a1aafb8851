"""Queue, adjudication and agreement: axe, light and dark, wide and on a telephone; what is announced."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.campaigns.actions import CampaignPlan, open_campaign, rate
from rubricweb.campaigns.adjudication import CellKey, decide
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades.raters import raters
from tests.browser.queue import SHOWN
from tests.factories import take


@pytest.fixture
def campaign(places) -> Campaign:
    """Mixed modes, two a cell; organizer and assessor rated two cells each, one of which is decided."""
    kinds = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
    choice = CellChoice(places.bank, (places.topic,), kinds, raters(places.bank)[0], size=8)
    organizer = User.objects.get(username="organizer")
    campaign = open_campaign(
        choice, CampaignPlan("Second look", Campaign.Mode.MIXED, 2), by=organizer, seed=5
    )
    for username, rating in (("organizer", 5), ("assessor", 0)):
        person = User.objects.get(username=username)
        for _ in range(3):
            cell = take(campaign, person, count=1)[0].cell
            rate(cell, rating=rating, by=person, seen=0, uid=uuid4(), comment="see the last line")
    place = CellKey(cell.topic_id, cell.revision_id, cell.passage_id)
    decide(place, rating=3, by=User.objects.get(username="developer"), seen=0, reason="Half of it is there.")
    return campaign


def test_pages(inspector_of, campaign):
    inspector = inspector_of("organizer")
    slug = campaign.collection.slug
    done = campaign.turns.filter(person__username="organizer", state="submitted").first().cell_id
    take(campaign, User.objects.get(username="organizer"))
    for name, more in {
        "campaigns": (),
        "campaign-new": (),
        "campaign": (campaign.pk,),
        "queue": (campaign.pk,),
        "queue-cell": (campaign.pk, done),
        "decide": (),
    }.items():
        inspector.open(reverse(f"campaigns:{name}", args=[slug, *more]))
        inspector.inspect(name)


def test_a_preview_that_says_the_same_is_not_announced_again(people, campaign):
    page = people.sign_in("organizer")
    page.goto(reverse("campaigns:campaign-new", args=[campaign.collection.slug]))
    said = page.locator("#announced")
    expect(said).to_contain_text("hours in total")
    said.evaluate("said => said.firstChild.isFirst = true")
    page.locator("summary").filter(has_text="Details").click()
    with page.expect_response("**/preview/") as answer:
        page.get_by_label("Name", exact=True).fill("Autumn")
    answer.value.finished()
    expect(page.locator("#preview.htmx-request")).to_have_count(0)
    assert said.evaluate("said => said.firstChild.isFirst")

    page.get_by_label("Maximum number of pairs").fill("3")
    expect(said).to_contain_text("3 pairs, ")


def test_every_item_is_announced_and_has_the_focus(people, campaign):
    take(campaign, User.objects.get(username="organizer"))
    page = people.sign_in("organizer")
    page.goto(reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk]))
    said = page.get_by_role("status").and_(page.locator("#queue-said"))
    expect(said).to_have_attribute("aria-live", "polite")
    expect(page.locator(SHOWN)).to_be_focused()
    page.locator(SHOWN).get_by_role("button", name="4, with small gaps").focus()
    page.keyboard.press("Enter")
    expect(said).to_contain_text("Rated 4. Pair 5 of 8")
    expect(page.locator(SHOWN)).to_be_focused()
