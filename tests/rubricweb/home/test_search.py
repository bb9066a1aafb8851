"""The search: any screen, collection, topic, run or item that the reader may open, and nothing else."""

from __future__ import annotations

import pytest
from django.urls import reverse

from rubricweb.accounts.roles import Role
from rubricweb.banks.changes import hide_item
from rubricweb.corpus.models import Run
from rubricweb.home.search import MOST
from rubricweb.home.tabs import MORE, TABS
from tests.factories import CollectionFactory, ItemFactory, MembershipFactory, RunFactory
from tests.rubricweb.markup import markup

URL = "/search/"
OF_COLLECTIONS = (*(screen for tab in TABS[:-1] for screen in tab.entries), *MORE)


def found(client, text, **more):
    return client.get(URL, {"q": text, "of": "autumn", **more}).context["hits"]


def titles(hits, kind):
    return [hit.title for hit in hits if hit.kind == kind]


def test_a_topic_a_run_an_item_and_a_screen_are_found(autumn, owner, client_of):
    client = client_of(owner)
    topic = [hit for hit in found(client, "leaves red") if hit.kind == "Topics"]
    assert topic[0].address == autumn.grid
    assert titles(found(client, "bm2"), "Runs") == ["bm25"]
    (item,) = [hit for hit in found(client, "pigment") if hit.kind == "Items"]
    assert item.address.endswith(f"#item-{autumn.items[0].pk}")
    assert client.get(item.address).status_code == 200
    assert titles(found(client, "conflicts"), "Screens") == ["Decide"]


def test_every_word_counts_and_beginnings_come_first(autumn, owner, client_of):
    client = client_of(owner)
    assert titles(found(client, "pigment frogs"), "Items") == []
    assert titles(found(client, "run"), "Screens")[0] == "Runs"


@pytest.mark.parametrize("role", list(Role)[1:])
def test_each_offered_screen_opens(autumn, outsider, client_of, role):
    """Those that need this role; the other ones are asked as the role that they need."""
    MembershipFactory(user=outsider, collection=autumn.collection, role=role)
    client = client_of(outsider)
    for screen in OF_COLLECTIONS:
        if screen.needed == role:
            address = reverse(screen.route, args=[autumn.collection.slug])
            assert client.get(address).status_code == 200, screen.name
            assert screen.name in titles(found(client, screen.name), "Screens")


def test_viewers_are_offered_nothing_that_they_may_not_open(autumn, viewer, client_of):
    hits = found(client_of(viewer), "")
    offered = set(titles(hits, "Screens"))
    refused = {screen.name for screen in OF_COLLECTIONS if screen.needed != Role.VIEWER}
    assert offered
    assert not offered & refused


def test_secret_items_are_found_by_topic_developers_only(autumn, owner, assessor, client_of):
    hide_item(autumn.items[0], seen=autumn.items[0].version, by=owner)
    assert titles(found(client_of(owner), "pigment"), "Items")
    assert not titles(found(client_of(assessor), "pigment"), "Items")


def test_runs_are_found_by_the_names_that_the_reader_sees(autumn, viewer, client_of):
    autumn.collection.shows_run_tags = False
    autumn.collection.save()
    client = client_of(viewer)
    assert titles(found(client, "bm25"), "Runs") == []
    assert len(titles(found(client, "run"), "Runs")) == 2
    RunFactory(collection=autumn.collection, run_tag="waits", state=Run.State.SUBMITTED)
    assert len(titles(found(client, "run"), "Runs")) == 2


def test_other_collections_stay_hidden(autumn, owner, outsider, client_of):
    CollectionFactory(slug="secret", name="Secret track")
    assert titles(found(client_of(owner), "secret", of="secret"), "Collections") == []
    MembershipFactory(user=outsider, collection=autumn.collection, role=Role.PARTICIPANT, team="oak")
    hits = found(client_of(outsider), "")
    assert {hit.kind for hit in hits} == {"Screens"}
    assert "Submit" in titles(hits, "Screens")
    assert not {"Topics", "Leaderboard"} & set(titles(hits, "Screens"))


def test_hits_are_few_and_queries_do_not_grow(autumn, owner, client_of, django_assert_max_num_queries):
    for n in range(40):
        ItemFactory(bank=autumn.bank, topic=autumn.topic, text=f"What about red number {n}?")
    client = client_of(owner)
    client.get(URL)
    with django_assert_max_num_queries(14):
        assert len(found(client, "red")) <= MOST


def test_a_page_without_htmx_and_a_part_with_it(autumn, viewer, client_of):
    client = client_of(viewer)
    assert "Nothing matches these words" in markup(client.get(URL, {"q": "zzz"}))
    part = client.get(URL, {"q": "bm25", "of": "autumn"}, headers={"HX-Request": "true"}).text
    assert 'role="listbox"' in part
    assert "<html" not in part
