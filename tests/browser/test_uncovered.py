"""From an uncovered passage over a span to an item, by mouse, by keyboard, and without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.banks.models import Item, ItemSource
from rubricweb.demo.loading import PASSWORD

MARK = """([from, to]) => {
  const text = document.getElementById("passage-text");
  text.focus();
  text.setSelectionRange(from, to);
}"""


@pytest.fixture
def address(places) -> str:
    """At the highest threshold, so that the demo has some."""
    return reverse("review:uncovered", args=[places.bank.pk]) + "?min_grade=5"


def opened(page: Page, address: str) -> str:
    """The page of the first uncovered passage, and that passage's text."""
    page.goto(address)
    page.locator("#passages tbody th a").first.click()
    expect(page.get_by_text("Passage 1 of")).to_be_visible()
    page.wait_for_load_state()  # keys pressed before its scripts run are lost
    return page.locator("#passage-text").input_value()


def test_from_a_span_to_an_item(people, places, address):
    page = people.sign_in("developer")
    text = opened(page, address)
    first, second = text[:30].strip(), text[40:70].strip()
    page.evaluate(MARK, [0, 30])
    page.keyboard.press("Enter")
    expect(page.locator("#nearest blockquote")).to_have_text([first])
    expect(page.locator("#nearest li .grade-chip").first).to_be_visible()
    page.evaluate(MARK, [40, 70])
    page.get_by_role("button", name="Quote what is marked").click()
    expect(page.locator("#nearest blockquote")).to_have_text([first, second])
    expect(page.get_by_label("What an answer should contain")).to_have_value(f"{first}\n{second}")
    page.get_by_label("Question or nugget").fill("What has nobody asked so far?")
    expect(page.locator("#draft .preview")).to_contain_text("passages to grade")
    expect(page.locator("#draft .preview")).to_contain_text("runs could move")
    page.get_by_role("button", name="Add to the bank").click()
    expect(page.locator("#draft [role=status]").first).to_contain_text(
        "Question saved: What has nobody asked so far?"
    )
    expect(page.locator("#draft [role=status]").first).to_be_focused()
    expect(page.locator("#missing")).to_contain_text("grades missing")
    item = Item.objects.get(revision__text="What has nobody asked so far?")
    assert ItemSource.objects.get(change__item=item).spans == [first, second]
    page.get_by_role("link", name="History").click()
    expect(page.locator(".changes blockquote")).to_have_text([first, second])


def test_by_keyboard_alone(people, places, address):
    """Shift and arrows mark words, Enter quotes them, Tab goes on to the form, which says what is missing."""
    page = people.sign_in("developer")
    text = opened(page, address)
    passage, spans = page.locator("#passage-text"), page.get_by_label("What an answer should contain")
    passage.focus()
    page.keyboard.press("ControlOrMeta+Home")
    page.keyboard.type("x")
    page.keyboard.press("Delete")
    expect(passage).to_have_value(text)
    page.keyboard.press("ControlOrMeta+Shift+ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#nearest blockquote")).to_have_text([text.split()[0]])
    expect(page.locator("#announced")).to_contain_text("imilar")
    expect(passage).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(spans).to_be_focused()
    spans.fill("")
    page.get_by_label("Question or nugget").fill("What has nobody asked so far?")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(spans).to_be_focused()
    expect(spans).to_have_attribute("aria-invalid", "true")


def test_rewording_is_offered_first(people, places, address):
    page = people.sign_in("developer")
    opened(page, address)
    page.locator("#passage-text").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Enter")
    near = page.locator("#nearest li").first
    words = near.locator("span.small").inner_text()
    near.get_by_role("button", name="Reword").click()
    form = page.get_by_label("Question or nugget")
    expect(form).to_be_focused()
    assert words.startswith(form.input_value())
    form.fill("Which words are better than the old ones?")
    page.get_by_role("button", name="Save the new wording").click()
    expect(page.locator("#draft [role=status]").first).to_contain_text("Which words are better")
    item = Item.objects.get(revision__text="Which words are better than the old ones?")
    assert [change.verb for change in item.changes.all()] == ["reworded", "imported"]


def test_without_javascript(people, places, address):
    page = people.visit(java_script_enabled=False)
    page.goto(address)
    page.get_by_label("Username").fill("developer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    text = opened(page, address)
    expect(page.get_by_role("button", name="Quote what is marked")).to_be_hidden()
    page.get_by_label("What an answer should contain").fill(text[:30])
    page.get_by_role("button", name="Find similar items").click()
    expect(page.locator("#nearest blockquote")).to_have_text([text[:30].strip()])
    page.get_by_label("Question or nugget").fill("What has nobody asked so far?")
    page.get_by_role("button", name="Add to the bank").click()
    expect(page.get_by_text("Question added.")).to_be_visible()
    assert ItemSource.objects.get().spans == [text[:30].strip()]


def test_accessible(inspector_of, places, address):
    inspector = inspector_of("developer")
    page = inspector.page
    inspector.open(address)
    expect(page.locator("#missing")).to_be_empty()
    inspector.inspect("uncovered passages")
    text = opened(page, address)
    expect(page.locator("#missing")).to_be_empty()
    page.evaluate(MARK, [0, len(text)])
    page.keyboard.press("Enter")
    expect(page.locator("#nearest blockquote")).to_be_visible()
    inspector.inspect("from a span to an item")
