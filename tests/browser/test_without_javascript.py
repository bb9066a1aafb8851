"""Every main path with plain HTML alone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from rubricweb.demo import PASSWORD

WORDING = "Which pigment makes autumn leaves look red?"


@pytest.fixture
def page(people, places) -> Page:
    """A developer who signed in by the form, at the bank editor."""
    page = people.visit(java_script_enabled=False)
    page.goto(places.editor)
    page.get_by_label("Username").fill("developer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="why do leaves change colour in autumn")).to_be_visible()
    return page


def item_of(page: Page, places):
    return page.locator(f"#item-{places.item.pk}")


def reword(page: Page, places) -> None:
    item_of(page, places).locator(".item-open").click()
    page.get_by_role("textbox").fill(WORDING)
    page.get_by_role("button", name="Save").click()
    expect(item_of(page, places).locator(".item-words p.prose")).to_have_text(WORDING)


def test_from_home_to_a_topic(page, places):
    page.goto("/")
    page.get_by_role("link", name=places.collection.name).first.click()
    page.get_by_role("link", name="t1", exact=True).click()
    expect(page.get_by_role("heading", name=places.topic.text)).to_be_visible()


def test_preview_and_save(page, places):
    item_of(page, places).locator(".item-open").click()
    page.get_by_role("textbox").fill(WORDING)
    page.get_by_role("button", name="Preview the impact").click()
    expect(page.locator("main")).to_contain_text(re.compile(r"29\s+passages to grade\s+0\s+already graded"))
    page.go_back()
    page.get_by_role("textbox").fill(WORDING)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Question saved.")).to_be_visible()
    expect(item_of(page, places)).to_contain_text(WORDING)


def test_retire_and_restore(page, places):
    item_of(page, places).locator("summary").click()
    item_of(page, places).get_by_role("link", name="Retire…").click()
    expect(page.locator("main")).to_contain_text("1 label changes; no run changes rank.")
    page.get_by_role("button", name="Retire").click()
    changed = page.get_by_label("Last change")
    expect(changed).to_contain_text("Question retired:")
    page.get_by_text("Retired (1)").click()
    item_of(page, places).locator("summary").click()
    item_of(page, places).get_by_role("link", name="Restore…").click()
    page.get_by_role("button", name="Restore").click()
    expect(changed).to_contain_text("Question back in the rubric:")


def test_regrade_and_cancel(page, places):
    """No worker is there, so the job waits and can be cancelled."""
    reword(page, places)
    page.get_by_role("link", name=re.compile("Missing grades")).click()
    expect(page.locator("#missing")).to_contain_text("29 grades missing")
    page.get_by_role("button", name="Re-grade").click()
    expect(page.locator("#jobs")).to_contain_text("0 of 29")
    page.get_by_role("button", name="Cancel Grade 29 pairs").click()
    page.goto(places.of_collection("grades:missing"))
    expect(page.locator("#missing")).to_contain_text("29 grades missing")


def test_exports_download(page, places):
    page.goto(places.of_collection("releases:share"))
    names = []
    for link in page.get_by_role("link", name=re.compile("^Download")).all():
        with page.expect_download() as download:
            link.click()
        names.append(download.value.suggested_filename)
        assert download.value.path().stat().st_size > 0
    assert names


def test_the_board_by_its_form(page, places):
    page.goto(places.board)
    expect(page.locator("#leaderboard caption").first).to_contain_text("Rubric-Cover@20")
    page.get_by_label("Measure").fill("ndcg_cut_10")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("#leaderboard caption").first).to_contain_text("ndcg_cut_10")
    page.get_by_role("link", name="bm25", exact=True).click()
    expect(page.get_by_role("heading", name="bm25")).to_be_visible()
