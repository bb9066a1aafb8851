"""A real uvicorn, a real worker and Chromium, over the test database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from rubricweb.corpus.models import Collection
from rubricweb.demo.loading import PASSWORD, load_demo
from tests.browser import chromium
from tests.servers import url_of_test_database

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30

# Playwright keeps an event loop in this thread, which Django would take for asynchronous code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    return {**browser_type_launch_args, **chromium.launch_args()}


@pytest.fixture(scope="session")
def _environment(django_db_setup: None, django_db_blocker) -> dict[str, str]:
    with django_db_blocker.unblock():
        url = url_of_test_database()
    return {**os.environ, "DATABASE_URL": url, "RUBRIC_LEASE_SECONDS": "5"}


@pytest.fixture(scope="session")
def server_url(_environment: dict[str, str]) -> Iterator[str]:
    """A uvicorn for all tests of this process; every test has its own rows."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "uvicorn",
        "rubricweb.asgi:application",
        "--port",
        str(port),
        "--timeout-graceful-shutdown",
        "1",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--log-level", "warning"], cwd=ROOT, env=_environment
    )
    url = f"http://127.0.0.1:{port}"
    _wait_for(url + "/accounts/sign-in/", process)
    yield url
    process.terminate()
    process.wait(timeout=10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"uvicorn did not answer at {url}")


@pytest.fixture
def worker(_environment: dict[str, str], redis_server) -> Iterator[subprocess.Popen[bytes]]:
    """A living worker."""
    process = subprocess.Popen([sys.executable, "manage.py", "worker"], cwd=ROOT, env=_environment)
    yield process
    process.terminate()
    process.wait(timeout=15)


@pytest.fixture
def demo(transactional_db: None, redis_server) -> Collection:
    """The demo collection, imported and graded by the lexical baseline."""
    return load_demo()


class People:
    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url
        self.contexts: list[BrowserContext] = []
        self.console: list[str] = []
        """What browsers complained of: script errors and refusals by the content policy."""

    def sign_in(self, username: str, **options: object) -> Page:
        context = self.browser.new_context(base_url=self.url, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("console", self._listen)
        page.goto("/accounts/sign-in/")
        page.get_by_label("Username").fill(username)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self.url + "/")
        return page

    def _listen(self, message) -> None:
        if message.type == "error" and "favicon" not in message.text:
            self.console.append(message.text)

    def leave(self) -> None:
        for context in self.contexts:
            context.close()


@pytest.fixture
def people(browser: Browser, server_url: str) -> Iterator[People]:
    """`people.sign_in("developer")`: a page of one's own browser context, signed in."""
    cast = People(browser, server_url)
    yield cast
    cast.leave()
