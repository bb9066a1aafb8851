"""Blind means blind on every route: no answer depends on a rating that is hidden from whoever asks."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from grading.types import MAX_RATING
from rubricweb.accounts.roles import Role
from rubricweb.grades.humans import Cell, rate_cell
from rubricweb.grades.models import Grade, HumanGrade
from rubricweb.grades.visibility import hidden_from
from tests.factories import MembershipFactory, UserFactory, lexical_config
from tests.rubricweb.routes import Route, routes
from tests.rubricweb.worlds import blind_campaign, parameters, rate_otherwise, world

pytestmark = pytest.mark.django_db

RATINGS = re.compile(r'"grades_(grade|humangrade|matrixstamp|humanstamp|prompttrial)"')
"""What only a route reads that shows a rating or something made of ratings."""
CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids that a form is made with
    r"|\b[A-Za-z0-9]{64}\b|<time.*?</time>"  # CSRF tokens
    r"|\d{10}\.\d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?|\b\d\d:\d\d\b"  # times
)
VARIED = [
    "min_grade=1&mode=count&format=json&show=latest",
    "min_grade=5&mode=binary&source=corrected&was_source=humans&was_min_grade=2&format=tsv",
    "min_grade=3&source=humans&order=worst&format=tex&show=failed&file=tsv",
]


@pytest.fixture
def second(collection):
    return MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user


@pytest.fixture
def bank(collection, owner, second):
    return world(collection, owner, second)


class Reader:
    """One person's browser, and everything that it was told."""

    def __init__(self, client: Client, known: dict[str, object]) -> None:
        self.client, self.known = client, known

    def told(self, varied: dict[str, list[str]]) -> dict[str, str]:
        """By address: what came back, without what changes from one time to the next."""
        found = {}
        for route in routes():
            address = route.address(self.known)
            queries = ["", *varied.get(route.name, ())]
            for query in queries:
                found[f"GET {address}?{query}"] = self._said(self.client.get(f"{address}?{query}"))
            found[f"POST {address}"] = self._posted(address)
        return found

    def varied(self) -> dict[str, list[str]]:
        """The further addresses of the routes that read ratings."""
        return {route.name: VARIED for route in routes() if self._reads_ratings(route)}

    def _reads_ratings(self, route: Route) -> bool:
        with CaptureQueriesContext(connection) as asked:
            response = self.client.get(route.address(self.known))
            self._said(response)
        return response.status_code == 200 and any(
            RATINGS.search(one["sql"]) for one in asked.captured_queries
        )

    def _posted(self, address: str) -> str:
        """What a form without a rating is answered with; nothing of it stays."""
        with transaction.atomic():
            sent = {"kind": "question", "text": "Which other pigment is it?", "look": "1", "deed": "right"}
            said = self._said(self.client.post(address, sent))
            transaction.set_rollback(True)
        return said

    def _said(self, response) -> str:
        body = b"".join(response.streaming_content) if response.streaming else response.content
        return f"{response.status_code} {CHANGING.sub('', body.decode())}"


def test_no_answer_depends_on_a_hidden_rating(bank, assessor, owner, client_of):
    """All routes, formats and values of parameters, before and after every hidden rating became another."""
    campaign = blind_campaign(bank, by=owner, people=[assessor])
    reader = Reader(client_of(assessor), parameters(bank, assessor, campaign))
    varied = reader.varied()
    before = reader.told(varied)
    rate_otherwise(campaign)
    after = reader.told(varied)
    assert len(varied) > 15
    assert [
        told_apart(address, before[address], after[address])
        for address in before
        if before[address] != after[address]
    ] == []


def told_apart(address: str, before: str, after: str) -> str:
    """The first line that differs."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return address + next((f": {one[:300]!r} {other[:300]!r}" for one, other in pairs if one != other), "")


def test_no_rating_follows_from_differences_between_thresholds(bank, assessor, owner, client_of):
    """Counts of items from grade 1 to 5 on add up to the ratings of a passage, without hidden ones."""
    campaign = blind_campaign(bank, by=owner)
    hidden = set(campaign.cells.values_list("revision", "passage"))
    assert added_up(bank, client_of(owner)) == ratings_without(set())
    assert added_up(bank, client_of(assessor)) == ratings_without(hidden)


def added_up(bank, client) -> Counter[str]:
    found: Counter[str] = Counter()
    for grade in range(1, MAX_RATING + 1):
        query = f"grader={lexical_config().pk}&bank={bank.pk}&min_grade={grade}&mode=count"
        lines = (
            b"".join(client.get(f"/exports/autumn/qrels/?{query}").streaming_content).decode().splitlines()
        )
        for _, _, doc_id, label in map(str.split, lines):
            found[doc_id] += int(label)
    return +found


def ratings_without(hidden: set[tuple[int, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in Grade.objects.filter(config=lexical_config()).select_related("passage"):
        if (row.revision_id, row.passage_id) not in hidden:
            found[row.passage.doc_id] += row.rating
    return +found


def test_nothing_is_hidden_after_rating(bank, assessor, owner):
    HumanGrade.objects.filter(by=assessor).delete()
    campaign = blind_campaign(bank, by=owner)
    hidden = hidden_from(assessor, bank.collection_id)
    assert sum(len(found.graders) for found in hidden.values()) == campaign.cells.count()
    for cell in campaign.cells.all():
        rate_cell(Cell(cell.topic_id, cell.revision_id, cell.passage_id), rating=3, by=assessor, seen=0)
    assert not hidden_from(assessor, bank.collection_id)


def test_files_and_boards_can_be_refused_instead(bank, assessor, owner, client_of):
    blind_campaign(bank, by=owner)
    bank.collection.blind_sums = bank.collection.BlindSums.REFUSED
    bank.collection.save()
    for address in ("/exports/autumn/qrels/", "/leaderboards/autumn/", "/leaderboards/autumn/agreement/"):
        answer = client_of(assessor).get(address)
        assert answer.status_code == 403
        assert b"to be rated without seeing what others say" in answer.content
        assert client_of(owner).get(address).status_code == 200
