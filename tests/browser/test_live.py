"""Live pages outlive a Redis that goes away and comes back empty."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.concurrent

LOST_STREAM = "[object Event]"
"""So htmx writes a lost stream on the console, and opens a new one."""


def test_a_change_arrives_after_redis_was_away(people, places, redis_server):
    page = people.sign_in("viewer")
    page.goto(places.board)
    expect(page.locator("#missing")).to_contain_text("No grade is missing")
    page.evaluate("document.body.addEventListener('htmx:sseError', () => (document.body.dataset.lost = ''))")
    redis_server.stop()
    expect(page.locator("body[data-lost]")).to_be_attached()
    redis_server.start()
    places.reword("Which pigment turns maples red?")
    expect(page.locator("#missing")).to_contain_text("29 grades missing")
    assert set(people.complaints) == {LOST_STREAM}
    people.complaints.clear()
