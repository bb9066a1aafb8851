"""No page that is served while grades are in cold storage offers what is then refused."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import resolve

from rubricweb.accounts.cold_storage import SERVED_COLD, without_refused
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.archives import actions
from rubricweb.banks.models import Bank
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.forms import forms_of
from tests.rubricweb.markup import markup
from tests.rubricweb.walking import LINK, Walk, is_page
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = pytest.mark.portable

EVERY_LINK = re.compile(LINK.pattern + r'|(?:formaction|hx-post|sse-connect)="([^"#]+)')


@pytest.fixture
def viewer(collection) -> User:
    return MembershipFactory(collection=collection, user=UserFactory(), role=Role.VIEWER).user


@pytest.fixture
def cold(collection, owner, assessor, viewer, monkeypatch) -> Bank:
    bank = world(collection, owner, assessor)
    parameters(bank, viewer, blind_campaign(bank, by=owner, assignees=[viewer]))
    monkeypatch.setattr(actions, "why_not", lambda collection: "")  # the world has work under way
    actions.cool(collection, by=None)
    collection.refresh_from_db()
    return bank


def pages_of(client: Client, bank: Bank) -> Walk:
    return Walk(client, f"/collections/{bank.collection.slug}/leaderboards/")


def is_refused(client: Client, way: str) -> bool:
    """Return whether what the way leads to is refused: a stream, which never ends, by its route."""
    match = resolve(urlsplit(way).path) if "/events/" in way else None
    return match.view_name not in SERVED_COLD if match else client.get(way).status_code == 403


@pytest.mark.parametrize("role", ["owner", "viewer"])
def test_no_way_leads_to_a_refusal(role, cold, request, client_of):
    """Of every page, each link is followed and each form sent, not one of each kind."""
    client, asked = client_of(request.getfixturevalue(role)), set[str]()
    refused = []
    walk = pages_of(client, cold)
    for address, _, page in walk:
        assert page.status_code < 400, address
        if not is_page(page) or f"/{cold.collection.slug}/" not in address:
            continue
        ways = [unescape("".join(way)) for way in EVERY_LINK.findall(page.content.decode())]
        for way in {urljoin(address, way) for way in ways if not way.startswith("/static/")} - asked:
            asked.add(way)
            if is_refused(client, way):
                refused.append(f"{way} on {address}")
        for form in forms_of(page):
            sends_to = urljoin(address, form.attributes.get("action") or "")
            if form.method == "post" and client.post(sends_to, {}).status_code == 403:
                refused.append(f"{sends_to}, a form on {address}")
    assert refused == []
    assert {"leaderboards:board", "leaderboards:compare", "leaderboards:sure"} <= set(walk.opened)
    assert walk.opened["exports:leaderboard"]
    assert any("/events/" in way for way in asked)


@pytest.mark.parametrize("path", ["", "compare/", "sure/"])
def test_boards_say_that_the_rest_waits(path, cold, owner, client_of):
    shown = markup(client_of(owner).get(f"/collections/{cold.collection.slug}/leaderboards/{path}"))
    assert shown.count("The grades are in cold storage since") == 1


def test_names_stay_where_links_go_and_offers_do_not():
    page = (
        '<a class="mark" href="/review/banks/3/topics/4/?view=grid" title="Why?">Q 1</a>'
        '<a href="/review/banks/3/topics/4/" data-offer>Open in the grid</a>'
        '<a class="small button" href="/collections/autumn/releases/">Share</a>'
        '<form action="/collections/autumn/imports/"><button>Make a card</button></form>'
        '<a href="?page=2">Next</a><a href="/help/">Help</a><a href="/collections/spring/">Spring</a>'
        '<form data-key-action="help"></form>'
    )
    assert without_refused(page, "autumn") == (
        '<a class="mark"  title="Why?">Q 1</a>'
        '<a href="?page=2">Next</a><a href="/help/">Help</a><a href="/collections/spring/">Spring</a>'
        '<form data-key-action="help"></form>'
    )


def test_a_refusal_names_the_collection_and_leads_to_its_board(cold, owner, client_of):
    response = client_of(owner).get(f"/collections/{cold.collection.slug}/")
    shown = markup(response)
    assert response.status_code == 403
    assert f"The grades of {cold.collection.name} are in cold storage" in shown
    assert f'href="/collections/{cold.collection.slug}/leaderboards/">To the leaderboard</a>' in shown
