"""Make the pictures of the README from the running demo: `make screenshots`.

`board.webp` moves: a question is reworded beside the leaderboard, graded again, and the board follows.
"""

from __future__ import annotations

import io
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

from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser import chromium  # noqa: E402

PICTURES = ROOT / "docs" / "img"
VIEWPORT = {"width": 1280, "height": 800}
HALF = {"width": 760, "height": 660}
"""Of the leaderboard and of the rubric, side by side in the film."""
FILM_WIDTH = 1216
START_SECONDS = 120
QUESTION = "What colours do autumn leaves have?"
REWORDED = "Which pigments give autumn leaves their colours?"

Frames = list[tuple[Image.Image, int]]
"""Pictures with the milliseconds that each is visible."""


@contextmanager
def demo(folder: str | None = None) -> Iterator[str]:
    """The address of a demo with fresh data, or those of the folder, stopped at the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as fresh:
        env = os.environ | {"RUBRIC_DATA_DIR": folder or fresh, "RUBRIC_LOG_LEVEL": "WARNING"}
        command = [sys.executable, "manage.py", "demo", "--port", str(port)]
        # The web process answers while the collection is loaded, and knows no account until then.
        subprocess.run([*command, "--load-only"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=True)
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
    page.wait_for_url(lambda address: "sign-in" not in address)


def first_topic(page: Page, url: str) -> str:
    """The address of the rubric of the demo's first topic."""
    page.goto(url + "/collections/demo/")
    grid = page.locator('main a[href*="view=grid"]').first.get_attribute("href")
    return url + str(grid).split("?")[0]


def visit(page: Page, url: str) -> Iterator[str]:
    """Open each screen of the pictures in turn and give its name."""
    page.goto(url + "/collections/demo/leaderboards/")
    page.locator("#board").wait_for()
    yield "leaderboard"
    topic = first_topic(page, url)
    page.goto(f"{topic}?view=grid")
    page.locator("#grid td a[data-grade='5']").first.click()
    page.locator("#cell-title").wait_for()
    yield "grid"
    page.goto(topic)
    page.locator(".item-open").nth(1).click()
    page.get_by_label("Wording").fill("Which pigments make autumn leaves yellow or orange?")
    page.get_by_text("could move").first.wait_for()
    yield "bank"


def film(context: BrowserContext, url: str) -> Frames:
    """Reword a question and have it graded again, with the leaderboard beside it."""
    board, rubric = context.new_page(), context.new_page()
    for page in (board, rubric):
        page.set_viewport_size(HALF)
    rubric.goto(first_topic(rubric, url))
    board.goto(url + "/collections/demo/leaderboards/")
    board.locator("#board").wait_for()
    frames: Frames = []

    def take(milliseconds: int, settles: int = 0) -> None:
        board.wait_for_timeout(settles)
        shot = Image.new("RGB", (HALF["width"] * 2 + 8, HALF["height"]), "#888")
        for place, page in enumerate((rubric, board)):
            shot.paste(Image.open(io.BytesIO(page.screenshot())), (place * (HALF["width"] + 8), 0))
        height = round(shot.height * FILM_WIDTH / shot.width)
        frames.append((shot.resize((FILM_WIDTH, height), Image.Resampling.LANCZOS), milliseconds))

    take(1800, 600)
    rubric.locator(".item-open", has_text=QUESTION).click()
    wording = rubric.get_by_label("Wording")
    wording.wait_for()
    take(1000, 300)
    for end in range(6, len(REWORDED) + 6, 6):
        wording.fill(REWORDED[:end])
        take(140)
    rubric.get_by_text("could move").first.wait_for()
    take(2200, 700)
    rubric.get_by_role("button", name="Save").click()
    expect(rubric.locator(".item-open", has_text=REWORDED)).to_be_visible()
    take(1800, 600)
    rubric.get_by_role("button", name="Re-grade").click()
    take(160)
    board.get_by_text("new grades").wait_for()
    take(1200, 250)
    expect(rubric.get_by_text("41 not graded")).to_have_count(0)
    take(4000, 1500)
    return frames


def write_film(frames: Frames, path: Path) -> None:
    """Write the frames as an animation that begins again after the last; equal neighbours become one."""
    joined: Frames = []
    for picture, milliseconds in frames:
        if joined and joined[-1][0].tobytes() == picture.tobytes():
            joined[-1] = (picture, joined[-1][1] + milliseconds)
        else:
            joined.append((picture, milliseconds))
    first, *others = [picture for picture, _ in joined]
    durations = [milliseconds for _, milliseconds in joined]
    first.save(path, save_all=True, append_images=others, duration=durations, loop=0, quality=60, method=6)


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with demo() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium.launch_args())
        context = browser.new_context(viewport=VIEWPORT)
        page = context.new_page()
        sign_in(page, url)
        for name in visit(page, url):
            page.wait_for_load_state("load")
            page.wait_for_timeout(600)
            page.screenshot(path=PICTURES / f"{name}.png")
        page.close()
        write_film(film(context, url), PICTURES / "board.webp")
        browser.close()


if __name__ == "__main__":
    main()
