"""The search that Ctrl+K opens, by keyboard alone."""

from __future__ import annotations

from django.urls import reverse
from playwright.sync_api import expect


def test_from_any_page_to_a_topic_by_keys(inspector_of, places):
    inspector = inspector_of("organizer")
    page = inspector.page
    inspector.open(places.of_collection("home:collection"))
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Topic, run, item, screen or action")
    expect(field).to_be_focused()
    expect(page.get_by_role("option", name="Leaderboard")).to_be_visible()
    page.keyboard.type("t1 leaves")
    options = page.get_by_role("group", name="Topics").get_by_role("option")
    expect(options).to_have_count(2)
    inspector.inspect("search")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(field).to_have_attribute("aria-activedescendant", options.nth(1).get_attribute("id"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?view=grid")
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    inspector.open(reverse("home:search") + "?q=leaves")
    inspector.inspect("page of the search")
