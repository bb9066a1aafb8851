"""Live pages fetch what they missed and nothing else, and outlive a Redis that comes back empty."""

from __future__ import annotations

import redis
from django.conf import settings
from playwright.sync_api import expect

from rubricweb.core import events
from tests.browser.waiting import Held, holds

LOST_STREAM = "[object Event]"
"""So htmx writes a lost stream on the console, and opens a new one."""


def test_a_change_arrives_after_redis_was_away(people, places, redis_server):
    page = people.sign_in("viewer")
    page.goto(places.board)
    expect(page.locator("#missing")).to_be_empty()
    page.evaluate("document.body.addEventListener('htmx:sseError', () => (document.body.dataset.lost = ''))")
    redis_server.stop()
    expect(page.locator("body[data-lost]")).to_be_attached()
    redis_server.start()
    places.reword("Which pigment turns maples red?")
    expect(page.locator("#missing")).to_contain_text("29 grades missing")
    assert set(people.complaints) == {LOST_STREAM}
    people.complaints.clear()


OPENED = "addEventListener('htmx:sseOpen', () => (document.documentElement.dataset.opened = ''))"


def test_the_grid_is_fetched_once_a_visit(people, places):
    forget_last_event(places)
    page = people.sign_in("viewer")
    page.add_init_script(OPENED)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(places.grid)
    expect(page.locator("html[data-opened]")).to_be_attached()
    page.evaluate(
        "fetch('/healthz').then((found) => found.text())"
    )  # what the opening asked for is on its way
    assert [url for url in asked if "view=grid" in url] == [page.url]


def test_a_grid_that_missed_an_event_is_fetched_again(people, places):
    page = people.sign_in_routed("viewer")
    streams = Held(page, "**/events/**", times=1)
    page.goto(places.grid)
    page.locator("#grid").evaluate("(grid) => (grid.dataset.old = '')")
    events.publish(places.collection.channel, "grades")
    streams.next().continue_()
    expect(page.locator("#grid[data-old]")).to_have_count(0)


def test_a_page_that_is_left_lets_go_of_its_stream_and_fetches_what_it_missed(people, places):
    """Chromium keeps such pages with their connections; Playwright's own does not, so the page is told."""
    page = people.sign_in("viewer")
    page.add_init_script(OPENED)
    page.goto(places.grid)
    expect(page.locator("html[data-opened]")).to_be_attached()
    page.locator("#grid").evaluate("(grid) => (grid.dataset.old = '')")
    with page.expect_event("requestfailed", lambda request: "/events/" in request.url):
        page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    events.publish(places.collection.channel, "grades")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")
    expect(page.locator("#grid[data-old]")).to_have_count(0)


def forget_last_event(places) -> None:
    """The demo was only just made."""
    with redis.Redis.from_url(settings.REDIS_URL) as connection:
        connection.delete(f"{places.collection.channel}:last")


def test_more_pages_load_than_a_browser_has_connections(people, places):
    """Over HTTP/1.1 it has six; a page without a stream looks now and then, and takes one that is free."""
    first = people.sign_in("viewer")
    pages = [first, *(first.context.new_page() for _ in range(8))]
    for page in pages:
        page.goto(places.board)
        expect(page.locator("#missing")).to_be_empty()
    last = pages[-1]
    held = "navigator.locks.query().then(({ held }) => held.filter(({ name }) => /stream/.test(name)).length)"
    assert holds(last, f"{held}.then((count) => count === 4)")
    for page in pages[:4]:
        page.close()
    places.reword("Which pigment turns maples red?")
    for page in pages[4:]:
        expect(page.locator("#missing")).to_contain_text("29 grades missing", timeout=40_000)
