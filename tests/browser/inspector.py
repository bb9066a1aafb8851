"""Looks at pages for everybody: axe, the keyboard, wide, on a telephone, in large type, light and dark."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.waiting import holds

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
REFLOW = {"width": 320, "height": 640}
"""As wide as WCAG's 1.4.10 asks for."""
TYPE_SIZES = {"standard": 16, "fixed": 13}
TWICE = {name: 2 * size for name, size in TYPE_SIZES.items()}
"""Text at 200 %, as a reader sets it in the browser (1.4.4)."""
MAX_HTML_BYTES = 300_000
EVERY_RULE: dict[str, Any] = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
"""With the size of targets, 24 px or as much room (WCAG 2.2), which axe leaves out unless it is asked for."""
ONLY_CONTRAST = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
ALL_BUT_CONTRAST = EVERY_RULE | {"rules": EVERY_RULE["rules"] | {"color-contrast": {"enabled": False}}}
"""For a telephone: colours do not depend on the width, and are most of the work."""
VIOLATIONS = """options => axe.run(document, options).then(({ violations }) => violations.map(
  ({ id, help, nodes }) => {
    const where = nodes.slice(0, 3).map(({ html }) => html.slice(0, 160));
    return `${id} (${help}): ${where.join("; ")}`;
  }))"""
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
FITS_MS = 2_000
"""For figures, which are drawn anew after the width has changed."""


@cache
def axe_script() -> str:
    return Axe().axe_script


@cache
def focus_script() -> str:
    return Path(__file__).with_name("focus.js").read_text(encoding="utf-8")


class Inspector:
    """Looks at the page as it stands and writes down what is wrong with it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        page.set_viewport_size(WIDE)

    def open(self, address: str) -> None:
        response = self.page.goto(address)
        size = len(response.body())
        if size >= MAX_HTML_BYTES:
            self.problems.append(f"{address}: {size} bytes of HTML")

    def inspect(self, name: str) -> None:
        """Wide and light at the end, as before."""
        self._axe(f"{name}, wide")
        self._fits(f"{name}, wide")
        self.page.emulate_media(color_scheme="dark")
        self._axe(f"{name}, dark", ONLY_CONTRAST)
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size(NARROW)
        self._fits(f"{name}, narrow")
        self._axe(f"{name}, narrow", ALL_BUT_CONTRAST)
        self.page.set_viewport_size(WIDE)

    def _axe(self, name: str, options: dict[str, Any] = EVERY_RULE) -> None:
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe_script())
        self.problems += [f"{name}: {found}" for found in self.page.evaluate(VIOLATIONS, options)]

    def _fits(self, name: str) -> None:
        if not holds(self.page, FITS, within_ms=FITS_MS):
            self.problems.append(f"{name}: wider than the window")

    def operate(self, name: str) -> None:
        """What a keyboard and a magnified page need: the focus goes in the order of the page, is seen and is
        not behind what is fixed (WCAG's 2.4.3, 2.4.7, 2.4.11); text at 200 % and 320 px fit (1.4.4, 1.4.10).
        """
        self.problems += [f"{name}: {found}" for found in self.page.evaluate(focus_script())]
        self._fits_in_large_type(f"{name}, text at 200 %")
        self.page.set_viewport_size(REFLOW)
        self._fits(f"{name}, 320 px")
        self.page.set_viewport_size(WIDE)

    def _fits_in_large_type(self, name: str) -> None:
        session = self.page.context.new_cdp_session(self.page)
        session.send("Page.setFontSizes", {"fontSizes": TWICE})
        self._fits(name)
        session.send("Page.setFontSizes", {"fontSizes": TYPE_SIZES})
        session.detach()
