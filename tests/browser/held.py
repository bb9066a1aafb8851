"""Requests of a page that a test keeps back, and lets go when it wants their answers to come."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route

PAUSE_MS = 20


class Held:
    """`held = Held(page, "**/grid/")` keeps what matches; `held.next().continue_()` lets the first of it go.

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
        while not self._routes:
            self._page.wait_for_timeout(PAUSE_MS)
        return self._routes.pop(0)
