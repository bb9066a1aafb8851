"""Problems one after the other: by keys, with a marked span, and without JavaScript."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.banks.models import Item, ItemSource
from rubricweb.demo import PASSWORD

MARK = """([from, to]) => {
  const text = document.getElementById("passage-text").firstChild;
  getSelection().setBaseAndExtent(text, from, text, to);
  document.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
}"""


@pytest.fixture
def address(places) -> str:
    """At the highest threshold, so that the demo has some."""
    return reverse("review:problems", args=[places.collection.slug]) + "?kind=uncovered&min_grade=5"


def opened_text(page: Page) -> str:
    page.wait_for_load_state()  # keys pressed before its scripts run are lost
    return page.locator("#passage-text").inner_text()


def test_from_a_span_to_an_item_and_on_to_the_next(people, places, address):
    page = people.sign_in("developer")
    page.goto(address)
    text = opened_text(page)
    span = " ".join(text[:30].split())
    page.evaluate(MARK, [0, 30])
    spans = page.get_by_label("Words of the passage that no item asks for")
    wording = page.get_by_label("Question or nugget")
    expect(spans).to_have_value(span)
    expect(wording).to_have_value(span)
    wording.fill("What has nobody asked so far?")
    expect(page.locator("#draft .preview")).to_contain_text("runs could move")
    key = page.locator("#problem").get_attribute("data-key-of")
    wording.press("Control+Enter")
    expect(page.get_by_text("Question added.")).to_be_visible()
    expect(page.locator(f"#problem[data-key-of={key}]")).to_have_count(0)
    expect(page.locator("#problem-list [aria-current]")).to_have_count(1)
    item = Item.objects.get(revision__text="What has nobody asked so far?")
    assert ItemSource.objects.get(change__item=item).spans == [span]


def test_keys_open_the_next_and_set_one_aside(people, places, address):
    page = people.sign_in("developer")
    page.goto(address)
    first = opened_text(page)
    key = page.locator("#problem").get_attribute("data-key-of")
    page.keyboard.press("j")
    expect(page.locator("#passage-text")).not_to_have_text(first)
    expect(page.locator("#problem")).to_contain_text("2 of")
    assert "problem=" in page.url
    page.keyboard.press("k")
    expect(page.locator(f"#problem[data-key-of={key}]")).to_be_visible()
    page.keyboard.press("x")
    reason = page.get_by_label("Why it is not a problem")
    reason.fill("It only repeats the question.")
    reason.press("Enter")
    expect(page.locator(f"#row-{key}")).to_have_count(0)
    expect(page.get_by_role("link", name="1 set aside")).to_have_count(1)
    page.keyboard.press("z")
    expect(page.locator(f"#row-{key}")).to_be_visible()


def test_everything_is_seen_without_scrolling(people, places, address):
    page = people.sign_in("developer")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(address)
    expect(page.locator("#nearest li").first).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Add to the rubric")).to_be_in_viewport(ratio=1)
    page.goto(address.replace("kind=uncovered&min_grade=5", "kind=misleading"))
    expect(page.get_by_role("button", name="Reword")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Retire")).to_be_in_viewport(ratio=1)
    expect(page.locator(".covering li").first).to_be_in_viewport(ratio=1)


def test_without_javascript(people, places, address):
    page = people.visit(java_script_enabled=False)
    page.goto(address)
    page.get_by_label("Username").fill("developer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    text = opened_text(page)
    page.get_by_label("Words of the passage that no item asks for").fill(text[:30])
    page.get_by_label("Question or nugget").fill("What has nobody asked so far?")
    page.get_by_role("button", name="Add to the rubric").click()
    expect(page.get_by_text("Question added.")).to_be_visible()
    assert ItemSource.objects.get().spans == [" ".join(text[:30].split())]


def test_accessible(inspector_of, places, address):
    inspector = inspector_of("developer")
    for name, kind in {
        "uncovered": address,
        "misleading": address.replace("uncovered&min_grade=5", "misleading"),
    }.items():
        inspector.open(kind)
        expect(inspector.page.locator("#missing")).to_be_empty()
        inspector.inspect(f"problems, {name}")
    inspector.page.set_viewport_size({"width": 390, "height": 844})
    inspector.open(address)
    expect(inspector.page.locator("#missing")).to_be_empty()
    inspector.inspect("problems on a phone")
