"""A walk over the pages of a collection by their links, as a reader takes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.http import HttpResponse
from django.test import Client
from django.urls import Resolver404, resolve

LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
SIDE = re.compile(r"[?&](view=\w+)")
"""What makes another page of the same view: the rubric of a topic, and its grid."""
EACH = 1
"""Pages of one view that are opened: others of it offer the same links."""
OWN = {"arena:battle"}
"""Views of rows that only one person may open: every link to them is followed."""


@dataclass(slots=True)
class Walk:
    """The pages that a client reaches; `opened` counts those of each view."""

    client: Client
    start: str
    opened: Counter[str] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[tuple[str, str, Any]]:
        """Yield each address with the page that links it, and its response."""
        queue, addresses = [(self.start, "")], set[str]()
        for address, page in queue:
            try:
                view = resolve(urlsplit(address).path).view_name
            except Resolver404:
                view = address
            view = " ".join([view, *SIDE.findall(address)])
            if address in addresses or (self.opened[view] >= EACH and view not in OWN):
                continue
            if view.startswith("django") or address.startswith("/static/"):
                continue
            addresses.add(address)
            self.opened[view] += 1
            response = self.client.get(address)
            yield address, page, response
            if is_page(response):
                links = (unescape(link) for link in LINK.findall(response.content.decode()))
                queue += [(urljoin(address, link), address) for link in links if not urlsplit(link).scheme]


def is_page(response: HttpResponse) -> bool:
    return not response.streaming and response.get("Content-Type", "").startswith("text/html")
