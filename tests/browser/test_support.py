"""Citations labelled in Chromium, by keys only."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from rubricweb.support.models import SupportEvent
from tests.browser.slowness import set_offline
from tests.browser.test_queue import OFFLINE, cut
from tests.factories import responded

SENTENCES = ("Chlorophyll breaks down.", "Red pigments are made late.", "Trees save their nitrogen.")


@pytest.fixture
def cited(demo):
    """Three sentences of one answer, each with a citation."""
    doc_id = demo.passages.first().doc_id
    response = responded(demo.topics.first(), "writer", *SENTENCES)
    for sentence in response.sentences:
        sentence["citations"] = [[doc_id, None]]
    response.save()
    return demo


def test_citations_are_labelled_and_taken_back_by_keys(people, cited):
    page = people.sign_in("assessor")
    page.goto(f"/collections/{cited.slug}/support/label/")
    first = statement(page)
    for done, key in enumerate("210", start=1):
        page.keyboard.press(key)
        expect(page.get_by_text(f"{done} of 3 labelled by you")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing is left to label")).to_be_visible()
    for done in (2, 1, 0):
        page.keyboard.press("z")
        expect(page.get_by_text(f"{done} of 3 labelled by you")).to_be_visible()
    assert statement(page) == first
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    labels = SupportEvent.objects.order_by("pk").values_list("label", flat=True)
    assert list(labels) == [2, 1, 0, None, None, None]


def test_labels_wait_on_the_device_while_there_is_no_connection(people, cited):
    page = people.sign_in("assessor")
    page.goto(f"/collections/{cited.slug}/support/label/")
    first = statement(page)
    cut(page)
    page.keyboard.press("2")
    page.keyboard.press("0")
    expect(page.get_by_text("Offline, 2 unsent")).to_be_visible()
    assert statement(page) != first
    assert not SupportEvent.objects.exists()
    set_offline(page, False)
    expect(page.get_by_text("2 of 3 labelled by you")).to_be_visible()
    assert list(SupportEvent.objects.order_by("pk").values_list("label", flat=True)) == [2, 0]
    people.complaints[:] = [one for one in people.complaints if not one.startswith(OFFLINE)]


def statement(page: Page) -> str:
    return page.locator("[data-cards-shown] .support-statement").inner_text()
