"""Rating in the grid from the keyboard: saved in the background, undone, in conflict, without a network."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from rubricweb.grades.human_models import HumanGrade
from tests.browser.inspector import WIDE
from tests.browser.waiting import Held


@pytest.fixture
def grid(people, places) -> Page:
    """An assessor's grid, the focus on the cell of the first passage and item."""
    return opened(people.sign_in_routed("assessor", viewport=WIDE), places)


def opened(page: Page, places) -> Page:
    page.goto(places.grid)
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid [tabindex="0"]').focus()
    return page


def cell(page: Page, row: int, column: int) -> Locator:
    return page.locator(f'#grid [aria-rowindex="{row + 1}"] [aria-colindex="{column + 1}"] a')


def other_digit(page: Page, place: Locator) -> str:
    """One that the grader did not give, so that it shows."""
    return "2" if place.get_attribute("data-grade") != "2" else "3"


def events() -> list[tuple[int | None, bool]]:
    return list(HumanGrade.objects.order_by("pk").values_list("rating", "is_withdrawn"))


def test_digits_rate_and_z_undoes(grid):
    first, second = cell(grid, 1, 1), cell(grid, 2, 1)
    digit, another = other_digit(grid, first), other_digit(grid, second)
    shown = first.get_attribute("data-grade")
    grid.keyboard.press(digit)
    expect(first.locator("b")).to_have_text(digit)
    expect(first).to_have_attribute("data-grade", digit)
    expect(grid.locator("#saved")).to_contain_text("Saved ")
    expect(first).to_be_focused()
    expect(first).to_have_attribute("data-marks", "overridden")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press(another)
    expect(second).to_have_attribute("data-seen", "1")
    expect(grid.locator("#outbox")).to_be_hidden()
    assert events() == [(int(digit), False), (int(another), False)]
    assert HumanGrade.objects.first().seen_rating == int(shown)
    grid.keyboard.press("ArrowRight")
    grid.keyboard.press("z")
    expect(second).to_be_focused()
    expect(second.locator("b")).to_have_count(0)
    grid.keyboard.press("z")
    expect(first).to_be_focused()
    expect(first.locator("b")).to_have_count(0)
    expect(first).to_have_attribute("data-seen", "2")
    assert events()[2:] == [(None, True), (None, True)]


def test_the_same_digit_verifies(grid):
    first = cell(grid, 1, 1)
    grid.keyboard.press(first.get_attribute("data-grade"))
    expect(first).to_have_attribute("data-marks", "verified")
    expect(first.locator("b")).to_have_count(0)
    expect(first).to_have_accessible_name(re.compile("verified, people say"))


def test_quick_keys_are_all_saved_in_order(grid):
    for digit in "01234":
        grid.keyboard.press(digit)
        grid.keyboard.press("ArrowDown")
    expect(cell(grid, 5, 1)).to_have_attribute("data-seen", "1")
    assert [rating for rating, _ in events()] == [0, 1, 2, 3, 4]
    for digit in "543":
        grid.keyboard.press(digit)
    expect(cell(grid, 6, 1)).to_have_attribute("data-seen", "3")
    assert [rating for rating, _ in events()][5:] == [5, 4, 3]


@pytest.fixture
def cut(people):
    """A test that cuts the network: browsers complain of that, and of nothing else."""
    yield
    people.complaints[:] = [said for said in people.complaints if not re.search(r"ERR_FAILED|Event\]", said)]


def test_a_grid_on_its_way_takes_no_rating_back(people, cut, places):
    """It was rendered before the rating was saved: shown now it would put the next digit in conflict."""
    page = people.sign_in_routed("assessor", viewport=WIDE)
    page.route("**/events/**", lambda route: route.abort())  # or the rating's event asks for another grid
    opened(page, places)
    rendered = page.evaluate(
        "fetch(location, { headers: { 'HX-Request': 'true' } }).then((found) => found.text())"
    )
    grids = Held(page, "**/topics/*/?view=grid")
    page.evaluate("htmx.trigger('#grid-live [data-live]', 'again')")
    late = grids.next()
    page.keyboard.press("2")
    first = cell(page, 1, 1)
    expect(first).to_have_attribute("data-seen", "1")
    page.locator("#grid").evaluate("(grid) => (grid.dataset.old = '')")
    late.fulfill(body=rendered)
    instead = grids.next()
    expect(first).to_have_attribute("data-seen", "1")
    instead.continue_()
    expect(page.locator("#grid[data-old]")).to_have_count(0)
    page.keyboard.press("3")
    expect(first).to_have_attribute("data-seen", "2")
    assert [rating for rating, _ in events()] == [2, 3]


def test_two_windows_in_conflict(grid, cut, places):
    """The second window does not overwrite the first in silence; pressing again does."""
    grid.context.route("**/events/**", lambda route: route.abort())  # neither hears of the other
    other = opened(grid.context.new_page(), places)
    other.route("**/rate/**", lambda route: route.abort())  # either may send what waits in the outbox of both
    digit = other_digit(grid, cell(grid, 1, 1))
    grid.keyboard.press(digit)
    expect(grid.locator("#saved")).to_contain_text("Saved ")
    other.unroute("**/rate/**")
    other.keyboard.press("5")
    expect(other.locator("#saved")).to_contain_text("Not saved.")
    expect(other.locator("#saved")).to_contain_text(f"In another window you rated it {digit}")
    expect(cell(other, 1, 1).locator("b")).to_have_text(digit)
    assert events() == [(int(digit), False)]
    other.get_by_role("button", name="Rate it 5 instead").click()
    expect(other.locator("#saved")).to_contain_text("Saved ")
    assert [rating for rating, _ in events()] == [int(digit), 5]


def test_a_lost_network_is_shown_and_made_up_for(grid, cut):
    grid.route("**/rate/**", lambda route: route.abort())
    grid.keyboard.press("4")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("1")
    expect(grid.locator("#outbox")).to_have_text("Offline, 2 unsent")
    for row in (1, 2):
        expect(cell(grid, row, 1)).to_have_attribute("data-unsent", "")
    assert events() == []
    grid.unroute("**/rate/**")
    expect(grid.locator("#outbox")).to_be_hidden()
    expect(cell(grid, 2, 1)).to_have_attribute("data-seen", "1")
    assert [rating for rating, _ in events()] == [4, 1]


def test_unsent_ratings_outlive_a_reload(people, grid, cut):
    grid.route("**/rate/**", lambda route: route.abort())
    for keys in ("4", "ArrowDown", "1", "2"):
        grid.keyboard.press(keys)
    expect(grid.locator("#outbox")).to_have_text("Offline, 3 unsent")
    people.leaves = True
    grid.reload()
    for row, digit in ((1, "4"), (2, "2")):
        expect(cell(grid, row, 1)).to_have_attribute("data-unsent", "")
        expect(cell(grid, row, 1).locator("b")).to_have_text(digit)
    assert events() == []
    grid.unroute("**/rate/**")
    expect(grid.locator("#grid [data-unsent]")).to_have_count(0)
    assert [rating for rating, _ in events()] == [4, 1, 2]
    assert "dialog: beforeunload " in people.complaints  # the page asked first
    people.complaints.remove("dialog: beforeunload ")
    grid.reload()
    expect(cell(grid, 2, 1)).to_have_attribute("data-seen", "2")
    assert len(events()) == 3


def test_a_rating_of_what_is_there_no_more_does_not_keep_others_waiting(grid, cut, places):
    grid.route("**/rate/**", lambda route: route.abort())
    grid.keyboard.press("4")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("1")
    expect(grid.locator("#outbox")).to_have_text("Offline, 2 unsent")
    places.topic.pool.get(passage__doc_id="d110").delete()
    grid.unroute("**/rate/**")
    expect(grid.locator("#saved")).to_contain_text("Saved ")
    assert [rating for rating, _ in events()] == [1]


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_refused_rating_is_shown_and_others_still_go(grid, cut, people, status):
    grid.route("**/rate/**", lambda route: route.fulfill(status=status, body="refused"), times=1)
    first, second = cell(grid, 1, 1), cell(grid, 2, 1)
    grid.keyboard.press("4")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("1")
    refused = grid.locator("#refused")
    expect(refused).to_contain_text("Not saved: rating 4, passage ")
    expect(refused).to_contain_text(f"({status})")
    expect(second).to_have_attribute("data-seen", "1")
    expect(first).to_have_attribute("data-unsent", "")
    assert [rating for rating, _ in events()] == [1]
    refused.get_by_role("button", name="Try again").click()
    expect(first).to_have_attribute("data-seen", "1")
    expect(refused).to_be_empty()
    assert [rating for rating, _ in events()] == [1, 4]
    people.complaints[:] = [one for one in people.complaints if str(status) not in one]


def test_what_follows_a_refused_rating_of_the_same_cell(grid, cut):
    """An undo takes the refused rating along; another rating takes its place."""
    ratings = Held(grid, "**/rate/**", times=1)
    first = cell(grid, 1, 1)
    for key in ("4", "z", "3", "2"):
        grid.keyboard.press(key)
    ratings.next().fulfill(status=403, body="refused")
    expect(first).to_have_attribute("data-seen", "2")
    expect(grid.locator("#refused")).to_be_empty()
    assert events() == [(3, False), (2, False)]


def test_discarding_a_refused_rating_shows_the_cell_as_it_is(grid, cut):
    grid.route("**/rate/**", lambda route: route.fulfill(status=403, body="refused"))
    first = cell(grid, 1, 1)
    grid.keyboard.press(other_digit(grid, first))
    grid.locator("#refused").get_by_role("button", name="Discard").click()
    expect(first.locator("b")).to_have_count(0)
    expect(first).not_to_have_attribute("data-unsent", "")
    assert events() == []


def open_panel(page: Page) -> None:
    """From then on it follows the focus, which is back on its cell."""
    page.keyboard.press("Enter")
    expect(page.locator("#cell-title")).to_be_focused()
    page.keyboard.press("Escape")


def test_the_panel_opens_on_demand_and_closes(grid):
    panel = grid.locator("#panel")
    grid.keyboard.press("ArrowDown")
    expect(panel).to_be_hidden()
    open_panel(grid)
    expect(panel).to_be_visible()
    grid.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(cell(grid, 2, 1)).to_be_focused()
    cell(grid, 3, 1).click()
    expect(grid.locator("#cell-title")).to_be_visible()
    grid.get_by_role("button", name="Close the panel").click()
    expect(panel).to_be_hidden()
    expect(cell(grid, 3, 1)).to_be_focused()


def test_who_rates_sees_what_they_rate(grid):
    grid.keyboard.press("4")
    doc_id = grid.locator('#grid [aria-rowindex="2"] .doc-id').inner_text()
    expect(grid.locator("#panel #cell-title")).to_have_text(doc_id)


def test_the_panel_follows_the_focus(grid):
    open_panel(grid)
    panel = grid.locator("#panel")
    for key, row, column in (("ArrowDown", 2, 1), ("ArrowRight", 2, 2), ("ArrowDown", 3, 2)):
        grid.keyboard.press(key)
        place = cell(grid, row, column)
        expect(place).to_be_focused()
        expect(place).to_have_attribute("aria-current", "true")
        doc_id = grid.locator(f'#grid [aria-rowindex="{row + 1}"] .doc-id').inner_text()
        expect(panel.locator("#cell-title")).to_have_text(doc_id)
        expect(panel).to_have_attribute("aria-busy", "false")


def test_the_panel_never_shows_another_cell_than_the_one_that_a_digit_rates(grid):
    """While a cell loads, its name stands in the panel, and nothing of the cell before."""
    first, second = cell(grid, 1, 1), cell(grid, 1, 2)
    panel = grid.locator("#panel")
    open_panel(grid)
    place = second.get_attribute("href").split("?")[0].removeprefix("..")
    cells = Held(grid, f"**{place}**", times=1)
    grid.keyboard.press("ArrowUp")  # a head: the panel stays
    grid.keyboard.press("ArrowRight")
    grid.keyboard.press("ArrowDown")
    expect(second).to_be_focused()
    expect(panel).to_contain_text(second.get_attribute("aria-label"))
    expect(panel.locator("#cell-title")).to_have_count(0)
    expect(first).not_to_have_attribute("aria-current", "true")
    cells.next().continue_()
    expect(panel.locator("#cell-title")).to_be_visible()


def test_escape_and_a_saved_comment_lead_back_to_the_cell(grid):
    first = cell(grid, 1, 1)
    open_panel(grid)
    grid.keyboard.press("c")
    grid.keyboard.type("see line 2")
    grid.keyboard.press("Escape")
    expect(first).to_be_focused()
    grid.keyboard.press("c")
    grid.keyboard.press("Control+Enter")
    expect(grid.locator(".thread")).to_be_focused()
    expect(grid.locator(".thread")).to_contain_text("see line 2")
    grid.keyboard.press("Escape")
    expect(first).to_be_focused()
    grid.keyboard.press("4")
    expect(first).to_have_attribute("data-seen", "1")


def test_the_panel_rates_too(grid):
    first = cell(grid, 1, 1)
    digit = other_digit(grid, first)
    grid.keyboard.press("Enter")
    expect(grid.locator("#cell-title")).to_be_focused()
    grid.keyboard.press(digit)
    mine = grid.locator("#panel").get_by_role("button", name=digit, exact=True)
    expect(mine).to_have_attribute("aria-pressed", "true")
    expect(first.locator("b")).to_have_text(digit)
    grid.keyboard.press("z")
    expect(mine).to_have_attribute("aria-pressed", "false")
    expect(first.locator("b")).to_have_count(0)


def test_a_viewer_rates_nothing(people, places):
    page = opened(people.sign_in("viewer"), places)
    page.keyboard.press("4")
    expect(cell(page, 1, 1).locator("b")).to_have_count(0)
    assert events() == []


def test_filters_are_in_the_address_and_views_are_kept(grid, places):
    grid.keyboard.press("4")
    expect(grid.locator("#saved")).to_contain_text("Saved ")
    grid.get_by_label("Passages", exact=True).select_option("mine")
    expect(grid).to_have_url(re.compile("show=mine"))
    expect(grid.locator("#grid tbody tr")).to_have_count(1)
    grid.get_by_text("Views", exact=True).click()
    grid.get_by_label("Save this view as").fill("What I did")
    grid.get_by_role("button", name="Save", exact=True).click()
    expect(grid.get_by_text("View \u201cWhat I did\u201d saved.")).to_be_visible()
    grid.goto(places.grid)
    expect(grid.locator("#grid tbody tr")).to_have_count(29)
    grid.get_by_text("Views 1").click()
    grid.get_by_role("link", name="What I did").click()
    expect(grid.locator("#grid tbody tr")).to_have_count(1)
    grid.get_by_text("Views 1").click()
    grid.get_by_role("button", name="Delete the view What I did").click()
    expect(grid.get_by_role("link", name="What I did")).to_have_count(0)


def test_a_permalink_opens_its_cell(grid, people, places):
    cell(grid, 20, 2).click()
    link = grid.get_by_role("link", name="Link to this pair")
    other = people.sign_in("viewer", viewport=WIDE)
    other.goto(link.get_attribute("href"))
    expect(other.locator("#panel #cell-title")).to_have_text(grid.locator("#cell-title").inner_text())
    expect(cell(other, 20, 2)).to_have_attribute("aria-current", "true")


def test_ticks_outlive_a_live_refresh(grid):
    grid.keyboard.press("Home")
    grid.keyboard.press("Space")
    box = grid.locator('#grid tbody input[name="passage"]').first
    expect(box).to_be_checked()
    grid.keyboard.press("ArrowRight")
    grid.locator("#grid").evaluate("(grid) => (grid.dataset.old = 1)")
    grid.keyboard.press("3")
    expect(grid.locator("#grid[data-old]")).to_have_count(0)  # the rating's own event
    expect(box).to_be_checked()
    expect(cell(grid, 1, 1)).to_be_focused()


def test_accessible(inspector_of, places):
    inspector = inspector_of("assessor")
    inspector.open(places.grid)
    page = opened(inspector.page, places)
    page.get_by_text("More", exact=True).click()
    cell(page, 1, 1).focus()
    page.keyboard.press("2")
    expect(page.locator("#saved")).to_contain_text("Saved ")
    expect(page.locator("#missing")).to_be_empty()
    expect(page.locator("#panel #cell-title")).to_be_visible()
    inspector.inspect("rated grid with its menu and panel")


def test_bulk_by_ticks(grid, people):
    grid.keyboard.press("Home")
    grid.keyboard.press("Space")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("Space")
    plan = grid.locator("#plan")
    expect(plan).to_contain_text("24 pairs: 2 passages × 12 items (none ticked: all that are shown).")
    grid.locator('#grid thead input[name="item"]').first.check()
    expect(plan).to_contain_text("2 pairs: 2 passages × 1 item.")
    plan.get_by_role("button", name="Mark 2 as verified").click()
    expect(cell(grid, 1, 1)).to_have_attribute("data-marks", "verified")
    assert len(events()) == 2
    plan.get_by_role("button", name="Undo these verdicts").click()
    expect(cell(grid, 1, 1)).not_to_have_attribute("data-marks", re.compile("verified"))
    assert events()[2:] == [(None, True), (None, True)]
