"""Comments and ratings that were not saved at once: kept, shown and sent again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.queue import SHOWN, expect_cell, expect_saved, open_queue, rated
from tests.browser.waiting import Held


def test_a_comment_is_kept_when_one_stops(people, campaign_of):
    campaign = campaign_of(size=2)
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    page.keyboard.press("c")
    page.keyboard.type("see line 3")
    page.get_by_role("button", name="Stop for now").click()
    page.locator(f'#waiting a[href$="/rate/{campaign.pk}/"]').click()
    expect_cell(page, campaign, 1)
    expect(page.get_by_role("textbox", name="Note (optional)")).to_have_value("see line 3")
    page.get_by_role("textbox", name="Note (optional)").fill("see line 4")
    page.get_by_text("Skip…").click()
    page.get_by_role("button", name="Not my field").click()
    expect_cell(page, campaign, 2)
    expect_saved(page)
    assert campaign.turns.get(order=1, state="skipped").comment == "see line 4"


def test_a_comment_that_was_typed_outlives_a_reload(people, campaign_of):
    campaign = campaign_of(size=2)
    page = people.sign_in("assessor")
    open_queue(page, campaign)
    comment = page.locator(SHOWN).get_by_role("textbox", name="Note (optional)")
    comment.fill("see line 3")
    page.reload()
    expect(comment).to_have_value("see line 3")
    expect(page.locator(SHOWN)).to_contain_text("Not saved yet: the comment is kept on this device.")
    page.get_by_role("button", name="Save the note").click()
    expect(page.locator(SHOWN)).to_contain_text("Comment saved.")
    page.reload()
    expect(comment).to_have_value("see line 3")
    expect(page.locator(SHOWN)).not_to_contain_text("Not saved yet")
    expect(page.locator(SHOWN)).to_be_focused()  # the scripts are there
    comment.fill("see line 4")
    page.reload()
    expect(comment).to_have_value("see line 4")
    page.keyboard.press("3")
    expect_cell(page, campaign, 2)
    expect_saved(page)
    assert campaign.turns.get(order=1).comment == "see line 4"
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('draft-'))") == []


def test_a_comment_outlives_the_beat(people, campaign_of):
    campaign = campaign_of(size=2)
    page = people.sign_in_routed("assessor")
    beat = Held(page, "**/beat/", times=1)
    open_queue(page, campaign)
    comment = page.locator(SHOWN).get_by_role("textbox", name="Note (optional)")
    comment.fill("see line 3")
    with page.expect_response("**/beat/"):
        beat.next().continue_()
    page.reload()
    expect(comment).to_have_value("see line 3")


def test_a_comment_typed_while_the_rating_is_on_its_way_stays(people, campaign_of):
    campaign = campaign_of(size=None)
    page = people.sign_in_routed("assessor")
    open_queue(page, campaign)
    saved = Held(page, "**/cells/*/", times=1)
    page.keyboard.press("3")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("c")
    page.keyboard.type("see line ")
    saved.next().continue_()
    expect_saved(page)
    page.keyboard.type("3")
    comment = page.locator(SHOWN).get_by_role("textbox", name="Note (optional)")
    expect(comment).to_be_focused()
    expect(comment).to_have_value("see line 3")


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_refused_rating_is_shown_and_others_still_go(people, campaign_of, status):
    campaign = campaign_of()
    page = people.sign_in_routed("assessor")
    open_queue(page, campaign)
    page.route("**/cells/*/", lambda route: route.fulfill(status=status, body="refused"), times=1)
    page.keyboard.press("1")
    refused = page.locator("#refused")
    expect(refused).to_contain_text("Not saved: 1 for pair 1.")
    expect(refused).to_contain_text(f"({status})")
    expect_cell(page, campaign, 2)
    page.keyboard.press("2")
    expect_saved(page)
    assert rated(campaign) == [(2, 2)]
    expect_cell(page, campaign, 3)
    refused.get_by_role("button", name="Try again").click()
    expect(refused).to_be_empty()
    expect_saved(page)
    assert rated(campaign) == [(1, 1), (2, 2)]
    people.complaints[:] = [one for one in people.complaints if str(status) not in one]


def test_a_discarded_rating_comes_up_again(people, campaign_of):
    campaign = campaign_of(size=2)
    page = people.sign_in_routed("assessor")
    open_queue(page, campaign)
    page.route("**/cells/*/", lambda route: route.fulfill(status=403, body="refused"), times=1)
    page.keyboard.press("1")
    page.locator("#refused").get_by_role("button", name="Discard").click()
    page.keyboard.press("2")
    expect_cell(page, campaign, 1)
    page.keyboard.press("5")
    expect(page.get_by_text("All 2 ratings are done.")).to_be_visible()
    assert rated(campaign) == [(1, 5), (2, 2)]
