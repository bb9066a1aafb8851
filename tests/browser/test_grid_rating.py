"""Rating in the grid from the keyboard: saved in the background, undone, in conflict, without a network."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, Route, expect

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.grades.humans import Cell, rate_cell
from rubricweb.grades.models import HumanGrade
from tests.browser.inspector import WIDE


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
    grid.keyboard.press(digit)
    expect(first.locator("b")).to_have_text(digit)
    expect(grid.locator("#outbox")).to_contain_text("Saved ")
    expect(first).to_be_focused()
    expect(first).to_have_attribute("data-marks", "overridden")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press(another)
    expect(second).to_have_attribute("data-seen", "1")
    expect(grid.locator("#unsaved")).to_be_hidden()
    assert events() == [(int(digit), False), (int(another), False)]
    assert HumanGrade.objects.first().seen_rating == int(first.get_attribute("data-grade"))
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


def test_two_windows_in_conflict(grid, cut, places):
    """The second window does not overwrite the first in silence; pressing again does."""
    grid.context.route("**/events/**", lambda route: route.abort())  # neither hears of the other
    other = opened(grid.context.new_page(), places)
    digit = other_digit(grid, cell(grid, 1, 1))
    grid.keyboard.press(digit)
    expect(grid.locator("#outbox")).to_contain_text("Saved ")
    other.keyboard.press("5")
    expect(other.locator("#refused")).to_contain_text("Not saved.")
    expect(other.locator("#refused")).to_contain_text(f"There you said {digit}")
    expect(cell(other, 1, 1).locator("b")).to_have_text(digit)
    assert events() == [(int(digit), False)]
    other.get_by_role("button", name="Say 5 nonetheless").click()
    expect(other.locator("#outbox")).to_contain_text("Saved ")
    assert [rating for rating, _ in events()] == [int(digit), 5]


def test_a_lost_network_is_shown_and_made_up_for(grid, cut):
    grid.route("**/rate/**", lambda route: route.abort())
    grid.keyboard.press("4")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("1")
    expect(grid.get_by_role("alert")).to_contain_text("Not saved yet")
    for row in (1, 2):
        expect(cell(grid, row, 1)).to_have_attribute("data-unsent", "")
    assert events() == []
    grid.unroute("**/rate/**")
    expect(grid.locator("#unsaved")).to_be_hidden()
    expect(cell(grid, 2, 1)).to_have_attribute("data-seen", "1")
    assert [rating for rating, _ in events()] == [4, 1]


NOT_SENT = "**/cells/*/*/{rate,undo}/**"


def again(grid: Page, places) -> Page:
    """The page closed, as a crash or a reload would, and opened anew in the same browser."""
    page = grid.context.new_page()
    grid.close()
    return opened(page, places)


def said_elsewhere(places, link: Locator, rating: int, seen: int = 0) -> None:
    """The assessor rates the cell in another window."""
    passage, item = map(int, link.get_attribute("id")[1:].split("-"))
    cell = Cell.of(places.bank.items.get(pk=item), places.collection.passages.get(pk=passage))
    rate_cell(cell, rating=rating, by=User.objects.get(username="assessor"), seen=seen)


def test_unsent_ratings_outlive_the_page(grid, cut, places):
    grid.context.route(NOT_SENT, lambda route: route.abort())
    grid.keyboard.press("4")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("1")
    status = grid.get_by_role("status").filter(has_text="2 unsent")
    expect(status).to_have_text("Offline, 2 unsent")
    page = again(grid, places)
    expect(page.locator("#outbox")).to_have_text("Offline, 2 unsent")
    for row, digit in ((1, "4"), (2, "1")):
        expect(cell(page, row, 1).locator("b")).to_have_text(digit)
        expect(cell(page, row, 1)).to_have_accessible_name(re.compile(f"unsent: you say {digit}$"))
    assert events() == []
    page.context.unroute(NOT_SENT)
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    expect(cell(page, 2, 1)).to_have_attribute("data-seen", "1")
    expect(page.locator("[data-unsent]")).to_have_count(0)
    assert [rating for rating, _ in events()] == [4, 1]


def test_a_lost_answer_is_no_second_rating(grid, cut, places):
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    grid.context.route(NOT_SENT, lose)
    grid.keyboard.press("4")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    grid.context.unroute(NOT_SENT)
    page = again(grid, places)
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    expect(page.locator("#refused")).to_be_empty()
    assert events() == [(4, False)]


def test_a_late_conflict_waits_for_a_decision(grid, cut, places):
    grid.context.route(NOT_SENT, lambda route: route.abort())
    for digits in ("54", "2", "3"):
        for digit in digits:
            grid.keyboard.press(digit)
        grid.keyboard.press("ArrowDown")
    expect(grid.locator("#outbox")).to_have_text("Offline, 4 unsent")
    said_elsewhere(places, cell(grid, 1, 1), 1)
    said_elsewhere(places, cell(grid, 3, 1), 0)
    page = again(grid, places)
    page.context.unroute(NOT_SENT)
    refused = page.locator("#refused [data-refused]")
    expect(refused).to_have_count(2)
    page = again(page, places)
    refused = page.locator("#refused [data-refused]")
    expect(refused).to_have_count(2)
    expect(refused.filter(has_text="Your 4 of")).to_contain_text("There you said 1")
    expect(page.locator("#outbox")).to_have_text("2 unsent")
    expect(cell(page, 1, 1).locator("b")).to_have_text("1")
    assert [rating for rating, _ in events()] == [1, 0, 2]
    page.get_by_role("button", name="Say 4 nonetheless").click()
    expect(refused).to_have_count(1)
    expect(cell(page, 1, 1)).to_have_attribute("data-seen", "2")
    expect(cell(page, 1, 1)).to_be_focused()
    page.get_by_role("button", name="Drop my 3").click()
    expect(refused).to_have_count(0)
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    assert [rating for rating, _ in events()] == [1, 0, 2, 4]


def test_any_grid_of_the_bank_sends_and_no_other(grid, cut, places):
    grid.context.route(NOT_SENT, lambda route: route.abort())
    grid.keyboard.press("4")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    said_elsewhere(places, cell(grid, 1, 1), 1)
    page = grid.context.new_page()
    grid.close()
    page.context.unroute(NOT_SENT)
    other = places.collection.banks.create(name="Another")
    page.goto(reverse("review:grid", args=[other.pk, places.topic.pk]))
    page.locator("#grid[data-ready]").wait_for()
    expect(page.locator("#outbox")).to_be_hidden()
    topic = places.collection.topics.get(query_id="t2")
    page.goto(reverse("review:grid", args=[places.bank.pk, topic.pk]))
    expect(page.locator("#refused")).to_contain_text("There you said 1")
    page.get_by_role("button", name="Say 4 nonetheless").click()
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    assert [rating for rating, _ in events()] == [1, 4]


def test_another_window_shows_what_this_one_could_not_send(grid, cut, places):
    grid.context.route(NOT_SENT, lambda route: route.abort())
    other = opened(grid.context.new_page(), places)
    grid.keyboard.press("4")
    expect(cell(other, 1, 1).locator("b")).to_have_text("4")
    expect(other.locator("#outbox")).to_contain_text("1 unsent")


def test_another_account_of_the_browser_sends_nothing(grid, cut, people, places):
    set_role(User.objects.get(username="viewer"), places.collection, role=Role.ASSESSOR, by=None)
    grid.context.route(NOT_SENT, lambda route: route.abort())
    grid.keyboard.press("4")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    mine, theirs = grid.context.cookies(), people.sign_in("viewer").context.cookies()
    grid.context.clear_cookies()
    grid.context.add_cookies(theirs)
    page = again(grid, places)
    page.context.unroute(NOT_SENT)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("2")
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    expect(page.locator("[data-unsent]")).to_have_count(0)
    assert list(HumanGrade.objects.values_list("by__username", "rating")) == [("viewer", 2)]
    page.context.clear_cookies()
    page.context.add_cookies(mine)
    page = again(page, places)
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    assert HumanGrade.objects.filter(by__username="assessor").get().rating == 4


def test_what_the_server_does_not_take_can_be_dropped(grid, cut):
    grid.route(NOT_SENT, lambda route: route.fulfill(status=404))
    grid.keyboard.press("4")
    expect(grid.locator("#refused")).to_contain_text("does not take a rating (404)")
    grid.get_by_role("button", name="Drop it").click()
    expect(grid.locator("#refused")).to_be_empty()
    expect(grid.locator("#outbox")).to_be_hidden()


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


def test_the_panel_rates_without_a_network(grid, cut, places):
    grid.context.route(NOT_SENT, lambda route: route.abort())
    grid.keyboard.press("Enter")
    expect(grid.locator("#cell-title")).to_be_focused()
    grid.keyboard.press("4")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    expect(cell(grid, 1, 1).locator("b")).to_have_text("4")
    page = again(grid, places)
    page.keyboard.press("z")
    expect(page.locator("#outbox")).to_have_text("Offline, 2 unsent")
    expect(cell(page, 1, 1)).to_have_accessible_name(re.compile("unsent: undo$"))
    page.context.unroute(NOT_SENT)
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    assert events() == [(4, False), (None, True)]


def test_a_viewer_rates_nothing(people, places):
    page = opened(people.sign_in("viewer"), places)
    page.keyboard.press("4")
    expect(cell(page, 1, 1).locator("b")).to_have_count(0)
    assert events() == []


def test_filters_are_in_the_address_and_views_are_kept(grid, places):
    grid.keyboard.press("4")
    expect(grid.locator("#outbox")).to_contain_text("Saved ")
    grid.get_by_label("Passages", exact=True).select_option("mine")
    expect(grid).to_have_url(re.compile("show=mine"))
    expect(grid.locator("#grid tbody tr")).to_have_count(1)
    grid.get_by_text("Saved views").click()
    grid.get_by_label("This view as").fill("What I did")
    grid.get_by_role("button", name="Save", exact=True).click()
    expect(grid.get_by_text("View \u201cWhat I did\u201d saved.")).to_be_visible()
    grid.goto(places.grid)
    expect(grid.locator("#grid tbody tr")).to_have_count(29)
    grid.get_by_role("link", name="What I did").click()
    expect(grid.locator("#grid tbody tr")).to_have_count(1)
    grid.get_by_role("button", name="Drop the view What I did").click()
    expect(grid.get_by_role("link", name="What I did")).to_have_count(0)


def test_a_permalink_opens_its_cell(grid, people, places):
    cell(grid, 20, 2).click()
    link = grid.get_by_role("link", name="Link to this cell")
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
    page.get_by_text("Columns, versions, looks").click()
    page.keyboard.press("Escape")
    cell(page, 1, 1).focus()
    page.keyboard.press("2")
    expect(page.locator("#outbox")).to_contain_text("Saved ")
    expect(page.locator("#missing")).to_contain_text("No grade is missing")
    inspector.inspect("rated grid")
    cell(page, 1, 1).click()
    expect(page.locator("#panel #cell-title")).to_be_visible()
    inspector.inspect("rated grid with its panel")


def test_bulk_by_ticks(grid, people):
    grid.keyboard.press("Home")
    grid.keyboard.press("Space")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("Space")
    plan = grid.locator("#plan")
    expect(plan).to_contain_text("24 cells: 2 passages × 12 items (none is ticked: all that are shown).")
    grid.locator('#grid thead input[name="item"]').first.check()
    expect(plan).to_contain_text("2 cells: 2 passages × 1 item.")
    plan.get_by_role("button", name="Mark 2 as verified").click()
    expect(cell(grid, 1, 1)).to_have_attribute("data-marks", "verified")
    assert len(events()) == 2
    plan.get_by_role("button", name="Take these verdicts back").click()
    expect(cell(grid, 1, 1)).not_to_have_attribute("data-marks", re.compile("verified"))
    assert events()[2:] == [(None, True), (None, True)]
