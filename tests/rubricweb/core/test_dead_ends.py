"""No page offers a link that its reader may not follow: every role walks a collection by its links."""

import re
from collections import Counter
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from tests.worked import judge, worked

pytestmark = pytest.mark.django_db
LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
EACH = 1
"""Pages of one view that are opened: others of it offer the same links."""


def dead_ends(client: Client, start: str) -> tuple[list[str], Counter[str]]:
    """Return the links that led to an error, each with its page, and how often each view was opened."""
    errors, opened, queue = [], Counter[str](), [(start, "")]
    for address, page in queue:
        try:
            view = resolve(urlsplit(address).path).view_name
        except Resolver404:
            view = address
        if opened[view] == EACH or view.startswith("django") or address.startswith("/static/"):
            continue
        opened[view] += 1
        response = client.get(address)
        if response.status_code >= 400:
            errors.append(f"{response.status_code} {address}, linked on {page}")
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            continue
        links = (unescape(link) for link in LINK.findall(response.content.decode()))
        queue += [(urljoin(address, link), address) for link in links if not urlsplit(link).scheme]
    return errors, opened


@pytest.mark.parametrize("role", ["owner", "developer", "assessor", "viewer"])
def test_a_reader_may_follow_every_link(role, collection, request, client_of):
    """A new collection that nobody has rated: its pages propose what comes first, to whom it is open."""
    judge(worked(collection))
    errors, opened = dead_ends(client_of(request.getfixturevalue(role)), collection.get_absolute_url())
    assert errors == []
    assert opened["leaderboards:sure"]
    assert len(opened) > 30
