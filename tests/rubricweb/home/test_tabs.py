"""The five tabs: few, the same on each page of a tab, and none that the reader's role does not open."""

from __future__ import annotations

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from rubricweb.accounts.roles import Role
from rubricweb.home.tabs import MOST_ENTRIES, TABS, screen_at, screens_for
from tests.factories import MembershipFactory
from tests.rubricweb.markup import markup

WITHOUT_TABS = {"accounts", "admin", "api", "core", "help"}
"""Rooms that no collection has a part in."""
OF_THE_SITE = {
    "archives:restore",
    "archives:restoration",
    "archives:deletion",
    "home:home",
    "home:search",
    "home:follow-link",
    "home:collections",
    "imports:new-collection",
    "leaderboards:public",
}


def routes(patterns=None, namespace=""):
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, pattern.namespace or namespace)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield f"{namespace}:{pattern.name}"


def test_every_page_of_a_collection_lies_below_one_screen_of_a_tab():
    homeless = {
        route
        for route in routes()
        if route.partition(":")[0] not in WITHOUT_TABS and route not in OF_THE_SITE and not screen_at(route)
    }
    assert not homeless


def test_tabs_are_five_and_have_six_screens_at_most():
    assert [tab.name for tab in TABS] == [
        *("Topics", "Work", "Results", "Runs", "Setup"),
        *("Submit", "Results"),
    ]
    assert max(len(tab.entries) for tab in TABS) <= MOST_ENTRIES
    assert [tab.name for tab, _ in screens_for(Role.PARTICIPANT)] == ["Submit", "Results"]


@pytest.mark.parametrize("role", list(Role)[1:])
def test_each_tab_of_a_role_opens_and_lists_the_same_screens_on_each(autumn, outsider, client_of, role):
    MembershipFactory(user=outsider, collection=autumn.collection, role=role)
    client, slug = client_of(outsider), autumn.collection.slug
    for tab, screens in screens_for(role):
        listed = {markup(client.get(reverse(screen.route, args=[slug]))) for screen in screens}
        for page in listed:
            assert all(f'href="{reverse(screen.route, args=[slug])}"' in page for screen in screens), tab.name
