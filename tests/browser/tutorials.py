"""The tutorials of docs/help as programs: each list item is one step, which a test carries out as written.

A step is a sentence of one of the forms in `STEPS`; what follows the sentence is for the reader alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "help" / "tutorials"
FURTHER = "What next"
"""The part that has links instead of steps."""
WAIT_MS = 90_000
"""For what a worker brings."""
ALL_SENT = """() => location.protocol === "about:" ||
    JSON.parse(localStorage.getItem("rubricweb-outbox") ?? "[]").length === 0"""


@dataclass(frozen=True)
class Step:
    heading: str
    """Under which it stands."""
    sentence: str
    carry_out: Callable[[Page], object]


def steps(path: Path) -> list[Step]:
    """Raises ValueError for a list item that is no step, and for a part without any."""
    found: list[Step] = []
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        if heading == FURTHER:
            continue
        items = re.findall(r"^- (.+(?:\n  .+)*)", text, re.MULTILINE)
        if not items:
            raise ValueError(f"{path.name}: nothing is to be done under {heading!r}")
        found += [_step(path.name, heading, " ".join(item.split())) for item in items]
    return found


def _step(name: str, heading: str, sentence: str) -> Step:
    for pattern, carry_out in STEPS:
        if match := re.match(pattern, sentence):
            words = match.groups()
            return Step(heading, sentence, lambda page, do=carry_out, words=words: do(page, *words))
    raise ValueError(f"{name}, {heading}: no test can do this: {sentence}")


def _open(page: Page, address: str) -> None:
    page.wait_for_function(ALL_SENT)  # a reader is slower
    page.goto(address, timeout=WAIT_MS)


def _sign_in(page: Page, username: str, password: str) -> None:
    page.context.clear_cookies()
    _open(page, "/accounts/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(r"^(?!.*sign-in)"))


def _open_the_link(page: Page) -> None:
    """The invitation that the page shows, as somebody who is not signed in."""
    link = page.get_by_text("/accounts/join/").first.inner_text()
    page.context.clear_cookies()
    _open(page, "/accounts/join/" + link.strip().rpartition("/accounts/join/")[2])


def _visible(found: Locator) -> Locator:
    return found.filter(visible=True).first


def _follow(page: Page, name: str) -> None:
    _visible(page.get_by_role("link", name=name)).click()


def _follow_in_row(page: Page, name: str, row: str) -> None:
    _visible(page.get_by_role("row").filter(has_text=row)).get_by_role("link", name=name).first.click()


def _unfold(page: Page, name: str) -> None:
    _visible(page.locator("summary").filter(has_text=name)).click()


def _press(page: Page, name: str) -> None:
    page.wait_for_function(ALL_SENT)  # a reader is slower
    _visible(page.get_by_role("button", name=name)).click()


def _press_key(page: Page, key: str) -> None:
    page.keyboard.press(key)


def _type(page: Page, text: str, label: str) -> None:
    _visible(page.get_by_label(label)).fill(text)


def _choose(page: Page, text: str, label: str) -> None:
    _visible(page.get_by_label(label).and_(page.locator("select"))).select_option(text)


def _choose_file(page: Page, path: str, label: str) -> None:
    page.get_by_label(label).and_(page.locator("input")).first.set_input_files(ROOT / path)


def _see(page: Page, text: str) -> None:
    expect(_visible(page.get_by_text(text))).to_be_visible(timeout=WAIT_MS)


STEPS: tuple[tuple[str, Callable[..., object]], ...] = (
    (r"Sign in as `(\w+)` with the password `([\w-]+)`\.", _sign_in),
    (r"Open the link in a private window\.", _open_the_link),
    (r"Open \*\*.+?\*\* \(`(/[^`]*)`\)\.", _open),
    (r"Follow \*\*(.+?)\*\* in the row of (.+?)\.", _follow_in_row),
    (r"Follow \*\*(.+?)\*\*\.", _follow),
    (r"Unfold \*\*(.+?)\*\*\.", _unfold),
    (r"Press \*\*(.+?)\*\*\.", _press),
    (r"Press the key `(\w+)`\.", _press_key),
    (r"Type `(.+?)` into \*\*(.+?)\*\*\.", _type),
    (r"Choose “(.+?)” in \*\*(.+?)\*\*\.", _choose),
    (r"Choose the file `(.+?)` in \*\*(.+?)\*\*\.", _choose_file),
    (r"You see “(.+?)”\.", _see),
)
"""What a step may say, and what is done then; the parts in parentheses are passed on."""
