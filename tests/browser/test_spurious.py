"""Spurious items: look closer, reword, retire; with and without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from rubricweb.banks.models import Item
from rubricweb.demo.loading import PASSWORD


@pytest.fixture
def address(places) -> str:
    """At a low threshold, so that the demo has some."""
    return reverse("review:spurious", args=[places.bank.pk]) + "?min_grade=1"


def first_row(page: Page) -> tuple[Locator, Item]:
    """The worst item and its row, which keeps its place while the list changes."""
    pk = page.locator("details.work").first.get_attribute("id").removeprefix("suspect-")
    return page.locator(f"tbody:has(#suspect-{pk})"), Item.objects.get(pk=pk)


def closer(row: Locator) -> None:
    row.locator("summary").first.click(position={"x": 40, "y": 12})
    expect(row.locator(".passages li").first).to_be_visible()


def test_retiring_a_spurious_item(people, places, address):
    page = people.sign_in("developer")
    page.goto(address)
    row, item = first_row(page)
    words = row.get_by_role("rowheader").bounding_box()
    assert row.bounding_box()["height"] < words["height"] + 2, "a closed item is one row of the table"
    assert row.locator("summary").bounding_box()["width"] > words["width"], (
        "which opens wherever it is pressed"
    )
    closer(row)
    expect(row).to_contain_text("If it is retired:")
    expect(row).to_contain_text("label")
    row.get_by_role("button", name="Retire").click()
    expect(page.get_by_text(f"{item.get_kind_display().capitalize()} retired.")).to_be_visible()
    expect(row).to_have_count(0)
    item.refresh_from_db()
    assert item.is_retired


def test_reformulating_keeps_what_is_open_elsewhere(people, places, address):
    page = people.sign_in("developer")
    page.goto(address)
    row, item = first_row(page)
    pk = page.locator("details.work").nth(1).get_attribute("id").removeprefix("suspect-")
    other = page.locator(f"tbody:has(#suspect-{pk})")
    closer(other)
    other.get_by_label("Wording").fill("Half of a sentence")
    closer(row)
    row.get_by_label("Wording").fill("Which question fools nobody?")
    expect(row.locator(".preview")).to_contain_text("passages to grade")
    area = row.locator(".work-area").evaluate("area => [area.scrollWidth, area.clientWidth]")
    assert area[0] <= area[1], "no text is cut off"
    row.get_by_role("button", name="Save").click()
    expect(row).to_have_count(0)
    expect(other.get_by_label("Wording")).to_have_value("Half of a sentence")
    item.refresh_from_db()
    assert str(item) == "Which question fools nobody?"


def test_without_javascript(people, places, address):
    page = people.visit(java_script_enabled=False)
    page.goto(address)
    page.get_by_label("Username").fill("developer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    row, item = first_row(page)
    row.locator("summary").first.click(position={"x": 40, "y": 12})
    row.get_by_role("link", name="Open on a separate page").click()
    expect(page.get_by_role("heading", name=str(item))).to_be_visible()
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_text("retired.", exact=False).first).to_be_visible()
    assert page.url.endswith("/spurious/?min_grade=1")
    item.refresh_from_db()
    assert item.is_retired


def test_accessible(inspector_of, places, address):
    inspector = inspector_of("developer")
    page = inspector.page
    inspector.open(address)
    expect(page.locator("#missing")).to_be_empty()
    inspector.inspect("spurious items")
    row, item = first_row(page)
    closer(row)
    expect(row.locator(".preview")).to_contain_text("Nothing to grade")
    inspector.inspect("spurious items with one open")
    inspector.open(reverse("review:suspect", args=[places.bank.pk, item.pk]) + "?min_grade=1")
    expect(page.locator(".preview")).to_contain_text("Nothing to grade")
    inspector.inspect("one spurious item")
