"""Assessors as their browsers act: sessions of their own, forms read from pages, ratings sent as pages do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

ITEM = re.compile(r'<li class="queue-item"(?![^>]*data-rated)[^>]*data-cell="(\d+)".*?</li>', re.DOTALL)
"""One that waits for a rating."""
FORM = re.compile(r'<form method="post" class="queue-form" action="([^"]+)".*?</form>', re.DOTALL)
START = re.compile(r'<form class="empty" method="post" action="([^"]+)".*?</form>', re.DOTALL)
RETRY_SECONDS = 0.1
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@dataclass
class Assessor:
    """One person in a session of their own; `sent` is what they believe to have rated, by cell."""

    base: str
    queue: str
    cookies: dict[str, str]
    sent: dict[int, int] = field(default_factory=dict)
    waiting: dict[int, tuple[str, dict[str, str]]] = field(default_factory=dict)
    """By cell: address and fields of its form, as a page keeps them."""
    saves: list[tuple[float, float]] = field(default_factory=list)
    """When each began, and its seconds from the key to the answer with the next cells in it."""
    patience: float = 0.0
    """Seconds for which what was not answered is sent again."""

    def work(self, *, wanted: Callable[[int], bool], resend_every: int = 5, pause: float = 0.0) -> None:
        """Rate as long as `wanted(how many so far)`, or until nothing is left; send some ratings twice."""
        with httpx.Client(base_url=self.base, cookies=self.cookies, timeout=60) as browser:
            start = START.search(self._answer(lambda: browser.get(self.queue)))
            if start:
                self._keep(self._send(browser, start[1], dict(FIELD.findall(start[0]))))
            while wanted(len(self.sent)) and self.waiting:
                cell = next(iter(self.waiting))
                address, fields = self.waiting.pop(cell)
                rating, known = len(self.sent) % 6, ",".join(map(str, {*self.waiting, *self.sent, cell}))
                body = {**fields, "rating": str(rating), "comment": "", "known": known}
                self.sent[cell] = rating
                self._save(browser, address, body)
                if len(self.sent) % resend_every == 0:
                    self._save(browser, address, body)
                time.sleep(pause)

    def _keep(self, html: str) -> None:
        """Keep the forms of items that wait and are new."""
        for item in ITEM.finditer(html):
            form = FORM.search(item[0])
            if int(item[1]) not in self.sent:
                self.waiting.setdefault(int(item[1]), (form[1], dict(FIELD.findall(form[0]))))

    def _save(self, browser: httpx.Client, address: str, body: dict[str, str]) -> None:
        started = time.perf_counter()
        html = self._send(browser, address, body)
        self.saves.append((started, time.perf_counter() - started))
        self._keep(html)

    def _send(self, browser: httpx.Client, address: str, body: dict[str, str]) -> str:
        return self._answer(lambda: browser.post(address, data=body, headers={"HX-Request": "true"}))

    def _answer(self, send: Callable[[], httpx.Response]) -> str:
        until = time.monotonic() + self.patience
        while True:
            try:
                return _flat(send())
            except httpx.HTTPError:
                if time.monotonic() >= until:
                    raise
                time.sleep(RETRY_SECONDS)


def _flat(response: httpx.Response) -> str:
    """The page with one space where it has white space."""
    return " ".join(response.raise_for_status().text.split())
