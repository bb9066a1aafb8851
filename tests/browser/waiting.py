"""Waiting for what a page says of itself, and making it wait: requests that a test keeps back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Page, Route

from tests.browser.slowness import CPU_SLOWDOWN

PAUSE_MS = 20
WAIT_MS = 15_000 * CPU_SLOWDOWN
"""Long, because the machine may be busy."""


def holds(page: Page, condition: str | Callable[[], object], *, within_ms: float = WAIT_MS) -> bool:
    """Return whether the condition, a function or JavaScript, comes true in time, while the page goes on.

    Playwright's own `wait_for_function` evaluates strings in the page, which the content policy refuses.
    """
    is_true = condition if callable(condition) else partial(page.evaluate, condition)
    deadline = time.monotonic() + within_ms / 1_000
    while not is_true():
        if time.monotonic() > deadline:
            return False
        page.wait_for_timeout(PAUSE_MS)
    return True


class Held:
    """`held = Held(page, "**/?view=grid")` keeps what matches;
    `held.next().continue_()` lets the first of it go.

    `times` bounds how many requests are held; later ones pass.
    """

    def __init__(self, page: Page, url: str | re.Pattern[str], *, times: int | None = None) -> None:
        self._page = page
        self._routes: list[Route] = []
        page.route(url, self._keep, times=times)

    def _keep(self, route: Route) -> None:
        self._routes.append(route)

    def next(self) -> Route:
        """The first request that was not let go yet, as soon as we are told of it."""
        assert holds(self._page, lambda: self._routes), "nothing was asked"
        return self._routes.pop(0)
