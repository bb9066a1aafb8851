"""Checking a grader by keys: right, wrong, wrong with the right rating, undo; and without JavaScript."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.accounts.models import User
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from tests.browser.inspector import WIDE
from tests.browser.waiting import Held

VERDICTS = re.compile(r"/verify/\d+/(\?|$)")
"""Where they are sent."""


def address(places, **query) -> str:
    at = reverse("review:verify", args=[places.collection.slug, places.bank.pk])
    return f"{at}?order=worst&topic={places.topic.pk}" + "".join(f"&{k}={v}" for k, v in query.items())


@pytest.fixture
def page(people, places) -> Page:
    page = people.sign_in_routed("assessor", viewport=WIDE)
    page.goto(address(places))
    return page


def shown(page: Page) -> str:
    """The name of the card: passage and rating; and its item."""
    return (
        page.locator("#check-cell").get_attribute("aria-label") + page.locator("#check-cell h2").inner_text()
    )


def press_and_go_on(page: Page, *keys: str) -> None:
    before = page.locator("#check-cell").get_attribute("data-cell")
    for key in keys:
        page.keyboard.press(key)
    expect(page.locator(f'#check-cell[data-cell="{before}"]')).to_have_count(0)
    expect(page.locator("#check-saving")).to_contain_text(re.compile("Saved|Taken back"))


def said() -> list[tuple[str, int | None]]:
    return list(HumanGrade.objects.order_by("pk").values_list("verdict", "rating"))


def test_by_keys_alone(page):
    first = shown(page)
    rating = int(page.locator("#check-cell input[name=shown_rating]").get_attribute("value"))
    press_and_go_on(page, "r")
    second = shown(page)
    assert second != first
    expect(page.locator("#check-cell")).to_be_focused()
    expect(page.locator("#announced")).to_have_text("Right.")
    press_and_go_on(page, "w", "Enter")
    third = shown(page)
    other = 1 if page.locator("#check-cell input[name=shown_rating]").get_attribute("value") != "1" else 2
    press_and_go_on(page, "w", str(other))
    assert said() == [("right", rating), ("wrong", None), ("wrong", other)]
    press_and_go_on(page, "z")
    assert shown(page) == third
    expect(page.locator("#announced")).to_have_text("Taken back.")
    assert HumanGrade.objects.last().is_withdrawn


def passages_ahead(page):
    """How the passages of the list begin, as far as no reason follows."""
    beginnings = page.locator("#check-queue li .muted").all_inner_texts()
    return [beginning.partition(";")[0].strip() for beginning in beginnings]


def test_the_next_cells_show_before_a_verdict_is_saved(page):
    following = passages_ahead(page)
    verdicts = Held(page, VERDICTS, times=1)
    for passage in following[:3]:
        page.keyboard.press("r")
        expect(page.locator("#check-cell .passage")).to_contain_text(passage)
    expect(page.locator("#outbox")).to_have_text("Saving…")
    verdicts.next().continue_()
    expect(page.locator("#outbox")).to_contain_text("Saved")
    assert [verdict for verdict, _ in said()] == ["right"] * 3


def test_a_card_that_waits_for_the_next_one_takes_no_second_verdict(page):
    following = passages_ahead(page)
    verdicts = Held(page, VERDICTS, times=1)
    for passage in following[:3]:
        page.keyboard.press("r")
        expect(page.locator("#check-cell .passage")).to_contain_text(passage)
    page.keyboard.press("r")
    expect(page.get_by_role("button", name="Right")).to_have_count(0)
    expect(page.locator("#check-cell")).to_be_focused()
    page.keyboard.press("w")
    page.keyboard.press("Enter")
    verdicts.next().continue_()
    expect(page.locator("#outbox")).to_contain_text("Saved")
    expect(page.get_by_role("button", name="Right")).to_be_visible()
    assert [verdict for verdict, _ in said()] == ["right"] * 4


def test_digits_without_w_say_nothing(page):
    page.keyboard.press("3")
    page.keyboard.press("w")
    expect(page.get_by_role("button", name="Just wrong")).to_be_visible()
    page.keyboard.press("w")
    expect(page.get_by_role("button", name="Just wrong")).to_be_hidden()
    assert said() == []


def test_a_conflict_is_shown_on_the_card(page, places):
    assessor = User.objects.get(username="assessor")
    field = {
        n: int(page.locator(f"#check-cell .verdict input[name={n}]").get_attribute("value")) for n in FIELDS
    }
    cell = Cell(field["topic"], field["revision"], field["passage"])
    before = shown(page)
    rate_cell(cell, rating=1, by=assessor, seen=0)
    page.keyboard.press("r")
    expect(page.get_by_role("alert")).to_contain_text("In another window you said 1; that was kept.")
    assert shown(page) == before
    press_and_go_on(page, "r")
    assert said() == [("", 1), ("right", field["shown_rating"])]


FIELDS = ("topic", "revision", "passage", "shown_rating")


def test_the_estimates_follow(page, places):
    estimates = page.locator("#estimates")
    expect(estimates).to_contain_text("No random sample yet")
    page.goto(address(places).replace("order=worst", "order=random"))
    expect(page.locator("#check-cell")).to_contain_text("random share")
    press_and_go_on(page, "r")
    expect(estimates).to_contain_text("The random sample holds 1 of")


def test_without_javascript(people, places):
    page = people.sign_in("assessor", java_script_enabled=False)
    page.goto(address(places))
    first = shown(page)
    page.get_by_role("button", name="Right", exact=False).first.click()
    assert shown(page) != first
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.locator("#wrong summary").click()
    page.get_by_role("button", name="Just wrong").click()
    assert [verdict for verdict, _ in said()] == ["right", "wrong"]


def test_accessible(inspector_of, places):
    inspector = inspector_of("assessor")
    inspector.open(address(places))
    inspector.inspect("verify")
    press_and_go_on(inspector.page, "r")
    inspector.page.keyboard.press("w")
    inspector.inspect("verify, wrong opened")
    inspector.open(address(places, rating=5, item=10**6))
    inspector.inspect("verify, nothing left")
