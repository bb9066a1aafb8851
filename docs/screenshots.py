"""Make the pictures of the README from the running demo: `make screenshots`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser import chromium  # noqa: E402

PICTURES = ROOT / "docs" / "img"
VIEWPORT = {"width": 1280, "height": 800}
START_SECONDS = 120


@contextmanager
def demo(folder: str | None = None) -> Iterator[str]:
    """The address of a demo with fresh data, or those of the folder, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as fresh:
        env = os.environ | {"RUBRIC_DATA_DIR": folder or fresh}
        command = [sys.executable, "manage.py", "demo", "--port", str(port)]
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
        try:
            yield _answering(f"http://127.0.0.1:{port}")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)


def _answering(url: str) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url + "/healthz", timeout=2):
                return url
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"The demo did not answer at {url}.")


def sign_in(page: Page, url: str, username: str = "organizer") -> None:
    page.goto(url + "/accounts/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill("rubric-demo")
    page.get_by_role("button", name="Sign in").click()


def visit(page: Page, url: str) -> Iterator[str]:
    """Open each screen of the README in turn and give its name."""
    page.goto(url + "/collections/demo/leaderboards/")
    page.locator(".board-table").wait_for()
    yield "leaderboard"
    page.goto(url + "/collections/demo/")
    topic = str(page.locator('main a[href*="view=grid"]').first.get_attribute("href")).split("?")[0]
    page.goto(f"{url}{topic}?view=grid")
    page.locator("#grid td a[data-grade='5']").first.click()
    page.locator("#cell-title").wait_for()
    yield "grid"
    page.goto(url + topic)
    page.locator(".item-open").nth(1).click()
    page.get_by_label("Wording").fill("Which pigments make autumn leaves yellow or orange?")
    page.get_by_text("could move").first.wait_for()
    yield "bank"


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with demo() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium.launch_args())
        page = browser.new_page(viewport=VIEWPORT)
        sign_in(page, url)
        for name in visit(page, url):
            page.wait_for_load_state("load")
            page.wait_for_timeout(600)
            page.screenshot(path=PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
