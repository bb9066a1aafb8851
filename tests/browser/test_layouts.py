"""Every screen by the keys of other layouts, and while an input method composes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.inspector import WIDE
from tests.browser.screens import *  # noqa: F403 - its fixtures
from tests.browser.screens import Screen, expect_saved

ENGLISH = "qwertyuiopasdfghjklzxcvbnm1234567890"
LAYOUTS = {
    "AZERTY": "azertyuiopqsdfghjklwxcvbn,&é\"'(-è_çà",
    "QWERTZ": "qwertzuiopasdfghjklyxcvbnm1234567890",
    "Cyrillic": "йцукенгшщзфывапролдячсмить1234567890",  # noqa: RUF001
}
"""What the keys of `ENGLISH` give."""
PRESS = """(event) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...event }))"""


def press(page: Page, layout: str, name: str, **more: object) -> None:
    """Press the key that shows this letter or digit, or the one in its place where none does."""
    if name not in ENGLISH:
        page.keyboard.press(name)
        return
    given = LAYOUTS[layout]
    place = given.index(name) if name in given else ENGLISH.index(name)
    code = f"Digit{ENGLISH[place]}" if ENGLISH[place].isdigit() else f"Key{ENGLISH[place].upper()}"
    page.evaluate(PRESS, {"key": given[place], "code": code, **more})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_screen_takes_the_keys_of_the_layout(people, screen: Screen, layout):
    page = people.sign_in(screen.username, viewport=WIDE)
    screen.open(page)
    for name in screen.keys:
        if name in ENGLISH:
            press(page, layout, name, isComposing=True)
        press(page, layout, name)
    expect_saved(page, screen)
