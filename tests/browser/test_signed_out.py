"""What is done in a page whose session has ended waits for its person, and is never sent as somebody else."""

from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.banks.models import Item
from rubricweb.demo import PASSWORD
from tests.browser.inspector import WIDE
from tests.browser.screens import *  # noqa: F403 - its fixtures
from tests.browser.screens import Screen, expect_saved
from tests.browser.waiting import holds

pytestmark = pytest.mark.usefixtures("streams_break_off")
NOTICE = "form[data-signs-in]"


def sign_in(page: Page, username: str) -> None:
    """As people do, in whatever tab."""
    page.goto("/accounts/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "sign-in" not in url)


def sign_out(page: Page) -> None:
    page.goto("/")
    page.locator(".who summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/sign-in/**")


def end_session() -> None:
    """On the server: no tab hears of it."""
    Session.objects.all().delete()


def press(page: Page, screen: Screen) -> None:
    for key in screen.keys:
        page.keyboard.press(key)


def test_outbox_sends_after_a_new_sign_in_in_another_tab(people, screen):
    page = people.sign_in(screen.username, viewport=WIDE)
    screen.open(page)
    other = page.context.new_page()
    sign_out(other)
    sign_in(other, screen.username)
    press(page, screen)
    expect_saved(page, screen)


def test_outbox_keeps_what_waits_until_its_person_signs_in_in_place(people, screen):
    page = people.sign_in(screen.username, viewport=WIDE)
    screen.open(page)
    before = screen.saved()
    end_session()
    press(page, screen)
    notice = page.locator(NOTICE)
    expect(notice).to_contain_text("You are signed out.")
    expect(page.locator("#outbox")).to_contain_text("Signed out")
    kept = page.evaluate("JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
    assert "csrf" not in kept.lower()
    assert screen.saved() == before
    notice.get_by_label("Password").fill("not this one")
    notice.get_by_role("button", name="Sign in").click()
    expect(notice).to_contain_text("Please enter a correct username and password.")
    notice.get_by_label("Password").fill(PASSWORD)
    notice.get_by_role("button", name="Sign in").click()
    expect(notice).to_have_count(0)
    expect_saved(page, screen)


def test_outbox_sends_nothing_as_somebody_else(people, places, screen):
    set_role(User.objects.get(username="viewer"), places.collection, role=Role.ORGANIZER, by=None)
    page = people.sign_in(screen.username, viewport=WIDE)
    screen.open(page)
    other = page.context.new_page()
    sign_out(other)
    sign_in(other, "viewer")
    before = screen.saved()
    press(page, screen)
    notice = page.locator(NOTICE)
    expect(notice).to_contain_text("viewer signed in in another window.")
    expect(page.locator("#outbox")).to_contain_text("unsent")
    with other.expect_response("**/events/**"):
        screen.open(other)  # the outbox of somebody else on the same computer
    assert screen.saved() == before
    sign_out(other)
    sign_in(other, screen.username)
    expect(notice).to_have_count(0)
    expect_saved(page, screen)


def test_a_form_waits_for_the_sign_in_and_is_sent_once(people, places):
    page = people.sign_in("developer")
    page.goto(reverse("editor:item-add", args=[places.bank.pk, places.topic.pk]))
    page.locator("#new-item-text").fill("Why do larches lose their needles?")
    end_session()
    page.get_by_role("button", name="Add").click()
    notice = page.locator(NOTICE)
    expect(page.locator("#new-item-text")).to_have_value("Why do larches lose their needles?")
    notice.get_by_label("Password").fill(PASSWORD)
    notice.get_by_role("button", name="Sign in").click()
    expect(notice).to_have_count(0)
    expect(page.locator("#new-item-text")).to_have_value("")
    assert Item.objects.filter(revision__text="Why do larches lose their needles?").count() == 1


def test_a_plain_form_stays_in_its_page_until_its_person_signs_in(people, places):
    page = people.sign_in("organizer")
    page.goto(places.of_collection("corpus:settings"))
    page.get_by_label("Name", exact=True).fill("Autumn leaves, again")
    end_session()
    page.locator("main").get_by_role("button", name="Save").first.click()
    notice = page.locator(NOTICE)
    expect(page.get_by_label("Name", exact=True)).to_have_value("Autumn leaves, again")
    notice.get_by_label("Password").fill(PASSWORD)
    notice.get_by_role("button", name="Sign in").click()
    expect(page.locator("#toasts")).to_contain_text("saved")
    places.collection.refresh_from_db()
    assert places.collection.name == "Autumn leaves, again"


def test_other_pages_lead_to_the_one_that_sends_what_waits(people, places, queue):
    page = people.sign_in("assessor")
    queue.open(page)
    end_session()
    press(page, queue)
    expect(page.locator("#outbox")).to_contain_text("Signed out")
    people.leaves = True
    sign_in(page, "assessor")
    expect(page.locator("#toasts")).to_contain_text("were not sent yet.")
    page.get_by_role("link", name="Send them").click()
    expect_saved(page, queue)
    people.complaints[:] = [one for one in people.complaints if not one.startswith("dialog")]


def test_a_reload_sends_what_waited(people, queue):
    page = people.sign_in("assessor")
    queue.open(page)
    end_session()
    press(page, queue)
    expect(page.locator("#outbox")).to_contain_text("Signed out")
    people.leaves = True
    other = page.context.new_page()
    sign_in(other, "assessor")
    page.reload()
    expect_saved(page, queue)
    people.complaints[:] = [one for one in people.complaints if not one.startswith("dialog")]


def test_what_an_earlier_version_kept_is_sent_without_its_token(people, queue):
    page = people.sign_in("assessor")
    queue.open(page)
    page.keyboard.press("3")
    expect(page.locator("#outbox")).to_contain_text("Saved")
    assert queue.saved() == ([(1, 3)], 0)
    entry = {
        "uid": "0" * 32,
        "person": page.locator("body").get_attribute("data-person"),
        "page": page.evaluate("location.pathname"),
        "place": "",
        "stack": "",
        "kind": "undo",
        "what": "undo",
        "url": page.url + "undo/",
        "body": f"csrfmiddlewaretoken={'x' * 64}&uid={'0' * 32}",
        "refusal": "Reload the page. (403)",
    }
    page.evaluate("(entry) => localStorage.setItem('rubricweb-outbox', JSON.stringify([entry]))", entry)
    page.reload()
    assert holds(page, lambda: queue.saved() == ([], 0))
