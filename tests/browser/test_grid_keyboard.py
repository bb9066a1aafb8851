"""The grid by keyboard alone, also while grades arrive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import add_item
from rubricweb.core import events
from rubricweb.demo import PASSWORD
from tests.browser.inspector import WIDE
from tests.browser.waiting import Held

ROWS, COLUMNS = 29, 12
"""Passages and items of the demo's first topic."""
RECTANGLE = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"
"""At once: a grid that is loaded again between two questions has other cells."""


@pytest.fixture
def grid(people, places) -> Page:
    """The grid on arrival: the focus is in its one stop for Tab, the cell of the first passage and item."""
    page = people.sign_in("viewer", viewport={"width": 1440, "height": 900})
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    expect(page.locator('#grid [tabindex="0"]')).to_have_count(1)
    expect_place(page, 1, 1)
    return page


def expect_place(page: Page, row: int, column: int) -> None:
    """Where the focus is, as `aria-rowindex` and `aria-colindex` count: heads are 0 here."""
    cell = f'#grid [aria-rowindex="{row + 1}"] [aria-colindex="{column + 1}"]'
    expect(page.locator(f"{cell}:focus, {cell} :focus")).to_have_attribute("tabindex", "0")


def press(page: Page, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def test_keys_move_the_focus(grid):
    for keys, row, column in [
        ("ArrowDown ArrowRight ArrowRight", 2, 3),
        ("ArrowUp ArrowLeft", 1, 2),
        ("End", 1, COLUMNS),
        ("ArrowRight", 1, COLUMNS),
        ("Home", 1, 0),
        ("ArrowLeft ArrowUp", 0, 0),
        ("ArrowRight PageDown", 10, 1),
        ("PageDown", 20, 1),
        ("PageDown PageDown", ROWS, 1),
        ("PageUp", ROWS - 10, 1),
        ("Control+End", ROWS, COLUMNS),
        ("Control+Home", 0, 0),
    ]:
        press(grid, keys)
        expect_place(grid, row, column)


def test_tab_leaves_the_grid_and_comes_back_to_its_cell(grid):
    press(grid, "ArrowDown ArrowRight Tab")
    expect(grid.locator("#grid :focus")).to_have_count(0)
    press(grid, "Shift+Tab")
    expect_place(grid, 2, 2)


def test_enter_opens_the_panel_and_escape_comes_back(grid):
    press(grid, "ArrowDown ArrowRight Enter")
    expect(grid.locator("#cell-title")).to_be_focused()
    cell = grid.locator("#grid a[aria-current]")
    expect(cell).to_have_count(1)
    press(grid, "Escape")
    expect(cell).to_be_focused()
    expect_place(grid, 2, 2)


def refresh(grid: Page, places) -> None:
    """A grade arrives, and the grid shows it."""
    grid.locator("#grid").evaluate("(grid) => (grid.dataset.old = '')")
    events.publish(places.collection.channel, "grades")
    expect(grid.locator("#grid[data-old]")).to_have_count(0)
    grid.locator("#grid[data-ready]").wait_for()


def test_focus_survives_a_live_refresh(grid, places):
    press(grid, "ArrowDown ArrowRight Enter")
    expect(grid.locator("#cell-title")).to_be_focused()
    press(grid, "Escape")
    for _ in range(3):
        refresh(grid, places)
        expect_place(grid, 2, 2)
        expect(grid.locator("#grid a[aria-current]")).to_be_focused()
    press(grid, "ArrowDown")
    expect_place(grid, 3, 2)


@pytest.mark.parametrize(
    ("keys", "row", "column"), [("Control+Home", 0, 0), ("ArrowUp", 0, 1), ("ArrowLeft", 1, 0)]
)
def test_focus_on_a_head_survives_a_live_refresh(grid, places, keys, row, column):
    press(grid, keys)
    refresh(grid, places)
    expect_place(grid, row, column)
    press(grid, "ArrowDown")
    expect_place(grid, row + 1, column)


def test_the_skip_link_leads_back_to_the_cell(grid):
    press(grid, "ArrowDown")
    grid.locator(".skip-link").focus()
    press(grid, "Enter")
    expect_place(grid, 2, 1)


@pytest.mark.parametrize(("width", "height", "rows"), [(1440, 900, 15), (1280, 720, 10)])
def test_much_of_the_grid_is_seen_at_once(people, places, width, height, rows):
    page = people.sign_in("assessor", viewport={"width": width, "height": height})
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    expect(page.locator("#missing")).to_be_empty()
    frame = page.evaluate(RECTANGLE, ".grid-frame")
    last = page.evaluate(RECTANGLE, f'#grid [aria-rowindex="{rows + 1}"] td:last-child')
    assert last["bottom"] <= frame["bottom"] <= height
    assert last["right"] <= frame["right"] == width
    assert last["width"] >= 64  # the columns share the width, and their heads have room for three lines
    assert page.evaluate("document.documentElement.scrollHeight") <= height


def test_q_opens_the_item_of_the_column_and_the_card_follows_the_focus(grid, places):
    title = grid.locator("#card-title")
    press(grid, "q")
    expect(title).to_have_text(places.item.revision.text)
    expect_place(grid, 1, 1)
    press(grid, "ArrowDown ArrowRight")
    expect(grid.locator(".item-card")).to_contain_text("Question 2")
    expect(grid.locator("#grid .head[aria-current]")).to_have_count(1)
    expect_place(grid, 2, 2)
    press(grid, "Escape")
    expect(title).to_have_count(0)
    expect_place(grid, 2, 2)


def test_a_head_opens_its_item_without_javascript_too(people, places):
    page = people.visit(java_script_enabled=False)
    page.goto(places.grid)
    page.get_by_label("Username").fill("viewer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.locator("#grid .head").first.click()
    expect(page.locator("#card-title")).to_have_text(places.item.revision.text)


def test_a_suspect_is_opened_from_its_address_with_the_focus_in_its_column(grid, places):
    grid.goto(f"{places.grid}&card=spurious")
    grid.locator("#grid[data-ready]").wait_for()
    expect(grid.locator(".item-card")).to_contain_text("Misleading?")
    head = grid.locator("#grid .head[aria-current]")
    expect_place(grid, 1, head.evaluate("head => head.closest('th').cellIndex"))


@pytest.mark.parametrize("heads", ["flat", "tilted"])
def test_heads_lie_inside_their_band(people, places, heads):
    """Three lines of text up to 14 items, tilted beyond, and nothing lies over them."""
    if heads == "tilted":
        developer = User.objects.get(username="developer")
        for n in range(4):
            add_item(
                places.bank, places.topic, kind=ItemKind.NUGGET, text=f"a fact of leaves {n}", by=developer
            )
    page = people.sign_in("viewer", viewport={"width": 1440, "height": 900})
    page.goto(places.grid)
    page.locator(f'#grid[data-heads="{heads}"][data-ready]').wait_for()
    band = page.evaluate(RECTANGLE, "#grid thead")
    tops = page.eval_on_selector_all(
        "#grid .head", "heads => heads.map(head => head.getBoundingClientRect().top)"
    )
    assert min(tops) >= band["top"]


def test_keys_turn_the_topic_to_its_other_views(grid, places):
    press(grid, "Shift+B")
    expect(grid.locator("#grid-items")).to_contain_text(places.item.revision.text)
    grid.wait_for_load_state()
    press(grid, "b")
    expect(grid.locator("#items")).to_contain_text(places.item.revision.text)
    grid.wait_for_load_state()  # the script that listens to keys is there
    press(grid, "g")
    expect(grid.locator("#grid[data-ready]")).to_be_visible()
    assert grid.url.endswith("view=grid")


def test_the_focus_returns_from_a_dialog_to_a_cell_that_was_replaced(people, places):
    page = people.sign_in_routed("assessor", viewport=WIDE)
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid [tabindex="0"]').focus()
    saved = Held(page, "**/rate/**", times=1)
    page.keyboard.press("3")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    saved.next().continue_()
    expect(page.locator("#saved")).to_contain_text("Saved ")
    page.keyboard.press("Escape")
    expect_place(page, 1, 1)
