"""Text that people type is there again after a lost session or a reload, and gone once it is saved."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.banks.models import Item
from rubricweb.demo import PASSWORD

pytestmark = pytest.mark.usefixtures("streams_break_off")
WORDS = "Why do larches lose their needles?"


def sign_in_again(page: Page, username: str) -> None:
    """On the page to which whoever is not signed in is led."""
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "sign-in" not in url)


def kept(page: Page) -> list[str]:
    """The drafts, once the scripts of the page have heard what became of them."""
    page.wait_for_load_state()
    return page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('draft'))")


def test_new_item_outlives_the_session_and_is_gone_once_it_is_added(people, places):
    page = people.sign_in("developer")
    page.goto(places.editor)
    text = page.locator("#new-item-text")
    text.fill(WORDS)
    Session.objects.all().delete()
    page.reload()
    sign_in_again(page, "developer")
    expect(text).to_have_value(WORDS)
    page.locator("#new-item").get_by_role("button", name="Add").click()
    expect(page.locator("#items")).to_contain_text(WORDS)
    expect(text).to_have_value("")
    page.reload()
    expect(page.locator("#items")).to_contain_text(WORDS)
    expect(text).to_have_value("")
    assert Item.objects.filter(revision__text=WORDS).count() == 1
    assert kept(page) == []


def test_new_wording_outlives_a_reload_and_says_that_it_is_not_saved(people, places):
    page = people.sign_in("developer")
    page.goto(reverse("editor:item-edit", args=[places.bank.pk, places.item.pk]))
    text, before = page.locator("#item-panel textarea"), str(places.item)
    text.fill(WORDS)
    page.reload()
    expect(text).to_have_value(WORDS)
    expect(page.get_by_text("Not saved yet: what you typed here before.")).to_be_visible()
    page.get_by_role("button", name="Discard").click()
    expect(text).to_have_value(before)
    page.reload()
    expect(text).to_have_value(before)
    expect(page.get_by_text("Not saved yet")).to_have_count(0)


def test_new_wording_does_not_undo_what_somebody_saved_meanwhile(people, places):
    page = people.sign_in("developer")
    page.goto(reverse("editor:item-edit", args=[places.bank.pk, places.item.pk]))
    text = page.locator("#item-panel textarea")
    text.fill(WORDS)
    places.reword("What makes leaves turn?")
    page.reload()
    expect(text).to_have_value(WORDS)
    page.locator("#item-panel").get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#item-panel")).to_contain_text("What makes leaves turn?")
    assert str(Item.objects.get(pk=places.item.pk)) == "What makes leaves turn?"
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator("#toasts")).to_contain_text("saved")
    assert str(Item.objects.get(pk=places.item.pk)) == WORDS
    assert kept(page) == []


def test_plain_form_keeps_its_text_until_it_is_taken(people, places):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("corpus:settings"))
    description = page.get_by_label("Description")
    description.fill(WORDS)
    page.get_by_label("Name", exact=True).fill(" ")
    page.locator("main").get_by_role("button", name="Save").first.click()
    expect(page.locator(".field-error")).to_be_visible()
    page.goto(places.of_collection("corpus:settings"))
    expect(description).to_have_value(WORDS)
    page.get_by_label("Name", exact=True).fill("Autumn, again")
    page.locator("main").get_by_role("button", name="Save").first.click()
    expect(page.locator("#toasts")).to_contain_text("saved")
    expect(description).to_have_value(WORDS)
    assert kept(page) == []
    places.collection.refresh_from_db()
    assert places.collection.description == WORDS


def test_text_that_is_too_large_stays_in_its_field(people, places):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("imports:imports"))
    pasted = page.locator("textarea[name=pasted]")  # folded up: Chromium takes its time to draw so much
    pasted.evaluate("(field) => (field.value = 't1 0 d1 1\\n'.repeat(300_000))")
    page.locator(".import-upload button").click()
    expect(page.locator("#toasts")).to_contain_text("This text is too large to send.")
    assert len(pasted.input_value()) == 3_000_000
