"""The rows of a bank by keyboard and by mouse; how much of them is seen at once."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from grading.types import Importance
from rubricweb.banks import actions
from rubricweb.core import events
from tests.browser.waiting import Held

MOVED = re.compile(r"/move/\??$")
CONTROLS = """() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary"
  )].filter(e => e.checkVisibility({ visibilityProperty: true, opacityProperty: true })).length"""
SEEN_ROWS = """() => [...document.querySelectorAll(".item-row")]
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().bottom <= innerHeight).length"""


@pytest.fixture
def page(people, places) -> Page:
    page = people.sign_in("developer")
    page.goto(places.editor)
    expect(page.locator("[data-shows] strong").first).not_to_be_empty()
    return page


def order(places) -> list[str]:
    return [str(item) for item in places.bank.items.active().for_topic(places.topic).of_kinds(["question"])]


def test_by_keyboard_alone(page, places):
    """Down to the second question, up with it, into the panel and back."""
    first, second, *_ = order(places)
    page.locator(".item-open").first.focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name=second)).to_be_focused()
    with page.expect_response(MOVED):
        page.keyboard.press("Alt+ArrowUp")
        expect(page.locator("#moved")).to_contain_text("Place 1 of")
    expect(page.get_by_role("link", name=second)).to_be_focused()
    assert order(places)[:2] == [second, first]
    page.keyboard.press("Enter")
    expect(page.locator("#item-panel textarea")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name=second)).to_be_focused()
    expect(page.locator("#item-panel")).to_be_hidden()


def test_an_item_is_opened_while_the_one_before_closes(people, places):
    """The late answer is for a row, beside a link that has left the page."""
    page = people.sign_in_routed("developer")
    page.goto(places.editor)
    opened, panel = page.locator(".item-open"), page.locator("#item-panel")
    opened.first.click()
    rows = Held(page, f"**/items/{places.item.pk}/", times=1)
    panel.get_by_role("link", name="Cancel").click()
    late = rows.next()
    opened.nth(1).click()
    expect(panel).to_have_attribute("aria-label", order(places)[1])
    with page.expect_response(f"**/items/{places.item.pk}/"):
        late.continue_()
    page.evaluate("fetch('/healthz').then((found) => found.text())")  # what came before it was handled
    expect(panel).to_have_attribute("aria-label", order(places)[1])


def test_on_a_phone_the_menu_of_an_item_opens_within_the_screen(people, places):
    page = people.sign_in("developer", viewport={"width": 390, "height": 844})
    page.goto(places.editor)
    page.locator(".item-menu > summary").first.click()
    menu = page.locator(".item-menu[open] .menu-body")
    expect(menu.get_by_role("link", name="Reword")).to_be_in_viewport(ratio=1)


def test_on_a_phone_a_row_shows_an_importance_that_is_not_vital(people, places):
    actions.weigh_item(places.item, importance=Importance.OKAY, seen=places.item.version, by=None)
    page = people.sign_in("developer", viewport={"width": 390, "height": 844})
    page.goto(places.editor)
    expect(page.locator(f"#item-{places.item.pk} .badge", has_text="okay")).to_be_visible()


def test_by_dragging(page, places):
    """The mouse lets go once the row is seen where it is to stay, and a live answer has come meanwhile."""
    first, second, third, *_ = order(places)
    rows = page.locator(".item-row")
    below = rows.nth(2).bounding_box()
    rows.first.hover()
    rows.first.locator(".item-grip").hover()
    page.mouse.down()
    page.mouse.move(below["x"] + 200, below["y"] + below["height"] - 8, steps=5)
    expect(page.locator(".item-row .item-open")).to_contain_text([second, third, first])
    with page.expect_response(f"**{urlsplit(places.editor).path}?*"):
        events.publish(places.collection.channel, "grades")
    with page.expect_response(MOVED):
        page.mouse.up()
    assert order(places)[:3] == [second, third, first]


def test_finding(page, places):
    first, *others = order(places)
    page.keyboard.press("/")
    page.keyboard.type(first.lower())
    expect(page.get_by_role("link", name=first)).to_be_visible()
    expect(page.get_by_role("link", name=others[0])).to_be_hidden()
    expect(page.get_by_role("status").and_(page.locator("#moved"))).to_have_text("1 item shown")
    expect(page.get_by_text("No item matches.")).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("link", name=first)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name=first)).to_be_focused()
    expect(page.get_by_role("link", name=others[0])).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("n")
    page.keyboard.type("Why?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name=others[0])).to_be_focused()
    expect(page.locator("#new-item-text")).to_have_value("Why?")
    page.get_by_label("Find an item").fill("zzz")
    expect(page.get_by_text("No item matches.")).to_be_visible()
    page.get_by_label("Find an item").fill("")
    expect(page.get_by_role("button", name="Flagged")).to_be_hidden()
    page.get_by_role("button", name="Misleading?").click()
    expect(page.get_by_role("link", name=first)).to_be_hidden()


def test_sixteen_items_have_few_controls_and_most_are_seen(page, places):
    asked = places.bank.items.active().for_topic(places.topic).count()
    for number in range(16 - asked):
        actions.add_item(places.bank, places.topic, kind="nugget", text=f"Leaf fact {number}", by=None)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(places.editor)
    expect(page.locator("#missing.stack")).to_be_attached()
    assert page.evaluate(CONTROLS) <= 60
    assert page.evaluate(SEEN_ROWS) >= 12


def test_several_at_once(page, places):
    page.locator(".item-open").nth(1).focus()
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    expect(page.locator("#n-chosen")).to_have_text("2 selected")
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Vital", exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".item-open").nth(2)).to_be_focused()
    page.keyboard.press("a")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".item-importance").filter(has_text="okay")).to_have_count(2)
    expect(page.locator("#chosen")).to_be_hidden()
    expect(page.locator(".item-open").nth(2)).to_be_focused()
    assert [item.importance for item in places.bank.items.active().for_topic(places.topic)][:3] == [
        "vital",
        "okay",
        "okay",
    ]
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_have_text(re.compile(r"Undo\s+Z"))
    page.keyboard.press("z")
    expect(page.locator(".item-importance").filter(has_text="okay")).to_have_count(0)
    expect(page.locator(".item-open").nth(2)).to_be_focused()
    retired, following = order(places)[2:4]
    page.keyboard.press("x")
    page.keyboard.press("a")
    page.get_by_role("button", name="Retire…").press("Enter")
    expect(page.get_by_role("button", name="Retire", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 item retired.")).to_be_visible()
    expect(page.get_by_role("link", name=retired)).to_be_hidden()
    expect(page.get_by_role("link", name=following)).to_be_focused()
    page.keyboard.press("z")
    expect(page.get_by_role("link", name=retired)).to_be_visible()
    expect(page.get_by_role("link", name=following)).to_be_focused()


def test_a_form_with_an_error_has_the_focus_in_the_wrong_field(page, places):
    page.locator("#new-item-form").get_by_role("button", name="Add").press("Enter")
    text = page.locator("#new-item-text")
    expect(text).to_have_attribute("aria-invalid", "true")
    expect(text).to_be_focused()
