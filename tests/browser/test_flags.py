"""Flags and comments: from the grid by keyboard, in two windows, in conflict, and never lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from rubricweb.accounts.models import User
from rubricweb.review.flags import actions
from rubricweb.review.models import Flag, Kind, Subject
from tests.browser.inspector import WIDE
from tests.browser.waiting import Held

WORDS = "Only the topic's words."
DEAF = "window.EventSource = class extends EventTarget { close() {} };"
"""No news arrive in this window."""


@pytest.fixture
def grid(people, places) -> Page:
    page = people.sign_in_routed("assessor", viewport=WIDE)
    page.goto(f"{places.grid}&groups=none")
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid td [tabindex="0"]').focus()
    return page


def subject(places, *, item: bool = True, passage: bool = True) -> Subject:
    row = places.topic.pool.order_by("position").first().passage
    return Subject(places.bank, places.topic, places.item if item else None, row if passage else None)


@pytest.fixture
def flag(places) -> Flag:
    return actions.open_flag(
        subject(places), kind=Kind.SPURIOUS, text=WORDS, by=User.objects.get(username="assessor")
    )


def new_text(page: Page) -> Locator:
    return page.locator("#panel .new-flag textarea")


def thread(page: Page) -> Locator:
    return page.locator(".thread")


def test_a_flag_of_the_focused_cell_by_keyboard(grid, places):
    grid.keyboard.press("s")
    expect(new_text(grid)).to_be_focused()
    expect(grid.get_by_role("radio", name="misleading")).to_be_checked()
    grid.keyboard.type("swrx?5")
    expect(new_text(grid)).to_have_value("swrx?5")
    grid.keyboard.press("Control+Enter")
    expect(thread(grid)).to_be_focused()
    expect(thread(grid)).to_contain_text("swrx?5")
    expect(new_text(grid)).to_have_value("")
    saved = Flag.objects.get()
    assert (saved.kind, saved.item, saved.by.username) == ("spurious", places.item, "assessor")
    cell = grid.locator(f"#c{saved.passage_id}-{saved.item_id}")
    expect(cell).to_have_attribute("aria-label", re.compile("1 open flag$"))
    grid.keyboard.press("Escape")
    expect(cell).to_be_focused()
    grid.keyboard.press("Enter")
    expect(grid.locator("#cell-title")).to_be_focused()
    grid.keyboard.press("s")
    expect(new_text(grid)).to_be_focused()


def test_a_live_refresh_leaves_the_flags_that_are_about_to_open(grid, places):
    """News give the focused cell its focus again while the answer is on its way."""
    flags = Held(grid, re.compile("/flags/.*panel=1"))
    grid.keyboard.press("u")
    expect(grid.locator("#panel")).to_have_attribute("aria-busy", "true")
    cell = grid.locator('#grid td [tabindex="0"]')
    cell.evaluate("(cell) => { cell.blur(); cell.focus(); }")
    grid.wait_for_timeout(200)
    flags.next().continue_()
    expect(new_text(grid)).to_be_focused()
    expect(grid.locator("#panel h2")).to_have_text("Flags of a passage")


def test_uncovered_is_of_the_passage_and_heads_are_flagged_too(grid, places):
    passage = subject(places).passage
    grid.keyboard.press("u")
    expect(grid.locator("#panel h2")).to_have_text("Flags of a passage")
    expect(grid.get_by_role("radio", name="not covered")).to_be_checked()
    grid.keyboard.press("Control+Enter")
    expect(thread(grid)).to_be_focused()
    grid.keyboard.press("Escape")
    expect(grid.locator(f"#c{passage.pk}-{places.item.pk}")).to_be_focused()
    grid.keyboard.press("ArrowUp")
    expect(grid.locator(f"#h{places.item.pk}")).to_be_focused()
    grid.keyboard.press("c")
    expect(grid.locator("#panel h2")).to_have_text("Flags of a question")
    expect(new_text(grid)).to_be_focused()
    grid.keyboard.type("Too easy.")
    grid.keyboard.press("Control+Enter")
    expect(thread(grid)).to_contain_text("Too easy.")
    assert set(Flag.objects.values_list("kind", "item", "passage")) == {
        ("uncovered", None, passage.pk),
        ("comment", places.item.pk, None),
    }
    expect(grid.locator(f"#p{passage.pk} .flag-mark")).to_have_text(re.compile(r"1\s+open flag"))
    expect(grid.locator(f"#i{places.item.pk} .flag-mark")).to_have_text(re.compile(r"1\s+open flag"))


def test_a_viewer_sees_the_threads_but_no_form(people, places, flag):
    page = people.sign_in("viewer", viewport=WIDE)
    page.goto(f"{places.grid}&groups=none")
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid td [tabindex="0"]').focus()
    page.keyboard.press("s")
    expect(thread(page)).to_contain_text(WORDS)
    expect(page.locator("#panel textarea")).to_have_count(0)


def test_a_draft_survives_other_cells_live_news_and_a_reload(grid, places):
    grid.keyboard.press("c")
    expect(new_text(grid)).to_be_focused()
    grid.keyboard.type("Half a thou")
    theirs = actions.open_flag(
        subject(places), kind=Kind.UNCLEAR, text="Theirs.", by=User.objects.get(username="developer")
    )
    expect(grid.locator(f"#flag-{theirs.pk}")).to_be_visible()
    expect(new_text(grid)).to_be_focused()
    grid.keyboard.type("ght")
    expect(new_text(grid)).to_have_value("Half a thought")
    grid.keyboard.press("Tab")
    grid.keyboard.press("Escape")
    grid.keyboard.press("ArrowDown")
    grid.keyboard.press("c")
    expect(new_text(grid)).to_be_focused()
    expect(new_text(grid)).to_have_value("")
    grid.reload()
    grid.locator("#grid[data-ready]").wait_for()
    grid.locator('#grid td [tabindex="0"]').focus()
    grid.keyboard.press("c")
    expect(new_text(grid)).to_have_value("Half a thought")
    grid.keyboard.press("Control+Enter")
    expect(grid.locator("#panel .said-text").last).to_have_text("Half a thought")
    expect(new_text(grid)).to_have_value("")
    grid.reload()
    grid.locator("#grid[data-ready]").wait_for()
    grid.locator('#grid td [tabindex="0"]').focus()
    grid.keyboard.press("c")
    expect(new_text(grid)).to_have_value("")


def test_a_lost_connection_keeps_the_words_and_sending_again_saves_once(people, grid, places):
    grid.keyboard.press("c")
    expect(new_text(grid)).to_be_focused()
    grid.keyboard.type("Offline.")
    grid.route(
        "**/flags/?**", lambda route: route.abort() if route.request.method == "POST" else route.continue_()
    )
    grid.keyboard.press("Control+Enter")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    grid.keyboard.type(" Again.")
    grid.keyboard.press("Control+Enter")
    expect(new_text(grid)).to_have_value("Offline. Again.")
    expect(grid.locator("#outbox")).to_have_text("Offline, 1 unsent")
    grid.unroute_all()
    expect(thread(grid)).to_contain_text("Offline. Again.")
    expect(new_text(grid)).to_have_value("")
    assert Flag.objects.get().events.count() == 1
    people.complaints = [
        words for words in people.complaints if "ERR_FAILED" not in words and "sendError" not in words
    ]


def test_reply_and_resolve_in_two_windows(people, places, flag):
    pages = [people.sign_in(name) for name in ("assessor", "developer")]
    for page in pages:
        page.goto(flag.get_absolute_url())
    assessor, developer = pages
    developer.keyboard.press("c")
    expect(developer.get_by_label("Reply")).to_be_focused()
    developer.keyboard.type("Which words?")
    developer.keyboard.press("Control+Enter")
    expect(thread(assessor)).to_contain_text("Which words?")
    expect(developer.get_by_label("Reply")).to_be_focused()
    expect(developer.get_by_label("Reply")).to_have_value("")
    assessor.get_by_label("Reply").fill("Maple and red.")
    assessor.get_by_role("button", name="Reply").click()
    expect(thread(developer)).to_contain_text("Maple and red.")
    developer.get_by_label("Assign to").select_option("Developer")
    developer.get_by_role("button", name="Assign").click()
    expect(thread(assessor)).to_contain_text("assigned to Developer")
    developer.get_by_label("Reply").fill("Reworded.")
    developer.get_by_role("button", name="Resolve").click()
    expect(thread(assessor).locator(".badge")).to_have_text("resolved")
    expect(thread(developer)).to_be_focused()
    assessor.get_by_role("button", name="Reopen").click()
    expect(thread(developer).locator(".badge")).to_have_text("open")
    said = list(flag.events.values_list("verb", "by__username"))
    assert said == [
        ("opened", "assessor"),
        ("replied", "developer"),
        ("replied", "assessor"),
        ("assigned", "developer"),
        ("resolved", "developer"),
        ("reopened", "assessor"),
    ]


def test_what_is_sent_between_live_fetches_is_sent(people, places, flag):
    """One is under way, another waits for it, a third comes: none takes the place of the reply."""
    page = people.sign_in_routed("assessor")
    page.add_init_script(DEAF)
    page.goto(flag.get_absolute_url())
    threads = Held(page, f"**{flag.get_absolute_url()}", times=1)
    fetch = "htmx.trigger('#threads-live [data-live]', 'again')"
    page.evaluate(f"{fetch}; {fetch}")
    late = threads.next()
    page.get_by_label("Reply").fill("Maple and red.")
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.evaluate(f"document.querySelector('.thread form button').click(); {fetch}")
    expect(thread(page)).to_contain_text("Maple and red.")
    page.locator("#threads").evaluate("(threads) => (threads.dataset.old = '')")
    late.fulfill(body='<div id="threads">rendered before the reply</div>')
    expect(page.locator("#threads[data-old]")).to_have_count(0)
    expect(thread(page)).to_contain_text("Maple and red.")
    assert [event.text for event in flag.events.all()] == [WORDS, "Maple and red."]


def test_a_conflict_shows_both_and_loses_nothing(people, places, flag):
    page = people.sign_in("developer")
    page.add_init_script(DEAF)
    page.goto(flag.get_absolute_url())
    actions.reply(flag, text="Wait for me!", by=User.objects.get(username="assessor"))
    page.get_by_label("Reply").fill("Done.")
    page.get_by_role("button", name="Resolve").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("Assessor replied in the meantime. Your change was not saved")
    expect(alert.locator("figure").first).to_contain_text("Wait for me!")
    expect(alert.locator("figure").last).to_contain_text("Done.")
    expect(page.get_by_label("Reply")).to_have_value("Done.")
    page.get_by_role("button", name="Resolve").click()
    expect(thread(page).locator(".badge")).to_have_text("resolved")
    assert list(flag.events.values_list("text", flat=True)) == [WORDS, "Wait for me!", "Done."]


def test_the_inbox_is_live_and_its_filters_are_in_the_address(people, places):
    page = people.sign_in("developer")
    page.goto(places.of_collection("review:flags"))
    expect(page.get_by_role("heading", name="No flags here")).to_be_visible()
    assessor, developer = (User.objects.get(username=name) for name in ("assessor", "developer"))
    flag = actions.open_flag(subject(places), kind=Kind.SPURIOUS, text=WORDS, by=assessor)
    row = page.get_by_role("link", name=f"Misleading: {WORDS}")
    expect(row).to_be_visible()
    actions.assign(flag, to=developer, seen=1, by=assessor)
    expect(page.locator("#flags-assigned")).to_contain_text("1")
    page.get_by_role("link", name=re.compile("^Unassigned")).click()
    page.wait_for_url(re.compile("who=unassigned"))
    expect(page.get_by_text("No flag matches.")).to_be_visible()
    page.get_by_label("Whose").select_option("assigned to me")
    expect(page).to_have_url(re.compile("who=assigned"))
    row.click()
    expect(page.get_by_role("heading", name="Misleading")).to_be_visible()
    page.get_by_role("link", name="To the pair", exact=True).click()
    expect(page.locator(f"#flag-{flag.pk}")).to_contain_text(WORDS)


def test_flags_without_javascript(people, places):
    page = people.sign_in("assessor", java_script_enabled=False)
    page.goto(places.editor)
    page.locator(f"#item-{places.item.pk} summary").click()
    page.locator(f"#item-{places.item.pk}").get_by_role("link", name="Flags (0)").click()
    page.get_by_role("radio", name="unclear").check()
    page.get_by_label("What do you see?").fill("Which season?")
    page.get_by_role("button", name="Save").click()
    expect(thread(page)).to_contain_text("Which season?")
    page.get_by_label("Reply").fill("Autumn.")
    page.get_by_role("button", name="Reply").click()
    expect(thread(page)).to_contain_text("Autumn.")
    page.get_by_role("button", name="Resolve").click()
    expect(thread(page).locator(".badge")).to_have_text("resolved")


def test_everybody_can_use_them(inspector_of, places, flag):
    looked = inspector_of("organizer")
    page = looked.page
    for name, address in {
        "inbox": places.of_collection("review:flags"),
        "thread": flag.get_absolute_url(),
        "threads of a cell": subject(places).address,
        "threads of an item": subject(places, passage=False).address,
    }.items():
        looked.open(address)
        looked.inspect(name)
    looked.open(f"{places.grid}&groups=none")
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid td [tabindex="0"]').focus()
    page.keyboard.press("s")
    expect(thread(page)).to_be_visible()
    looked.inspect("grid with a thread")
    actions.reply(flag, text="Wait.", by=User.objects.get(username="developer"))
