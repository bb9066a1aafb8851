"""Every screen of the demo at three sizes, light and dark, on two pictures: `make contact-sheet`."""

from __future__ import annotations

import base64
import os
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")

import django  # noqa: E402

django.setup()

from django.urls import reverse  # noqa: E402
from screenshots import PICTURES, demo, sign_in  # noqa: E402

from rubricweb.home import screens  # noqa: E402
from tests.browser import chromium  # noqa: E402

SIZES = ((1440, 900), (1280, 720), (390, 844))
HEIGHT = 200
"""Of a picture on the sheet, in pixels."""
SETTLES_MS = 500
STYLE = f"""body {{ margin: 12px; font: 13px system-ui; columns: 2; width: 1720px; background: #888; }}
figure {{ margin: 0 0 12px; break-inside: avoid; }} figcaption {{ font-weight: 600; padding: 2px 0; }}
div {{ display: flex; gap: 6px; }} img {{ height: {HEIGHT}px; display: block; }}"""


def addresses(page: Page, url: str) -> Iterator[tuple[str, str]]:
    """(name, path) of every screen that the search offers an organizer of the demo, and of a topic's."""
    page.goto(f"{url}{reverse('home:collection', args=['demo'])}")
    editor = str(page.locator('main a[href^="/banks/"]').first.get_attribute("href"))
    bank, topic = re.findall(r"\d+", editor)[:2]
    for screen in screens.SITE:
        yield screen.name, reverse(screen.route)
    for screen in screens.OF_COLLECTIONS:
        yield screen.name, reverse(screen.route, args=["demo"])
    yield "Grid of a topic", reverse("review:grid", args=[bank, topic])
    yield "Bank of a topic", reverse("editor:topic", args=[bank, topic])
    for screen in screens.OF_BANKS:
        yield screen.name, reverse(screen.route, args=["demo", bank] if screen.takes_slug else [bank])
    yield "Patterns", reverse("core:patterns")


def pictures(context: BrowserContext, address: str) -> list[bytes]:
    page = context.new_page()
    taken = []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address)
        page.wait_for_timeout(SETTLES_MS)
        taken.append(page.screenshot(type="jpeg", quality=70))
    page.close()
    return taken


def sheet(browser: Browser, url: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    sign_in(page, url)
    page.wait_for_url(f"{url}/")
    figures = []
    for name, path in list(addresses(page, url)):
        shown = "".join(
            f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(one).decode()}">'
            for one in pictures(context, url + path)
        )
        figures.append(f"<figure><figcaption>{escape(name)}</figcaption><div>{shown}</div></figure>")
    page.set_content(f"<style>{STYLE}</style>{''.join(figures)}")
    page.locator("body").screenshot(
        path=PICTURES / f"contact-sheet-{scheme}.jpg", type="jpeg", quality=60, timeout=120_000
    )
    context.close()


def main() -> None:
    with demo() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium.launch_args())
        for scheme in ("light", "dark"):
            sheet(browser, url, scheme)
        browser.close()


if __name__ == "__main__":
    main()
