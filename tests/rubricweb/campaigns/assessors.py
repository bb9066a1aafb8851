"""Assessors as their browsers act: sessions of their own, forms read from pages, ratings sent as pages do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

SHOWN = re.compile(r'id="queue-card">\s*<article[^>]*data-cell="(\d+)".*?</article>', re.DOTALL)
FORM = re.compile(r'<form method="post" class="stack" action="([^"]+)".*?</form>', re.DOTALL)
START = re.compile(r'<form class="empty" method="post" action="([^"]+)".*?</form>', re.DOTALL)
FIELD = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)"')


@dataclass
class Assessor:
    """One person in a session of their own; `sent` is what they believe to have rated, by cell."""

    base: str
    queue: str
    cookies: dict[str, str]
    sent: dict[int, int] = field(default_factory=dict)
    saves: list[tuple[float, float]] = field(default_factory=list)
    """When each began, and its seconds from the key to the answer with the next cells in it."""

    def work(self, *, wanted: Callable[[int], bool], resend_every: int = 5, pause: float = 0.0) -> None:
        """Rate as long as `wanted(how many so far)`, or until nothing is left; send some ratings twice."""
        with httpx.Client(base_url=self.base, cookies=self.cookies, timeout=60) as browser:
            start = START.search(_flat(browser.get(self.queue)))
            html = self._send(browser, start[1], dict(FIELD.findall(start[0]))) if start else ""
            while wanted(len(self.sent)) and (card := SHOWN.search(html)):
                cell, rating = int(card[1]), len(self.sent) % 6
                form = FORM.search(card[0])
                body = {**dict(FIELD.findall(form[0])), "rating": str(rating), "comment": ""}
                html = self._save(browser, form[1], body)
                self.sent[cell] = rating
                if len(self.sent) % resend_every == 0:
                    html = self._save(browser, form[1], body)
                time.sleep(pause)

    def _save(self, browser: httpx.Client, address: str, body: dict[str, str]) -> str:
        started = time.perf_counter()
        html = self._send(browser, address, body)
        self.saves.append((started, time.perf_counter() - started))
        return html

    def _send(self, browser: httpx.Client, address: str, body: dict[str, str]) -> str:
        return _flat(browser.post(address, data=body, headers={"HX-Request": "true"}))


def _flat(response: httpx.Response) -> str:
    """The page with one space where it has white space."""
    return " ".join(response.raise_for_status().text.split())
