"""Two people reword the same question at once: nothing is overwritten in silence."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role

pytestmark = pytest.mark.concurrent

FIRST = "Which pigment makes maples red?"
SECOND = "What lets a maple turn red?"


@pytest.fixture
def both(people, places) -> tuple[Page, Page]:
    """Two developers who see the same question."""
    set_role(User.objects.get(username="assessor"), places.collection, role=Role.DEVELOPER, by=None)
    pages = people.sign_in("developer"), people.sign_in("assessor")
    for page in pages:
        page.goto(places.editor)
        open_form(page, places)
    return pages


def item_of(page: Page, places) -> Locator:
    return page.locator(f"#item-{places.item.pk}")


def panel_of(page: Page) -> Locator:
    return page.locator("#item-panel")


def open_form(page: Page, places) -> None:
    item_of(page, places).locator(".item-open").click()
    expect(panel_of(page).locator(".preview")).to_contain_text("The impact shows here")


def save(page: Page, words: str, button: str = "Save") -> None:
    panel = panel_of(page)
    panel.get_by_role("textbox").fill(words)
    expect(panel.locator(".preview")).to_contain_text("29 passages to grade")
    panel.get_by_role("button", name=button).click()


def history(page: Page, places) -> Locator:
    expect(panel_of(page)).to_be_hidden()
    item_of(page, places).locator(".item-open").click()
    panel_of(page).get_by_role("link", name="History").click()
    changes = panel_of(page).get_by_role("list", name="What happened to").get_by_role("listitem")
    expect(changes.first).to_contain_text("now")
    return changes


@pytest.fixture
def refused(both, places) -> Page:
    """The second developer's page, after the first one saved."""
    first, second = both
    save(first, FIRST)
    expect(item_of(first, places).get_by_role("link", name=FIRST)).to_be_focused()
    expect(panel_of(first)).to_be_hidden()
    save(second, SECOND)
    shown = panel_of(second)
    expect(shown.get_by_role("alert")).to_contain_text("Yours was not saved")
    expect(shown.locator(".wordings figure").first).to_contain_text(FIRST)
    expect(shown.locator(".wordings figure").last).to_contain_text(SECOND)
    expect(shown.get_by_role("textbox")).to_have_value(SECOND)
    assert str(places.bank.items.get(pk=places.item.pk)) == FIRST
    return second


def test_the_second_saves_over_the_first_knowingly(refused, places):
    panel_of(refused).get_by_role("button", name="Save mine over it").click()
    expect(item_of(refused, places).get_by_role("link", name=SECOND)).to_be_visible()
    changes = history(refused, places)
    expect(changes).to_have_count(3)
    expect(changes.nth(0)).to_contain_text("by Assessor")
    expect(changes.nth(0)).to_contain_text(SECOND)
    expect(changes.nth(1)).to_contain_text("by Developer")
    expect(changes.nth(1)).to_contain_text(FIRST)


def test_the_second_keeps_the_wording_of_the_first(refused, places):
    panel_of(refused).get_by_role("link", name="Keep theirs").click()
    expect(item_of(refused, places).locator(".item-words p.prose")).to_have_text(FIRST)
    changes = history(refused, places)
    expect(changes).to_have_count(2)
    expect(changes.nth(0)).to_contain_text(FIRST)
