"""No page offers a link that its reader may not follow: every role walks the links of a collection."""

from __future__ import annotations

import re
from collections import Counter, deque
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from rubricweb.accounts.models import User
from tests.rubricweb.leaderboards.worlds import judge
from tests.worked import worked

pytestmark = pytest.mark.django_db
LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
EACH = 2
"""Pages of one view that are opened: others have the same links."""
NO_PAGES = {"accounts:sign-out", "core:events"}


def refusals(client: Client, start: str) -> tuple[list[str], int]:
    """Return the links that lead to an error, each with the page that has it, and how many were followed."""
    refused, opened = [], Counter[str]()
    queue = deque([(start, "")])
    while queue:
        address, page = queue.popleft()
        response = client.get(address)
        match = response.resolver_match
        opened[match.view_name if match else ""] += 1
        if response.status_code >= 400:
            refused.append(f"{response.status_code} {address}, linked on {page}")
        if response.streaming or not response.headers.get("Content-Type", "").startswith("text/html"):
            continue
        for link in dict.fromkeys(LINK.findall(response.content.decode())):
            ...
    return refused, opened.total()
