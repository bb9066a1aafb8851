"""Every screen of the demo at three sizes, light and dark: `make contact-sheet`.

    python docs/contact_sheet.py [FOLDER] [--url URL --collection SLUG]

Writes the sheets to docs/screens, or to FOLDER together with every picture in its full size. `--url` looks
at a server that runs already and has the accounts of the demo.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

import django  # noqa: E402

django.setup()
from rubricweb.core.reader import see_everything  # noqa: E402

see_everything()

from django.urls import reverse  # noqa: E402
from screenshots import demo, sign_in  # noqa: E402

from rubricweb.accounts.roles import Role  # noqa: E402
from rubricweb.home import tabs  # noqa: E402
from tests.browser import chromium  # noqa: E402
from tests.browser.waiting import holds  # noqa: E402

SHEETS = ROOT / "docs" / "screens"
SIZES = ((1440, 900), (1280, 720), (390, 844))
SCHEMES = ("light", "dark")
WIDTH, HEIGHT = 2400, 300
"""Of a sheet and of a picture on it, in pixels."""
A_SHEET = 15
"""Screens on one sheet."""
SETTLES_MS = 250
PATIENCE_MS = 10_000
QUIET = "!document.querySelector('.htmx-request') && document.fonts.status === 'loaded'"
STYLE = f"""body {{ margin: 0; padding: 12px; font: 13px system-ui; columns: 2; width: {WIDTH}px; }}
html {{ background: #888; }}
figure {{ margin: 0 0 12px; break-inside: avoid; }} figcaption {{ font-weight: 600; padding: 2px 0; }}
div {{ display: flex; gap: 6px; }} img {{ height: {HEIGHT}px; display: block; }}"""


@dataclass(frozen=True, slots=True)
class Shot:
    """A screen as somebody sees it."""

    name: str
    path: str
    user: str = "organizer"
    opened: str = ""
    """A selector: what is clicked first."""


def shots(page: Page, url: str, slug: str) -> Iterator[Shot]:
    """Every screen that the search offers an organizer, a topic's with what opens there, others' homes."""
    page.goto(f"{url}{reverse('home:collection', args=[slug])}")
    topic = str(page.locator('main table a[href*="/topics/"]').first.get_attribute("href"))
    for screen in tabs.SITE:
        if screen.route in tabs.OF_STAFF:
            continue
        yield Shot(screen.name, reverse(screen.route))
    yield Shot("Sign in", reverse("accounts:login"), user="")
    yield Shot("Search", reverse("home:home"), opened=".search-opener")
    for user in ("assessor", "viewer"):
        yield Shot(f"Home of the {user}", reverse("home:home"), user)
    items = topic.partition("?")[0]
    grid = f"{items}?view=grid"
    yield Shot("Grid of a topic", grid)
    yield Shot("A pair beside the grid", grid, opened="#grid td a[data-grade]")
    yield Shot("Rubric of a topic", items)
    yield Shot("Items tried on the board", f"{items}trial/")
    yield Shot("An item beside the rubric", items, opened=".item-open")
    yield Shot("The queue", reverse("home:work", args=[slug]), "assessor", opened="#continue")
    for role, user in ((Role.ORGANIZER, "organizer"), (Role.PARTICIPANT, "maple")):
        for tab, entries in tabs.screens_for(role):
            for screen in entries:
                yield Shot(f"{tab.name}: {screen.name}", reverse(screen.route, args=[slug]), user)
    for screen in tabs.MORE:
        yield Shot(screen.name, reverse(screen.route, args=[slug]))
    yield Shot("Patterns", reverse("core:patterns"))


class Photographer:
    """Takes pictures with one browser; each person signs in once."""

    def __init__(self, browser: Browser, url: str, folder: Path) -> None:
        self.browser, self.url, self.folder = browser, url, folder
        self.pages: dict[str, Page] = {}

    def page_of(self, user: str) -> Page:
        if user not in self.pages:
            page = self.pages[user] = self._context().new_page()
            if user:
                sign_in(page, self.url, user)
                page.wait_for_url(lambda address: "/sign-in/" not in address)
        return self.pages[user]

    def _context(self) -> BrowserContext:
        context = self.browser.new_context(reduced_motion="reduce")
        context.add_init_script("localStorage.setItem('rubricweb-tour', 'ended')")
        return context

    def take(self, number: int, shot: Shot) -> dict[str, list[Path]]:
        """The pictures of a screen by colour scheme, in the order of the sizes."""
        page = self.page_of(shot.user)
        page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})
        page.goto(self.url + shot.path)
        if shot.opened and page.locator(shot.opened).count():
            page.locator(shot.opened).first.click()
        page.wait_for_timeout(SETTLES_MS)
        holds(page, QUIET, within_ms=PATIENCE_MS)
        taken: dict[str, list[Path]] = {scheme: [] for scheme in SCHEMES}
        slug = re.sub(r"\W+", "-", shot.name.lower())
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            for scheme in SCHEMES:
                page.emulate_media(color_scheme=scheme)
                name = f"{number:02}-{slug}-{width}-{scheme}.webp"
                taken[scheme].append(self._picture(page, name, width, height))
        return taken

    def _picture(self, page: Page, name: str, width: int, height: int, quality: int = 80) -> Path:
        """The DevTools protocol, because Playwright writes no WebP."""
        session = page.context.new_cdp_session(page)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        options = {"format": "webp", "quality": quality, "clip": clip, "captureBeyondViewport": True}
        found = session.send("Page.captureScreenshot", options)
        session.detach()
        path = self.folder / name
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    def sheet(self, name: str, figures: list[tuple[str, list[Path]]]) -> Path:
        """The pictures side by side, each screen under its name."""
        shown = ""
        for title, paths in figures:
            images = "".join(f'<img alt="" src="{path.name}">' for path in paths)
            shown += f"<figure><figcaption>{escape(title)}</figcaption><div>{images}</div></figure>"
        source = self.folder / "sheet.html"
        source.write_text(
            f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{shown}", encoding="utf-8"
        )
        page = self.page_of("")
        page.set_viewport_size({"width": WIDTH + 24, "height": 600})
        page.goto(source.as_uri())
        height = page.evaluate("document.body.scrollHeight")
        return self._picture(page, name, WIDTH + 24, height, quality=45)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the sheets and every picture")
    parser.add_argument("--url", help="of a server that runs")
    parser.add_argument("--collection", default="demo")
    parser.add_argument("--only", default="", help="screens whose names have this in them")
    said = parser.parse_args()
    with (
        nullcontext(said.url) if said.url else demo() as url,
        sync_playwright() as playwright,
        nullcontext(said.folder) if said.folder else tempfile.TemporaryDirectory() as folder,
    ):
        Path(folder).mkdir(parents=True, exist_ok=True)
        photographer = Photographer(
            playwright.chromium.launch(**chromium.launch_args()), url, Path(folder).resolve()
        )
        listed = shots(photographer.page_of("organizer"), url, said.collection)
        wanted = [shot for shot in list(listed) if said.only.lower() in shot.name.lower()]
        taken = [(shot.name, photographer.take(number, shot)) for number, shot in enumerate(wanted, 1)]
        write_sheets(photographer, taken, said.folder or SHEETS)


def write_sheets(
    photographer: Photographer, taken: list[tuple[str, dict[str, list[Path]]]], folder: Path
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        figures = [(name, pictures[scheme]) for name, pictures in taken]
        for first in range(0, len(figures), A_SHEET):
            name = f"screens-{first // A_SHEET + 1}-{scheme}.webp"
            made = photographer.sheet(name, figures[first : first + A_SHEET])
            if made.parent != folder.resolve():
                (folder / made.name).write_bytes(made.read_bytes())


if __name__ == "__main__":
    main()
