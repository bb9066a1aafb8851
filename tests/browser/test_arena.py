"""A battle by keys alone: citations, both verdicts, the vote, the names, taking it back, the next one."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.arena.models import Battle, Vote
from tests.browser.inspector import WIDE
from tests.factories import PassageFactory, responded

SAYINGS = {
    "generated-one": ("Leaves lose chlorophyll.", "Carotenoids remain."),
    "generated-two": ("Leaves turn red by anthocyanins.", "Nights are long."),
    "generated-three": ("Leaves fall.", "It is cold."),
}


@pytest.fixture
def answers(places) -> None:
    PassageFactory(collection=places.collection, doc_id="d1", text="A passage that every answer cites.")
    for tag, sentences in SAYINGS.items():
        responded(places.topic, tag, *sentences)
    places.collection.stamp += 1
    places.collection.save()


@pytest.fixture
def page(people, places, answers) -> Page:
    page = people.sign_in("assessor", viewport=WIDE)
    page.goto(reverse("arena:vote", args=[places.collection.slug]))
    return page


def test_a_battle_by_keys(page):
    expect(page.get_by_text("Names are hidden until you have voted", exact=True)).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("A passage that every answer cites.").first).to_be_visible()
    expect(page.locator(".claim.is-cited")).to_have_count(1)
    expect(page.locator("#opened")).to_have_text("1 of 2 opened")
    page.keyboard.press("1")
    expect(page.get_by_role("group", name="Whose citations hold?")).to_be_focused()
    page.keyboard.press("4")
    vote = page.get_by_role("button", name="Vote Enter")
    expect(vote).to_be_focused()
    page.keyboard.press("z")
    expect(page.locator("#ballot :checked")).to_have_count(0)
    expect(page.get_by_text("Names are hidden until you have voted", exact=True)).to_be_visible()
    assert not Vote.objects.exists(), "a slip at the last verdict shows no name"
    for key in ("1", "4", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_text("Voted, pseudonyms shown")).to_be_visible()
    battle = Battle.objects.get()
    assert list(battle.votes.values_list("answer", "evidence", "is_blind")) == [("left", "both_bad", True)]
    page.keyboard.press("z")
    expect(page.get_by_text("Pseudonyms shown: a vote is not blind")).to_be_visible()
    assert Vote.objects.last().is_withdrawn
    page.keyboard.press("3")
    page.keyboard.press("z")
    expect(page.locator("#ballot :checked")).to_have_count(0)


def test_the_next_pair_comes_into_the_page_and_takes_the_keys(page):
    for _ in range(3):
        expect(page.get_by_text("Names are hidden until you have voted", exact=True)).to_be_visible()
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name="Next pair Enter")).to_be_focused()
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="You have seen every pair")).to_be_visible()
    assert list(Vote.objects.values_list("answer", "evidence")) == [("left", "tie")] * 3


def test_arrows_within_the_choices_do_not_vote(page):
    page.get_by_role("group", name="Which answer").get_by_role("radio", name="Left").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("group", name="Whose citations").get_by_role("radio", name="Left").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#ballot :checked")).to_have_count(2)
    expect(page.get_by_role("button", name="Vote")).to_be_visible()
    assert not Vote.objects.exists()


def test_without_javascript(people, places, answers):
    page = people.sign_in("assessor", java_script_enabled=False)
    page.goto(reverse("arena:vote", args=[places.collection.slug]))
    page.get_by_role("button", name="Next pair").click()
    expect(page.get_by_text("A passage that every answer cites.").first).to_be_visible()
    page.get_by_role("group", name="Which answer").get_by_role("radio", name="Tie").check(force=True)
    page.get_by_role("group", name="Whose citations").get_by_role("radio", name="Right").check(force=True)
    page.get_by_role("button", name="Vote").click()
    expect(page.get_by_text("Voted, pseudonyms shown")).to_be_visible()


def test_accessible(inspector_of, places, answers):
    inspector = inspector_of("organizer")
    inspector.open(reverse("arena:vote", args=[places.collection.slug]))
    expect(inspector.page.locator("#ballot")).to_be_visible()
    inspector.page.locator("a.cite").first.focus()
    inspector.inspect("battle")
    for key in ("1", "2", "Enter"):
        inspector.page.keyboard.press(key)
    expect(inspector.page.get_by_text("Voted, names shown")).to_be_visible()
    inspector.inspect("battle, voted")
    for name in ("board", "ask", "by-name"):
        inspector.open(reverse(f"arena:{name}", args=[places.collection.slug]))
        inspector.inspect(f"arena, {name}")
