"""The assessor's queue in Chromium: keys, a cut connection, two assessors, undo, and blind cells."""

from __future__ import annotations

from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import rate_cell
from tests.browser.queue import SHOWN, expect_cell, expect_saved, open_queue, order_shown, rated
from tests.browser.slowness import set_offline
from tests.browser.waiting import Held, holds

OFFLINE = (
    "Failed to load resource: net::ERR_INTERNET_DISCONNECTED",
    "htmx:sendError",
    "[object Event]",  # htmx, of a stream that broke off
)


def cut(page: Page) -> None:
    """The connection, for this page too: it hears of it a little later."""
    set_offline(page, True)
    assert holds(page, "!navigator.onLine")


def test_a_whole_campaign_by_keys(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    said = page.locator("#queue-said")
    for order in range(1, 7):
        expect_cell(page, campaign, order)
        page.keyboard.press(str(order - 1))
        expect(said).to_contain_text(f"Pair {order + 1} of 6" if order < 6 else "Nothing is left")
    expect(page.get_by_role("heading", name="Nothing is left for you here")).to_be_visible()
    expect(page.get_by_text("All 6 ratings are done.")).to_be_visible()
    expect_saved(page)
    assert rated(campaign) == [(order, order - 1) for order in range(1, 7)]


def test_keys_faster_than_the_line(people, campaign_of):
    """The answer to the first rating waits until all that the page holds, half of the cells, is rated."""
    campaign = campaign_of()
    page = people.sign_in_routed("assessor")
    open_queue(page, campaign)
    saved = Held(page, "**/cells/*/", times=1)
    for rating in "123":
        page.keyboard.press(rating)
    expect(page.get_by_role("heading", name="Waiting for the next pair")).to_be_visible()
    saved.next().continue_()
    expect_cell(page, campaign, 4)
    page.keyboard.press("4")
    expect_cell(page, campaign, 5)
    expect_saved(page)
    assert rated(campaign) == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_passage_with_all_its_items_by_keys(people, campaign_of):
    """The next passage is there when the last item is rated; blind, each line gets the grader's rating."""
    campaign = campaign_of("blind", size=None)
    first, after = (campaign.cells.get(order=order) for order in (1, 13))
    assert campaign.cells.filter(passage=first.passage_id).count() == 12
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    assert page.locator("#queue-card li[data-cell]").count() == 12
    assert page.locator("#queue-card li[data-cell] .queue-pair").all_inner_texts() == [""] * 12
    expect(page.locator("#queue-card h3")).to_have_text(["Questions", "Nuggets"])
    for order in range(1, 13):
        expect_cell(page, campaign, order)
        page.keyboard.press("2")
    expect_cell(page, campaign, 13)
    expect(page.get_by_role("article", name=f"Passage {after.passage.doc_id}")).to_be_visible()
    expect(page.locator("#queue-said")).to_contain_text("Pair 13 of")
    expect(page.locator("#queue-last")).to_contain_text("you 2 grader", use_inner_text=True)
    expect_saved(page)
    assert rated(campaign) == [(order, 2) for order in range(1, 13)]


def test_back_to_an_item_of_the_passage(people, campaign_of):
    campaign = campaign_of("blind", size=None)
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("1")
    expect(page.locator("#queue-card li[data-cell]").first).to_contain_text("grader")
    expect(page.locator("#queue-card li[data-cell]").nth(1)).not_to_contain_text("grader")
    page.keyboard.press("ArrowUp")
    expect_cell(page, campaign, 1)
    page.keyboard.press("4")
    expect_cell(page, campaign, 2)
    page.locator("#queue-card li[data-cell]").nth(4).get_by_role("button", name="3, in part").click()
    expect_cell(page, campaign, 6)
    page.locator("#queue-card li[data-cell]").nth(2).get_by_role("link").click()
    expect_cell(page, campaign, 3)
    expect_saved(page)
    events = HumanGrade.objects.order_by("pk").values_list("rating", "how")
    assert list(events) == [(1, "blind"), (4, "assisted"), (3, "blind")]


def test_the_line_is_cut_in_the_middle_and_the_page_reloaded(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("1")
    expect_saved(page)
    cut(page)
    page.keyboard.press("2")
    expect_cell(page, campaign, 3)
    page.keyboard.press("3")
    expect(page.locator("#outbox")).to_have_text("Offline, 2 unsent")
    expect(page.locator("#announced")).to_contain_text("2 unsent, kept on this device")
    expect(page.get_by_role("heading", name="Waiting for the next pair")).to_be_visible()
    assert rated(campaign) == [(1, 1)]
    with page.expect_event("dialog") as warned:
        page.evaluate("location.reload()")
    assert warned.value.type == "beforeunload"
    people.complaints[:] = [one for one in people.complaints if not one.startswith("dialog")]
    set_offline(page, False)
    expect_cell(page, campaign, 4)
    expect_saved(page)
    assert rated(campaign) == [(1, 1), (2, 2), (3, 3)]
    people.complaints[:] = [one for one in people.complaints if not one.startswith(OFFLINE)]


def test_what_is_rated_and_unsent_is_not_asked_again_after_a_reload(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in_routed("assessor")
    open_queue(page, campaign)
    page.route("**/cells/*/", lambda route: route.abort())
    for rating in "123":
        page.keyboard.press(rating)
    expect(page.locator("#outbox")).to_have_text("Offline, 3 unsent")
    people.leaves = True
    page.reload()
    expect(page.get_by_role("heading", name="Waiting for the next pair")).to_be_visible()
    assert rated(campaign) == []
    page.unroute("**/cells/*/")
    expect_cell(page, campaign, 4)
    expect_saved(page)
    assert rated(campaign) == [(1, 1), (2, 2), (3, 3)]
    expected = (*OFFLINE, "Failed to load resource: net::ERR_FAILED", "dialog: beforeunload")
    people.complaints[:] = [one for one in people.complaints if not one.startswith(expected)]


def test_unsent_ratings_survive_a_closed_page(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    cut(page)
    page.keyboard.press("4")
    expect(page.locator("#outbox")).to_have_text("Offline, 1 unsent")
    other = page.context.new_page()
    page.close()
    set_offline(other, False)
    open_queue(other, campaign)
    expect_saved(other)
    expect_cell(other, campaign, 2)
    assert rated(campaign) == [(1, 4)]
    people.complaints[:] = [one for one in people.complaints if not one.startswith(OFFLINE)]


def test_two_assessors_on_one_campaign_get_other_cells(people, places, campaign_of):
    set_role(User.objects.get(username="viewer"), places.collection, role=Role.ASSESSOR, by=None)
    campaign = campaign_of(size=4)
    pages = [people.sign_in(name) for name in ("assessor", "viewer")]
    for page in pages:
        open_queue(page, campaign)
    assert [order_shown(page, campaign) for page in pages] == [1, 3]
    for page in pages:
        page.keyboard.press("2")
        page.keyboard.press("2")
        expect_saved(page)
        expect(page.get_by_role("heading", name="Nothing is left for you here")).to_be_visible()
    assert rated(campaign) == [(order, 2) for order in range(1, 5)]


def test_two_assessors_rate_one_cell_unseen_by_each_other(people, places, campaign_of):
    set_role(User.objects.get(username="viewer"), places.collection, role=Role.ASSESSOR, by=None)
    campaign = campaign_of("blind", size=1, assessors=2)
    for name, rating in (("assessor", "5"), ("viewer", "0")):
        page = people.sign_in(name)
        open_queue(page, campaign)
        assert order_shown(page, campaign) == 1
        expect(page.locator(SHOWN).locator(".queue-pair")).to_have_text("")
        page.keyboard.press(rating)
        expect(page.locator("#queue-last")).to_contain_text("grader")
    assert sorted(HumanGrade.objects.values_list("rating", flat=True)) == [0, 5]


def test_undo_goes_back_to_the_cell(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("1")
    expect_cell(page, campaign, 2)
    page.keyboard.press("z")
    expect_cell(page, campaign, 1)
    assert rated(campaign) == []
    page.keyboard.press("5")
    expect_cell(page, campaign, 2)
    expect_saved(page)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/cells/*/")
    expect_cell(page, campaign, 1)
    expect(page.locator(SHOWN).get_by_role("button", name="5, fully")).to_have_attribute(
        "aria-pressed", "true"
    )
    page.keyboard.press("4")
    expect_cell(page, campaign, 2)
    expect_saved(page)
    assert rated(campaign) == [(1, 4)]
    assert page.url.endswith(f"/rate/{campaign.pk}/")


def test_an_undone_cell_comes_back_after_a_stop(people, campaign_of):
    campaign = campaign_of(size=2)
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("1")
    expect_cell(page, campaign, 2)
    page.keyboard.press("z")
    expect_cell(page, campaign, 1)
    expect(page.locator("#queue-said")).to_contain_text("Taken back. Pair 1 of 2")
    page.get_by_role("button", name="Stop for now").click()
    page.locator(f'#waiting a[href$="/rate/{campaign.pk}/"]').click()
    expect_cell(page, campaign, 1)
    page.keyboard.press("4")
    expect_cell(page, campaign, 2)
    page.keyboard.press("5")
    expect(page.get_by_text("All 2 ratings are done.")).to_be_visible()
    assert rated(campaign) == [(1, 4), (2, 5)]


def test_a_skipped_cell_is_offered_when_nothing_else_is_left(people, campaign_of):
    campaign = campaign_of(size=1)
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("x")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Rate a pair that you skipped").click()
    expect_cell(page, campaign, 1)
    page.keyboard.press("2")
    expect(page.get_by_text("The one rating is done.")).to_be_visible()
    assert rated(campaign) == [(1, 2)]


def test_blind_without_a_line_goes_on(people, campaign_of):
    campaign = campaign_of("blind")
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    cut(page)
    page.keyboard.press("1")
    expect_cell(page, campaign, 2)
    set_offline(page, False)
    expect(page.locator("#announced")).to_have_text("Everything is saved.")
    expect_saved(page)
    assert rated(campaign) == [(1, 1)]
    people.complaints[:] = [one for one in people.complaints if not one.startswith(OFFLINE)]


def test_rated_in_another_window_shows_both(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    cell = campaign.cells.get(order=1)
    rate_cell(cell.human_cell, rating=1, by=User.objects.get(username="assessor"), seen=0)
    page.keyboard.press("5")
    page.wait_for_url("**/cells/*/?mine=5")
    expect(page.get_by_role("alert")).to_contain_text("in another window at")
    page.keyboard.press("5")
    expect_cell(page, campaign, 2)
    expect_saved(page)
    assert rated(campaign) == [(1, 5)]


def test_comment_skip_and_flags_by_keys(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("c")
    page.keyboard.type("only 2 of 3 parts")
    page.keyboard.press("Control+Enter")
    expect(page.locator(SHOWN).locator("[data-comment-said]")).to_have_text("Comment saved.")
    assert campaign.turns.get(order=1).comment == "only 2 of 3 parts"
    page.keyboard.press("2")
    expect_cell(page, campaign, 2)
    page.keyboard.press("s")
    expect(page.locator("#toasts")).to_contain_text("as misleading.")
    flagged = page.locator(SHOWN).get_by_role("button", name="Misleading item ✓ (flagged)")
    expect(flagged).to_be_visible()
    expect(page.locator("#toasts").get_by_role("button", name="Undo")).to_be_visible()
    page.keyboard.press("z")
    expect(flagged).to_have_count(0)
    assert campaign.turns.get(order=1).rating == 2, "the flag is what was done last"
    page.keyboard.press("s")
    expect(flagged).to_be_visible()
    page.reload()
    expect(flagged).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_role("button", name="The passage cannot be read")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="The passage cannot be read")).to_be_hidden()
    expect(page.locator(SHOWN).locator(".skip summary")).to_be_focused()
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Not my field")).to_be_focused()
    page.keyboard.press("Enter")
    expect_cell(page, campaign, 3)
    expect_saved(page)
    assert campaign.turns.filter(order=2, state="skipped").get().reason == "not my field"


def test_escape_leaves_the_comment_and_the_next_digit_rates(people, campaign_of):
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("c")
    page.keyboard.type("see line 3")
    page.keyboard.press("Escape")
    expect(page.locator(SHOWN)).to_be_focused()
    page.keyboard.press("4")
    expect_cell(page, campaign, 2)
    expect_saved(page)
    assert campaign.turns.get(order=1).comment == "see line 3"


def test_a_break_is_suggested_and_never_in_the_way(people, campaign_of):
    """After 45 minutes without a pause; dismissed, it is quiet again."""
    campaign = campaign_of()
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    line = page.locator("#queue-break")
    page.keyboard.press("1")
    expect_cell(page, campaign, 2)
    expect(line).to_be_hidden()
    page.evaluate(
        """() => {
          const minutes = (count) => Date.now() - count * 60_000;
          const sitting = { began: minutes(50), latest: minutes(1) };
          sessionStorage.setItem("rubricweb-sitting", JSON.stringify(sitting));
        }"""
    )
    page.keyboard.press("2")
    expect(line).to_contain_text("You have been rating for 50 minutes.")
    expect_cell(page, campaign, 3)
    line.get_by_role("button", name="Not now").click()
    expect(line).to_be_hidden()
    page.keyboard.press("3")
    expect_cell(page, campaign, 4)
    expect(line).to_be_hidden()


def test_on_a_telephone_the_keys_are_above_the_fold(people, campaign_of):
    campaign = campaign_of("blind", size=None)
    page = people.sign_in("assessor", viewport={"width": 390, "height": 844})
    open_queue(page, campaign)
    for order in (1, 2):
        expect_cell(page, campaign, order)
        button = page.locator(SHOWN).get_by_role("button", name="3, in part")
        expect(button).to_be_in_viewport(ratio=1)
        expect(page.locator("#queue-card li:visible")).to_have_count(1)
        button.click()
    expect(page.locator("#queue-last")).to_contain_text("you 3 grader", use_inner_text=True)


def test_without_javascript(people, campaign_of, client_of):
    campaign = campaign_of("blind", size=2)
    page = people.sign_in("assessor", java_script_enabled=False)
    page.goto(reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk]))
    page.get_by_role("button", name="Start rating").click()
    page.locator(SHOWN).get_by_role("button", name="3, in part").click()
    expect(page.locator(SHOWN)).to_contain_text("The grader rated")
    page.get_by_role("link", name="Keep 3, and continue").click()
    page.locator(SHOWN).get_by_role("button", name="0, not at all").click()
    page.get_by_role("button", name="Undo").click()
    expect_cell(page, campaign, 2)
    assert rated(campaign) == [(1, 3)]
