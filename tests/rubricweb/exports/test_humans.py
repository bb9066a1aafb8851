"""Ratings by people as files: who, when, in which work, and under which name."""

from __future__ import annotations

import csv
import json
from uuid import uuid4

import pytest
from django.urls import reverse

from rubricweb.campaigns.actions import rate, undo
from rubricweb.campaigns.adjudication import CellKey, decide
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.human_ratings import rate_cell
from tests.factories import take
from tests.rubricweb.campaigns.conftest import bank, campaign_of
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["bank", "campaign_of"]


@pytest.fixture
def campaign(campaign_of, assessor):
    """One cell rated blind, taken back and rated again, with a comment; another one not rated."""
    campaign = campaign_of(mode="blind", size=2)
    cell = take(campaign, assessor, count=1)[0].cell
    rate(cell, rating=1, by=assessor, seen=0, uid=uuid4())
    undo(campaign, by=assessor, uid=uuid4())
    rate(cell, rating=4, by=assessor, seen=2, uid=uuid4(), comment="a\ttab and\na line")
    return campaign


def download(client, name: str, query: str = "") -> str:
    response = client.get(f"{reverse(f'exports:{name}', args=['autumn'])}?{query}")
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def test_every_event_is_a_line(campaign, client_of, developer, assessor):
    cell = campaign.cells.get(order=1)
    place = CellKey(cell.topic_id, cell.revision_id, cell.passage_id)
    decide(place, rating=5, by=developer, seen=0, reason="line 2")
    lines = [json.loads(line) for line in download(client_of(developer), "human-grades").splitlines()]
    assert [(line["rating"], line["how"], line["withdrawn"]) for line in lines] == [
        (1, "blind", False),
        (None, "blind", True),
        (4, "assisted", False),
        (5, "adjudicated", False),
    ]
    events = HumanGrade.objects.order_by("pk")
    assert [line["event"] for line in lines] == [str(event.uid) for event in events]
    assert [line["at"] for line in lines] == [event.at.isoformat() for event in events]
    assert {line["item_id"] for line in lines} == {cell.revision.uid}
    assert {line["campaign"] for line in lines} == {campaign.name, ""}
    assert (lines[2]["comment"], lines[3]["reason"]) == ("a\ttab and\na line", "line 2")
    assert lines[2]["grader_rating"] == 4
    assert len({line["assessor"] for line in lines}) == 2
    assert "assessor" not in {line["assessor"] for line in lines}


def test_names_where_they_are_asked_for(campaign, client_of, owner):
    lines = download(client_of(owner), "human-grades", "names=1").splitlines()
    assert {json.loads(line)["assessor"] for line in lines} == {"assessor"}


def test_the_same_as_tsv(campaign, client_of, owner):
    client = client_of(owner)
    rows = list(csv.DictReader(download(client, "human-grades", "file=tsv").splitlines(), delimiter="\t"))
    lines = [json.loads(line) for line in download(client, "human-grades").splitlines()]
    assert [row["event"] for row in rows] == [line["event"] for line in lines]
    assert [row["rating"] for row in rows] == ["1", "", "4"]
    assert rows[2]["comment"] == "a tab and a line"
    assert [row["withdrawn"] for row in rows] == ["0", "1", "0"]


def test_the_page_and_the_file_say_how_many_ratings_are_hidden(campaign, campaign_of, client_of, owner):
    """From an organizer who rates the same cells blind herself: all but the one that she has rated."""
    rate_cell(campaign.cells.get(order=2).human_cell, rating=2, by=owner, seen=0)
    campaign_of(mode="blind", assignees=(owner,))
    client = client_of(owner)
    response = client.get(reverse("exports:human-grades", args=["autumn"]))
    assert len(b"".join(response.streaming_content).splitlines()) == 1
    assert response["X-Hidden-Ratings"] == "3 of 4"
    assert client.get("/api/v1/collections/autumn/ratings/")["X-Hidden-Ratings"] == "3 of 4"
    for route in ("releases:share", "leaderboards:sure", "campaigns:decide"):
        page = " ".join(markup(client.get(reverse(route, args=["autumn"]))).split())
        assert "11 pairs with 3 of 4 ratings are hidden from you until" in page


def test_random_cells_have_their_chance(campaign, client_of, owner):
    lines = [json.loads(line) for line in download(client_of(owner), "random-cells").splitlines()]
    assert [(line["order"], line["ratings"]) for line in lines] == [(1, 1), (2, 0)]
    assert {line["draw_probability"] for line in lines} == {2 / 12}
    assert {line["population"] for line in lines} == {12}


@pytest.mark.parametrize("name", ["human-grades", "random-cells"])
def test_roles(name, campaign, client_of, assessor, viewer, outsider):
    """Assessors do not read there what they shall not see yet."""
    address = reverse(f"exports:{name}", args=["autumn"])
    for person, status in ((assessor, 403), (viewer, 403), (outsider, 404)):
        assert client_of(person).get(address).status_code == status


def test_the_page_offers_them_to_developers(campaign, client_of, developer, viewer):
    address = reverse("releases:share", args=["autumn"])
    assert "All ratings, changes and decisions" in markup(client_of(developer).get(address))
    assert "All ratings, changes and decisions" not in markup(client_of(viewer).get(address))
