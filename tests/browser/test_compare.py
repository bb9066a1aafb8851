"""Comparisons of runs, by keys and without them."""

from __future__ import annotations

from playwright.sync_api import expect


def test_topics_open_by_key_and_get_the_focus(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:compare"))
    opened = page.locator("#opened")
    first, second = (page.locator(".compare-topic b").nth(place).inner_text() for place in (0, 1))
    expect(opened).to_contain_text(first)
    page.keyboard.press("j")
    expect(opened).to_contain_text(second)
    expect(opened).to_be_focused()
    assert f"open={second}" in page.url
    page.keyboard.press("k")
    expect(opened).to_contain_text(first)
    page.locator(".compare-bars a").nth(1).press("Enter")
    expect(opened).to_contain_text(second)
    page.go_back()
    expect(opened).to_contain_text(first)


def test_the_opened_topic_is_in_the_window_of_a_phone(people, places):
    page = people.sign_in("viewer")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(places.of_collection("leaderboards:compare"))
    page.locator(".compare-bars a").nth(1).click()
    expect(page.locator("#opened")).to_be_focused()
    expect(page.locator("#opened")).to_be_in_viewport()


def test_plots_and_tables_are_downloaded(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:compare"))
    for name, first in (("Table, TSV", b"# "), ("Differences, SVG", b"<svg")):
        page.get_by_text("Export", exact=True).click()
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.path().read_bytes().startswith(first)
        page.keyboard.press("Escape")


def test_two_runs_are_ticked_and_compared_by_keys(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:board"))
    rows = page.locator(".board-table tbody tr")
    names = [rows.nth(place).locator(".board-run a").inner_text() for place in (0, 1)]
    page.keyboard.press("x")
    expect(rows.nth(0).get_by_role("checkbox")).to_be_checked()
    rows.nth(1).locator(".board-run a").focus()
    page.keyboard.press("x")
    expect(page.get_by_role("checkbox", name=f"Compare {names[1]}")).to_be_checked()
    page.keyboard.press("c")
    page.wait_for_url("**/compare/**")
    expect(page.locator("h1").first).to_contain_text(names[0])
    expect(page.locator("h1").first).to_contain_text(names[1])
