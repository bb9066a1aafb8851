"""The main job: reword a question, see what it would cost, re-grade, and watch two screens move."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.concurrent

DASH = "\N{EN DASH}"
WORDING = "Which pigment makes autumn leaves look red?"


@pytest.fixture
def developer(people, places) -> Page:
    page = people.sign_in("developer")
    page.goto(places.editor)
    expect(page.locator("#missing")).to_be_empty()
    return page


@pytest.fixture
def organizer(people, places) -> Page:
    page = people.sign_in("organizer")
    page.goto(places.board)
    expect(page.locator("#missing")).to_be_empty()
    return page


def save_wording(page: Page, places) -> None:
    """Reword the first question; on the way the preview tells its cost."""
    page.locator(f"#item-{places.item.pk} .item-open").click()
    panel = page.locator("#item-panel")
    preview = panel.locator(".preview")
    expect(preview).to_contain_text("The impact shows here")
    panel.get_by_role("textbox").fill(WORDING)
    expect(preview).to_contain_text(re.compile(r"29\s+passages to grade\s+0\s+already graded"))
    expect(preview).to_contain_text(re.compile(r"up to\s+\d+ of 10\s+runs could move"))
    said = re.compile(
        r"29 passages to grade, 0 already graded; up to \d+ of 10 runs could move\.( \d similar items?\.)?"
    )
    expect(page.locator("#announced")).to_have_text(said)
    panel.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name=WORDING)).to_be_visible()


def grades_of(page: Page, places) -> Locator:
    return page.locator(f'#grid td a[id$="-{places.item.pk}"]')


def test_every_screen_moves_without_a_reload(developer, organizer, places, request):
    grid = organizer.context.new_page()
    grid.goto(places.grid)
    scores = organizer.locator(".board-table .board-score")
    before = scores.all_inner_texts()
    expect(scores).to_have_text(before)
    screens = (developer, organizer, grid)
    for page in screens:
        page.evaluate("window.isTheSame = true")
    save_wording(developer, places)
    for page in screens:
        expect(page.locator("#missing")).to_contain_text("29 grades missing")
    expect(grades_of(grid, places)).to_have_text([DASH] * 29)
    developer.get_by_role("button", name="Re-grade").click()
    request.getfixturevalue("worker")
    for page in screens:
        expect(page.locator("#missing")).to_be_empty(timeout=60_000)
    expect(developer.locator("#announced")).to_have_text("Grading has ended.")
    expect(grades_of(grid, places)).to_have_text([re.compile("^[0-5]$")] * 29)
    expect(scores).not_to_have_text(before)
    expect(organizer.locator(".board-change [data-change]").first).to_contain_text(
        re.compile("[▲▼](up|down)")
    )
    expect(organizer.locator("#board-news[aria-live=polite]")).to_contain_text(
        re.compile(r"\d+ runs? (moved|changed)")
    )
    assert all(page.evaluate("window.isTheSame") for page in screens)
