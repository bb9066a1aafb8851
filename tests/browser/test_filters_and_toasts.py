"""Filters that wait for the end of a choice, and toasts that leave."""

from __future__ import annotations

import re
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import Page, expect

from tests.browser.inspector import WIDE
from tests.browser.waiting import Held


@pytest.fixture
def grid(people, places) -> Page:
    page = people.sign_in("assessor", viewport=WIDE)
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    return page


def visits(page: Page) -> list[str]:
    """Pages that are asked for from now on."""
    found: list[str] = []
    page.on("request", lambda request: request.is_navigation_request() and found.append(request.url))
    return found


def test_arrow_keys_on_a_filter_change_nothing_until_enter(grid):
    asked = visits(grid)
    passages = grid.get_by_label("Passages", exact=True)
    passages.focus()
    for _ in range(2):
        grid.keyboard.press("ArrowDown")
    expect(passages).to_have_value("disagree")
    expect(passages).to_be_focused()
    assert asked == []
    grid.keyboard.press("Enter")
    expect(grid).to_have_url(re.compile("show=disagree"))
    expect(passages).to_be_focused()
    assert len(asked) == 1


def test_a_filter_takes_effect_when_the_focus_leaves_it(grid):
    """And its chip can be hit: all of its height, and its arrow."""
    asked = visits(grid)
    chip = grid.locator(".chip", has=grid.get_by_label("Passages", exact=True)).bounding_box()
    at = {"x": chip["x"] + chip["width"] - 12, "y": chip["y"] + 4}
    assert grid.evaluate("({ x, y }) => document.elementFromPoint(x, y).name", at) == "show"
    grid.get_by_label("Passages", exact=True).focus()
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("Tab")
    expect(grid).to_have_url(re.compile("show=uncovered"))
    expect(grid.get_by_label("Groups", exact=True)).to_be_focused()
    assert len(asked) == 1


def test_links_in_a_menu_are_as_high_as_a_target(people, places):
    page = people.sign_in("assessor", viewport=WIDE)
    page.goto(places.board)
    page.locator("summary", has_text="Download").click()
    assert page.get_by_role("link", name="LaTeX").bounding_box()["height"] >= 24


def test_typing_the_name_of_a_run_asks_once(grid):
    asked = visits(grid)
    runs = grid.get_by_label("Run", exact=True)
    last = runs.locator("option").last  # by the name that an assessor sees
    name, value = last.inner_text(), last.get_attribute("value")
    runs.focus()
    grid.keyboard.type(name)
    expect(runs).to_have_value(value)
    assert asked == []
    grid.keyboard.press("Enter")
    expect(grid).to_have_url(re.compile(f"run={re.escape(quote_plus(value))}"))
    assert len(asked) == 1


def test_a_toast_takes_the_place_of_the_last_and_leaves_but_not_from_under_the_pointer(people, places):
    page = people.sign_in("organizer", viewport=WIDE)
    page.clock.install()
    page.goto(places.grid)
    places_of_toasts = []
    for text in ("first", "second"):
        page.evaluate(
            """(text) => {
              const toast = document.createElement("p");
              Object.assign(toast, { className: "toast", textContent: text });
              document.getElementById("toasts").append(toast);
            }""",
            text,
        )
        expect(page.locator(".toast")).to_have_text([text])
        box = page.locator(".toast").bounding_box()
        places_of_toasts.append((box["x"], box["y"] + box["height"]))
    assert places_of_toasts[0] == places_of_toasts[1]
    assert places_of_toasts[0][0] < 100
    expect(page.locator("#toasts")).to_have_attribute("aria-live", "polite")
    page.get_by_text("second", exact=True).hover()
    page.clock.run_for(13_000)
    expect(page.locator(".toast")).to_have_text(["second"])
    page.mouse.move(640, 5)
    page.clock.run_for(2_000)
    expect(page.locator(".toast")).to_have_count(0)


def test_a_token_is_copied_by_one_key_and_what_was_done_is_announced(people):
    page = people.sign_in("viewer")
    page.goto("/accounts/")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_label("Name", exact=True).fill("nightly")
    page.keyboard.press("Enter")
    copy = page.get_by_role("button", name="Copy the token")
    copy.focus()  # as `autofocus` has it, where a page shows before it is loaded
    page.keyboard.press("Enter")
    expect(page.locator("#announced")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#new-token").inner_text()
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    page.keyboard.press("Enter")
    expect(page.locator("#announced")).to_have_text("Selected: press Ctrl C")
    assert page.evaluate("getSelection().toString()") == page.locator("#new-token").inner_text()
    page.get_by_role("button", name="Revoke").click()
    expect(page.locator("#announced")).to_have_text("nightly is revoked and no longer works.")


def test_the_focus_returns_to_a_button_that_was_disabled_while_it_asked(people, places):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("graders:write") + "?like=UmbrelaStyle")
    ask = page.get_by_role("button", name="Ask the model")
    ask.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#announced")).to_contain_text("model")
    expect(ask).to_be_enabled()
    expect(ask).to_be_focused()


@pytest.fixture
def refused(people, places, campaign_of) -> Page:
    """The rubric of somebody whom the server refuses to retire an item."""
    campaign_of("blind", size=None)
    page = people.sign_in_routed("assessor")
    page.route("**/django-htmx*.js", lambda route: route.fulfill(body=""))  # shows refusals to programmers
    page.goto(places.editor)
    yield page
    people.complaints = [words for words in people.complaints if "Error Code 403" not in words]


def retire(page: Page) -> None:
    page.locator(".item-menu > summary").first.click()
    page.get_by_role("link", name="Retire").first.click()


def test_what_the_server_refuses_says_why(refused):
    retire(refused)
    expect(refused.locator("#toasts")).to_contain_text("You are rating this question blind.")


def test_what_the_server_refuses_says_why_where_the_row_was_replaced_meanwhile(refused):
    held = Held(refused, "**/retire/*")
    retire(refused)
    answer = held.next()
    refused.locator("#items").evaluate("items => items.replaceWith(items.cloneNode(true))")
    answer.continue_()
    expect(refused.locator("#toasts")).to_contain_text("You are rating this question blind.")
