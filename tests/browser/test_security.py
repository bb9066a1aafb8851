"""Passages come from anybody: what they hold is shown as text, and the content policy refuses no page."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

SCRIPT = "<script>alert(1)</script>"
DOC_ID = "d101"


@pytest.fixture
def page(people) -> Page:
    """`people` fails the test when a dialog opens or a browser complains."""
    return people.sign_in("organizer")


def test_a_script_in_a_passage_is_text_in_the_panel(page, places):
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    page.locator("#grid tbody tr", has_text=DOC_ID).locator("td a").first.click()
    expect(page.locator("#panel .passage")).to_contain_text(SCRIPT)
    assert page.locator("#panel script").count() == 0


def test_a_script_in_a_passage_is_text_on_the_cell_page(page, places):
    page.goto(places.cell(DOC_ID))
    expect(page.locator("#main .passage")).to_contain_text(SCRIPT)
    assert page.locator("#main .passage script").count() == 0


def test_a_script_in_an_item_is_text_everywhere(page, places):
    page.goto(places.editor)
    page.locator("#new-item").get_by_role("textbox").fill(SCRIPT)
    page.locator("#new-item").get_by_role("button", name="Add").click()
    expect(page.locator("#items")).to_contain_text(SCRIPT)
    page.goto(places.grid)
    expect(page.locator("#grid thead")).to_contain_text(SCRIPT)


def test_no_page_is_refused_anything(page, places):
    """A refusal by the content policy is an error on the console, which fails the test."""
    run = places.collection.runs.first()
    for address in (
        "/",
        places.of_collection("home:collection"),
        places.editor,
        places.grid,
        places.board,
        reverse("leaderboards:run", args=[places.collection.slug, run.pk]),
        places.of_collection("grades:jobs"),
        places.of_collection("exports:exports"),
        places.of_collection("corpus:settings"),
        reverse("core:patterns"),
    ):
        response = page.goto(address, wait_until="load")
        assert "script-src 'self'" in response.headers["content-security-policy"]
        expect(page.locator("h1").first).to_be_visible()
    page.goto(f"{places.of_collection('leaderboards:figures')}?view=intervals")
    page.locator(".plotly .main-svg").first.wait_for()
    page.locator("#figure").hover()


def test_the_policy_is_in_force(page, people, places):
    """An inline script that got into a page does not run, and the browser says so."""
    page.goto(places.board)
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'alert(1)'}))"
    )
    assert any("Content Security Policy" in text for text in people.complaints)
    people.complaints.clear()
