"""No page offers what its reader may not follow or send: every role walks a collection by its links."""

import re
from collections.abc import Iterable
from html import unescape
from urllib.parse import urljoin

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client

from rubricweb.arena.models import Battle
from rubricweb.corpus.models import Run
from rubricweb.submissions.models import Submission
from tests.rubricweb.markup import markup
from tests.rubricweb.walking import Walk, is_page
from tests.rubricweb.worlds import blind_campaign, parameters, world
from tests.worked import judge, worked

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
Reached = tuple[str, str, HttpResponse]
"""An address, the page that links it, and its response."""
SENDS = re.compile(r'(?<![-\w])(?:formaction|hx-post|hx-put|hx-delete)="([^"#]+)"')
FORMS = re.compile(r'<form\b(?=[^>]*\bmethod="post")[^>]*?\baction="([^"#]+)')
ROLES = ["owner", "developer", "assessor", "viewer"]


def refusals(client: Client, pages: Iterable[Reached]) -> list[str]:
    """Return what the pages let a reader send and then refuse for their role; nothing is changed."""
    offered = {
        urljoin(address, unescape(way))
        for address, _, page in pages
        if is_page(page)
        for way in (*SENDS.findall(page.content.decode()), *FORMS.findall(page.content.decode()))
    }
    refused = []
    for way in sorted(way for way in offered if not way.startswith("/accounts/")):  # nobody signs out
        with transaction.atomic():
            response = client.post(way)
            transaction.set_rollback(True)
        if (
            response.status_code == 403
            and not response.streaming
            and "This needs the role" in markup(response)
        ):
            refused.append(way)
    return refused


def dead_ends(pages: Iterable[Reached]) -> list[str]:
    """Return the links that led to an error, each with its page."""
    return [
        f"{response.status_code} {address}, linked on {page}"
        for address, page, response in pages
        if response.status_code >= 400
    ]


@pytest.mark.parametrize("role", ROLES)
def test_a_reader_may_follow_every_link(role, collection, request, client_of):
    """A new collection that nobody has rated: its pages propose what comes first, to whom it is open."""
    judge(worked(collection))
    walk = Walk(client_of(request.getfixturevalue(role)), collection.get_absolute_url())
    assert dead_ends(walk) == []
    assert walk.opened["leaderboards:sure"]
    assert len(walk.opened) > 30


@pytest.mark.parametrize("role", ROLES)
def test_a_reader_may_follow_every_link_where_there_is_all(
    role, collection, owner, developer, viewer, request, client_of
):
    """A collection with rows of every kind: jobs of models, votes, drafts, flags, releases."""
    bank = world(collection, owner, developer)
    parameters(bank, viewer, blind_campaign(bank, by=owner, assignees=[viewer]))
    Submission.objects.update(is_kept=False)
    Run.objects.filter(pk=Battle.objects.get(question=None).left_id).update(state=Run.State.WITHDRAWN)
    collection.stamp += 1
    collection.save(update_fields=["stamp"])
    walk = Walk(client_of(request.getfixturevalue(role)), collection.get_absolute_url())
    pages = list(walk)
    assert dead_ends(pages) == []
    assert refusals(walk.client, pages) == []
    assert walk.opened["arena:vote"] == (role != "viewer")
    assert walk.opened["arena:judges"] == (role in ("owner", "developer"))
