"""The topics beside a screen of one topic."""

from __future__ import annotations

import pytest

from rubricweb.campaigns.adjudication.selectors import Query, conflicts
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import world


@pytest.fixture
def rail_of(autumn):
    return f"/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/rail/"


def test_each_topic_has_its_state_and_leads_to_the_same_kind_of_screen(autumn, rail_of, viewer, client_of):
    client = client_of(viewer)
    page = client.get(rail_of)
    (row,) = page.context["rail"]
    assert (row.topic.facts.cells, row.topic.graded, row.address) == (18, 11, autumn.grid)
    assert "61\u202f% graded" in markup(page)
    assert 'aria-current="page"' in page.text
    (row,) = client.get(rail_of, {"room": "editor"}).context["rail"]
    assert client.get(row.address).status_code == 200


def test_conflicts_show_to_those_who_decide_them(collection, owner, assessor, client_of):
    bank = world(collection, owner, second=assessor)
    address = f"/banks/{bank.pk}/topics/{collection.topics.first().pk}/rail/"
    rows = client_of(owner).get(address).context["rail"]
    assert sum(row.conflicts for row in rows) == conflicts(collection, Query(), owner).open > 0
    assert {row.conflicts for row in client_of(assessor).get(address).context["rail"]} == {0}


def test_the_rail_is_open_where_it_was_left_open(autumn, rail_of, viewer, outsider, client_of):
    client = client_of(viewer)
    assert 'hx-trigger="opened"' in client.get(autumn.grid).text
    client.cookies["rail"] = "open"
    assert 'hx-trigger="load, opened"' in client.get(autumn.grid).text
    assert 'id="rail"' not in client.get("/").text
    assert client_of(outsider).get(rail_of).status_code == 404
