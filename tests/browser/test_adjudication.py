"""Adjudication in Chromium: decide by keys, and two adjudicators on one cell."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from grading.types import ItemKind
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.campaigns.actions import CampaignPlan, open_campaign, rate
from rubricweb.campaigns.models import Campaign, Decision
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades.raters import raters
from rubricweb.review.models import Flag
from tests.factories import take


@pytest.fixture
def inbox(places) -> str:
    """Three cells that two assessors rated 5 and 0, and one that both rated 3."""
    set_role(User.objects.get(username="viewer"), places.collection, role=Role.ASSESSOR, by=None)
    kinds = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
    choice = CellChoice(places.bank, (places.topic,), kinds, raters(places.bank)[0], size=4)
    plan = CampaignPlan("Two each", Campaign.Mode.BLIND, 2)
    campaign = open_campaign(choice, plan, by=User.objects.get(username="organizer"), seed=5)
    for username, rating in (("assessor", 5), ("viewer", 0)):
        person = User.objects.get(username=username)
        for number in range(4):
            cell = take(campaign, person, count=1)[0].cell
            said = {"rating": 3 if number == 3 else rating, "by": person, "seen": 0}
            rate(cell, uid=uuid4(), comment=f"why {rating}", **said)
    return reverse("campaigns:decide", args=[places.collection.slug])


def begin(page: Page, inbox: str) -> None:
    page.goto(inbox)
    expect(page.locator("#case")).to_contain_text("0 of 3 decided")


def current(page: Page):
    return page.locator("#case li[aria-current]")


def test_the_question_in_dispute_is_flagged_by_key(people, inbox):
    page = people.sign_in("developer")
    begin(page, inbox)
    case = current(page).get_attribute("id")
    page.keyboard.press("s")
    expect(page.locator("#toasts")).to_contain_text("as misleading.")
    assert current(page).get_attribute("id") == case
    flag = Flag.objects.get(kind="spurious", by__username="developer")
    assert case == f"conflict-{flag.revision_id}"
    page.locator("#toasts").get_by_role("button", name="Undo").click()
    expect(page.locator("#toasts")).to_contain_text("Flag resolved.")
    flag.refresh_from_db()
    assert not flag.is_open
    undo = page.locator("#toasts").get_by_role("button", name="Undo")
    expect(undo).to_have_count(0)
    page.keyboard.press("s")
    expect(undo).to_be_visible()
    again = Flag.objects.get(resolved_at=None, kind="spurious", by__username="developer")
    assert again != flag, "not the one that was undone"


def test_deciding_by_keys(people, inbox):
    page = people.sign_in("developer")
    page.goto(inbox)
    page.get_by_role("button", name="Accept 1 where people agree").click()
    expect(page.locator("#toasts")).to_contain_text("Accepted 1 pair where people agree.")
    begin(page, inbox)
    first = current(page).get_attribute("id")
    page.keyboard.press("c")
    page.keyboard.type("The second sentence says so.")
    page.keyboard.press("Tab")
    page.keyboard.press("4")
    expect(page.locator("#toasts")).to_contain_text("Decided 4.")
    expect(page.locator("#case")).to_contain_text("1 of 3 decided")
    assert current(page).get_attribute("id") != first or page.locator(".decide-passages li").count() > 1
    expect(current(page)).to_be_focused()
    before = page.url
    with page.expect_navigation():
        page.keyboard.press("x")
    assert page.url != before
    page.keyboard.press("1")
    expect(page.locator("#case")).to_contain_text("2 of 3 decided")
    page.keyboard.press("0")
    expect(page.get_by_role("heading", name="All decided")).to_be_visible()
    assert sorted(Decision.objects.values_list("rating", flat=True)) == [0, 1, 3, 4]
    assessor = people.sign_in("assessor")
    assessor.goto(f"{inbox}?mine=1")
    expect(assessor.get_by_text("The second sentence says so.")).to_be_visible()
    expect(assessor.get_by_role("article")).to_have_count(3)


def test_two_adjudicators_on_one_cell(people, inbox):
    first, second = people.sign_in("developer"), people.sign_in("organizer")
    begin(first, inbox)
    begin(second, inbox)
    first.keyboard.press("4")
    expect(first.locator("#toasts")).to_contain_text("Decided 4.")
    second.keyboard.press("c")
    second.keyboard.type("It does not.")
    second.keyboard.press("Tab")
    second.keyboard.press("0")
    merge = second.get_by_role("alert")
    expect(merge).to_contain_text("Developer decided this pair while you were looking at it")
    expect(merge.get_by_role("region", name="Theirs")).to_contain_text("4")
    expect(merge.get_by_role("region", name="Mine")).to_contain_text("It does not.")
    assert Decision.objects.get().rating == 4
    merge.get_by_role("button", name="Decide as I did").click()
    expect(second.locator("#toasts")).to_contain_text("Decided 0.")
    assert list(Decision.objects.order_by("number").values_list("rating", flat=True)) == [4, 0]


def test_undoing_by_key_shows_the_conflict_again(people, inbox):
    page = people.sign_in("developer")
    begin(page, inbox)
    first = current(page).get_attribute("id")
    page.keyboard.press("4")
    expect(page.locator("#case")).to_contain_text("1 of 3 decided")
    expect(page.locator("#toasts").get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    expect(page.locator("#case")).to_contain_text("0 of 3 decided")
    assert current(page).get_attribute("id") == first
    assert Decision.objects.get().withdrawn_at is not None


def test_a_telephone_shows_what_is_to_be_decided(people, inbox):
    page = people.sign_in("developer", viewport={"width": 390, "height": 844})
    begin(page, inbox)
    page.get_by_role("button", name="Decide 4").click()
    expect(page.locator("#toasts")).to_contain_text("Decided 4.")


def test_a_reason_outlives_a_reload_and_the_focus_says_which_conflict_it_is(people, inbox):
    page = people.sign_in("developer")
    begin(page, inbox)
    reason = page.get_by_role("textbox", name="Reason")
    reason.fill("The second sentence says so.")
    page.reload()
    expect(reason).to_have_value("The second sentence says so.")
    reason.press("Escape")
    expect(current(page)).to_be_focused()
    page.get_by_role("button", name="Decide 4").click()
    expect(page.locator("#case")).to_contain_text("1 of 3 decided")
    expect(current(page)).to_be_focused()
    expect(reason).to_have_value("")
