"""How sure are we, what moved and published boards, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from rubricweb.leaderboards.actions import publish_board
from tests.browser.inspector import FITS

SURE = {
    "sure": "",
    "table": "?table=teams",
    "options": "?definition=workbench&columns=P_20&units=subtopics",
}


def test_pages_for_everybody(inspector_of, places):
    inspector = inspector_of("organizer")
    compare = places.of_collection("leaderboards:compare")
    inspector.open(f"{compare}?then_min_grade=5&then_definition=workbench")
    inspector.inspect("then and now")
    for name, tail in SURE.items():
        inspector.open(f"{places.of_collection('leaderboards:sure')}{tail}")
        inspector.inspect(name)
    board = publish_board(places.collection, title="For all", query="", is_anonymous=True, by=None)
    visitor = inspector_of(None)
    visitor.open(board.get_absolute_url())
    expect(visitor.page.get_by_role("heading", name="For all")).to_be_visible()
    visitor.inspect("public board")


def test_every_picture_is_downloaded(people, places):
    """The content policy refuses nothing: `people` complains of every error on the console."""
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:sure"))
    pictures = page.locator(".picture", has=page.locator("svg[data-plot]"))
    names = pictures.evaluate_all("nodes => nodes.map(node => node.id)")
    assert {"order", "judged", "items", "thresholds"} <= set(names)
    for name in names:
        picture = page.locator(f"#{name}")
        picture.locator("summary", has_text="Table").first.click()
        for kind, first in (("TSV", b"# "), ("SVG", b"<svg"), ("PNG", b"\x89PNG")):
            with page.expect_download() as download:
                picture.get_by_role("link", name=kind, exact=True).click()
            assert download.value.path().read_bytes().startswith(first)


def test_a_table_is_fetched_and_copied_by_keys(people, places):
    page = people.sign_in("viewer")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(places.of_collection("leaderboards:sure"))
    picture = page.locator("#order")
    picture.locator("summary", has_text="Table").focus()
    page.keyboard.press("Enter")
    expect(picture.get_by_role("table")).to_be_visible()
    expect(picture.locator("summary", has_text="Table")).to_be_focused()
    address = page.url
    picture.locator("summary", has_text="Copy as").press("Enter")
    for label, start in (("Copy LaTeX", "% "), ("Copy TSV", "# ")):
        picture.get_by_role("button", name=label).press("Enter")
        expect(page.locator("#announced")).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()").startswith(start)
    assert page.url == address


def test_a_plot_is_one_stop_whose_marks_arrows_reach(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:sure"))
    marks = page.locator("#thresholds svg a")
    marks.first.focus()
    page.keyboard.press("ArrowRight")
    expect(marks.nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('svg')") is None
    marks.nth(2).focus()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "min_grade=3" in url)


def test_compare_by_htmx_and_go_back(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:sure"))
    page.get_by_label("Measure", exact=True).fill("P_10")
    page.get_by_label("Measure", exact=True).press("Enter")
    expect(page.get_by_text("Above the diagonal the grader gives more")).to_be_visible()
    assert "measure=P_10" in page.url
    page.go_back()
    expect(page.get_by_text("Above the diagonal the grader gives more")).to_have_count(0)


SCALES = "nodes => nodes.map(node => [node.getBoundingClientRect().width, node.getBoundingClientRect().x])"


def test_chips_and_menus_stay_in_the_window(people, places):
    page = people.sign_in("viewer")
    page.set_viewport_size({"width": 1150, "height": 800})
    for address in (f"{places.of_collection('leaderboards:compare')}?view=then", places.grid):
        page.goto(address)
        assert page.evaluate(FITS), address
    for menu in page.locator("details.menu:visible").all():
        menu.locator("summary").click()
        expect(menu.locator(".menu-body")).to_be_in_viewport(ratio=1)
        assert page.evaluate(FITS), menu
        page.keyboard.press("Escape")


def test_a_menu_closes_when_the_focus_leaves_it(people, places):
    page = people.sign_in("viewer")
    page.goto(places.board)
    columns = page.locator("details.menu", has_text="Columns")
    columns.locator("summary").press("Enter")
    columns.get_by_label("Further columns").press("Tab")
    expect(columns).to_have_attribute("open", "")
    columns.get_by_role("link").last.press("Tab")
    expect(columns).not_to_have_attribute("open", "")


def test_on_paper_every_bar_is_on_the_axis(people, places):
    """Each row has a drawing of its own, which must keep the scale and the place of the axis above it."""
    page = people.sign_in("viewer")
    page.goto(places.board)
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Where you are")).to_be_visible()
    expect(page.locator(".toolbar, .tabs, .brand").locator("visible=true")).to_have_count(0)
    axis, *rows = page.locator(".board-table .board-axis").evaluate_all(SCALES)
    assert len(rows) > 1
    assert all(row == pytest.approx(axis) for row in rows)
