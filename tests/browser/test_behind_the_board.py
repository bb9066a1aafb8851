"""Meta-evaluation, agreement, influence, what moved, figures and published boards, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from rubricweb.leaderboards.public.actions import publish_board
from tests.browser.inspector import FITS
from tests.browser.slowness import set_offline

VIEWS = {
    "meta": "leaderboards:meta",
    "agreement": "leaderboards:agreement",
    "items": "leaderboards:influence",
    "teams": "leaderboards:influence?view=teams",
    "options": "leaderboards:influence?definition=workbench&columns=P_20&units=subtopics",
    "moved": "leaderboards:moved?was_min_grade=5&was_definition=workbench",
    "figures": "leaderboards:figures",
    "publish": "leaderboards:publish",
}


def test_pages_for_everybody(inspector_of, places):
    inspector = inspector_of("organizer")
    for name, tail in VIEWS.items():
        url_name, mark, query = tail.partition("?")
        inspector.open(f"{places.of_collection(url_name)}{mark}{query}")
        inspector.inspect(name)
    board = publish_board(places.collection, title="For all", query="", is_anonymous=True, by=None)
    visitor = inspector_of(None)
    visitor.open(board.get_absolute_url())
    expect(visitor.page.get_by_role("heading", name="For all")).to_be_visible()
    visitor.inspect("public board")


@pytest.mark.parametrize("view", ["several", "scatter", "heat", "strip", "grades", "intervals"])
def test_every_figure_is_drawn_and_downloaded(people, places, view):
    """The content policy refuses nothing: `people` complains of every error on the console."""
    page = people.sign_in("viewer")
    page.goto(f"{places.of_collection('leaderboards:figures')}?view={view}")
    page.locator("#figure .main-svg").first.wait_for()
    for kind, first in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download {kind}").click()
        assert download.value.path().read_bytes().startswith(first)


def test_a_figure_as_a_file_draws_without_a_network(people, places, tmp_path):
    page = people.sign_in("viewer")
    page.goto(f"{places.of_collection('leaderboards:figures')}?view=scatter")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download HTML").click()
    kept = tmp_path / "figure.html"
    download.value.save_as(kept)
    set_offline(page, True)
    page.goto(kept.as_uri())
    page.locator("#figure .main-svg").first.wait_for()


def test_compare_by_htmx_and_go_back(people, places):
    page = people.sign_in("viewer")
    page.goto(places.of_collection("leaderboards:meta"))
    page.get_by_label("Measures").fill("P_10")
    page.get_by_label("Measures").press("Enter")
    expect(page.get_by_role("columnheader", name="P_10 S")).to_be_visible()
    assert "measure=P_10" in page.url
    page.go_back()
    expect(page.get_by_role("columnheader", name="map S")).to_be_visible()


SCALES = "nodes => nodes.map(node => [node.getBoundingClientRect().width, node.getBoundingClientRect().x])"


def test_chips_take_a_second_line_before_they_leave_the_window(people, places):
    page = people.sign_in("viewer")
    page.set_viewport_size({"width": 1150, "height": 800})
    for address in (places.of_collection("leaderboards:moved"), places.grid):
        page.goto(address)
        assert page.evaluate(FITS), address


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
