"""One event, many open boards: computed once for all that may see the same, and shown to nobody else."""

import re

import pytest

from rubricweb.core import events
from rubricweb.leaderboards import board_page
from rubricweb.leaderboards.board import selectors
from tests import factories
from tests.rubricweb.worlds import blind_campaign

BOARD = "/collections/autumn/leaderboards/"
HTMX = {"HX-Request": "true"}
MADE = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


@pytest.fixture
def computed(monkeypatch):
    """A list that grows with each board that is computed."""
    boards, board = [], selectors.board

    def recorded(spec):
        boards.append(spec)
        return board(spec)

    monkeypatch.setattr(board_page.selectors, "board", recorded)
    return boards


def refetch(client, **sent):
    return client.get(BOARD, {"seen": "1:1", **sent}, headers=HTMX)


def said(response):
    """The status and the board; error pages have references of their own."""
    board = response.content if response.status_code == 200 else b""
    return response.status_code, MADE.sub(b"", board)


def test_many_open_boards_cost_one_computation_an_event(made, viewer, client_of, computed):
    other = factories.MembershipFactory(collection=made.collection, role="viewer").user
    events.publish(made.collection.channel, "grades")
    answers = [refetch(client_of(person)) for person in (viewer, other, viewer)]

    assert len(computed) == 1
    assert b"both" in answers[0].content
    assert len({answer.content for answer in answers}) == 1
    assert all("HX-Request" in answer["Vary"] for answer in answers)


def test_the_next_event_is_computed_anew(made, viewer, client_of, computed):
    client = client_of(viewer)
    events.publish(made.collection.channel, "grades")
    before = refetch(client).content
    factories.grade(made.config, made.items["t2"][0], factories.PassageFactory(), 3)
    events.publish(made.collection.channel, "grades")

    assert len(computed) == 1
    assert said(refetch(client))[1] != b"" != before
    assert len(computed) == 2


def test_what_was_asked_otherwise_is_not_shared(made, viewer, client_of, computed):
    client = client_of(viewer)
    events.publish(made.collection.channel, "grades")
    for sent in ({}, {"min_grade": "2"}, {"seen": "2:1"}, {"sort": "run_tag"}):
        refetch(client, **sent)

    assert len(computed) == 4


def test_a_page_that_is_opened_is_always_computed(made, viewer, client_of, computed):
    client = client_of(viewer)
    events.publish(made.collection.channel, "grades")
    for _ in range(2):
        client.get(BOARD)
        client.get(BOARD, {"seen": "1:1"})
        client.get(BOARD, headers=HTMX)

    assert len(computed) == 6


def test_nobody_gets_what_is_hidden_from_them(
    made, owner, developer, assessor, viewer, outsider, client_of, computed
):
    """All ask for the same address: first alone, and then after each of the others."""
    made.collection.shows_run_tags = False
    made.collection.save()
    blind_campaign(made.bank, by=owner, assignees=[assessor])
    clients = [client_of(person) for person in (owner, developer, assessor, viewer, outsider)]
    alone = [said(refetch(client)) for client in clients]
    assert len(set(alone)) == 5  # only an organizer is offered a check; assessors miss cells

    for first in clients:
        events.publish(made.collection.channel, "ratings")
        refetch(first)
        assert [said(refetch(client)) for client in clients] == alone


def test_a_rating_that_shows_hidden_cells_shows_them_at_once(made, owner, assessor, client_of, computed):
    """What is hidden is part of what is asked, also where no event tells that it changed."""
    campaign = blind_campaign(made.bank, by=owner, assignees=[assessor])
    events.publish(made.collection.channel, "campaigns")
    hidden = said(refetch(client_of(assessor)))
    campaign.delete()

    assert said(refetch(client_of(assessor))) != hidden
    assert len(computed) == 2


def test_who_may_see_nothing_is_refused_after_others_were_answered(made, owner, assessor, client_of):
    blind_campaign(made.bank, by=owner, assignees=[assessor])
    made.collection.blind_sums = made.collection.BlindSums.REFUSED
    made.collection.save()
    events.publish(made.collection.channel, "campaigns")

    assert refetch(client_of(owner)).status_code == 200
    assert refetch(client_of(assessor)).status_code == 403
