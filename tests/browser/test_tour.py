"""The tour of the demo: offered once, walked by keyboard, remembered when it has ended; help on a phone."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.inspector import NARROW

HEADINGS = ["Topics", "Leaderboard", "Then and now", "My work", "Jobs", "Help"]


def test_the_tour_is_walked_by_keyboard_and_does_not_come_back(people, places):
    page = people.sign_in("viewer")
    page.goto(places.collection.get_absolute_url())
    tour = page.get_by_role("region", name="Tour of the demo")
    for number, heading in enumerate(HEADINGS, start=1):
        expect(tour.get_by_role("heading", name=heading)).to_be_visible()
        expect(tour).to_contain_text(f"{number} of 6")
        if number == 1:
            tour.get_by_role("link", name="Next").press("Enter")
            continue
        expect(tour.get_by_role("heading", name=heading)).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Help", level=1)).to_be_visible()
    page.goto(places.collection.get_absolute_url())
    expect(tour).to_be_hidden()


def test_the_tour_is_offered_on_the_first_page_only_and_escape_ends_it(people, places):
    page = people.sign_in("viewer")
    page.goto(places.board)
    tour = page.get_by_role("region", name="Tour of the demo")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(tour).to_be_hidden()
    page.goto(places.collection.get_absolute_url())
    tour.get_by_role("button", name="End the tour").press("Escape")
    expect(tour).to_be_hidden()
    expect(page.get_by_role("main")).to_be_focused()
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(tour).to_be_hidden()


def test_help_opens_at_its_top_on_a_phone(people):
    page = people.visit(viewport=NARROW)
    page.goto("/help/work/")
    page.wait_for_load_state("load")
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    page.goto("/help/work/#flags")
    page.wait_for_load_state("load")
    expect(page.get_by_role("heading", name="Flags")).to_be_in_viewport()
