"""The search of the public site, in Chromium, on plain files behind a plain server."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect

from tests.test_site import site

__all__ = ["site"]
pytestmark = [pytest.mark.browser, pytest.mark.portable]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def address(site) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_search_lists_parts_with_every_word_and_leads_there(page: Page, address):
    page.goto(f"{address}/help/tutorials/assessor.html")
    page.get_by_label("Search").fill("Gate RELEASE")
    hit = page.get_by_role("status").get_by_role("link", name="Gate a release (Programs)")
    expect(hit).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/help/programs.html#gate-a-release")
    expect(page.get_by_role("heading", name="Gate a release")).to_be_visible()
