"""Blind means blind on every route: no answer depends on a rating that is hidden from whoever asks."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from grading.types import MAX_RATING
from rubricweb.accounts.roles import Role
from rubricweb.grades.humans import Cell, rate_cell
from rubricweb.grades.models import Grade, HumanGrade
from rubricweb.grades.visibility import hidden_from
from rubricweb.leaderboards.figures import views as figures
from tests.factories import MembershipFactory, UserFactory, lexical_config
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import Route, routes
from tests.rubricweb.worlds import blind_campaign, parameters, rate_otherwise, world

pytestmark = pytest.mark.django_db

RATINGS = re.compile(r'"grades_(grade|humangrade|matrixstamp|humanstamp|prompttrial)"')
"""What only a route reads that shows a rating or something made of ratings."""
CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids that a form is made with
    r"|\b[A-Za-z0-9]{64}\b|<time.*?</time>"  # CSRF tokens
    r"|\d{10}\.\d+|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?|\b\d\d:\d\d\b",  # times
    re.DOTALL,
)
VARIED = [
    "min_grade=1&mode=count&format=json&show=latest&was_source=humans&was_min_grade=2",
    "min_grade=5&mode=binary&format=tex&show=failed&source=humans&order=worst&file=tsv",
    "source=corrected",
]


@pytest.fixture
def second(collection):
    return MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user


@pytest.fixture
def bank(collection, owner, second):
    return world(collection, owner, second)


PARTS = ("leaderboards", "review", "others")
"""All routes, cut so that processes share them."""


def routes_of(part: str) -> list[Route]:
    rooms = {route: route.name.split(":")[0] for route in routes()}
    return [
        route for route, room in rooms.items() if room == part or (part == "others" and room not in PARTS)
    ]


class Reader:
    """One person's browser, and everything that it was told."""

    def __init__(self, client: Client, known: dict[str, object]) -> None:
        self.client, self.known = client, known

    def told(self, asked: list[Route]) -> dict[str, str]:
        """By address: what came back where ratings were read. What reads none cannot depend on one."""
        found: dict[str, str] = {}
        for route in asked:
            address = route.address(self.known)
            plain = f"GET {address}"
            for query in VARIED if self._reads_ratings(found, plain) else ():
                varied = f"{plain}?{query}"
                if self._reads_ratings(found, varied) and found[varied] == found[plain]:
                    del found[varied]  # it takes none of these parameters
            self._reads_ratings(found, f"POST {address}")
        return found

    def again(self, request: str) -> str:
        """What comes back, without what changes from one time to the next."""
        method, address = request.split(" ", 1)
        return self._said(self.client.get(address)) if method == "GET" else self._posted(address)

    def _reads_ratings(self, found: dict[str, str], request: str) -> bool:
        asked: list[str] = []
        with connection.execute_wrapper(lambda run, sql, *rest: (asked.append(sql), run(sql, *rest))[1]):
            said = self.again(request)
        does = any(map(RATINGS.search, asked))
        if does:
            found[request] = said
        return does

    def _posted(self, address: str) -> str:
        """What a form without a rating is answered with; nothing of it stays."""
        with transaction.atomic():
            sent = {"kind": "question", "text": "Which other pigment is it?", "look": "1", "deed": "right"}
            said = self._said(self.client.post(address, sent))
            transaction.set_rollback(True)
            self.client.cookies.pop("messages", None)  # or the next page would show them
        return said

    def _said(self, response) -> str:
        body = b"".join(response.streaming_content) if response.streaming else response.content
        return f"{response.status_code} {CHANGING.sub('', body.decode())}"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.portable
def test_no_answer_depends_on_a_hidden_rating(part, bank, assessor, owner, client_of, monkeypatch):
    """All routes, formats and values of parameters, before and after every hidden rating became another."""
    monkeypatch.setattr(figures, "get_plotlyjs", str)  # 4.8 MB
    campaign = blind_campaign(bank, by=owner, people=[assessor])
    reader = Reader(client_of(assessor), parameters(bank, assessor, campaign))
    before = reader.told(routes_of(part))
    rate_otherwise(campaign)
    after = {request: reader.again(request) for request in before}
    assert len(before) > 25
    assert [
        told_apart(request, before[request], after[request])
        for request in before
        if before[request] != after[request]
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


def test_the_grid_tells_hidden_grades_from_missing_ones(bank, assessor, viewer, owner, client_of):
    HumanGrade.objects.filter(by=assessor).delete()
    cell = blind_campaign(bank, by=owner).cells.first()
    address = reverse("review:grid", args=[bank.pk, cell.topic_id])
    seen, assessed = (client_of(who).get(address).context["grid"].counts for who in (viewer, assessor))
    assert (seen.missing, seen.hidden) == (0, 0)
    hidden = hidden_from(assessor, bank.collection_id)[cell.topic_id].graders
    assert (assessed.missing, assessed.hidden) == (0, len(hidden))
    assert assessed.share == 1
    words = re.sub(r"<[^>]+>", "", markup(client_of(assessor).get(address)))
    assert f"items, {assessed.hidden} hidden until you have rated them" in " ".join(words.split())


def test_files_and_boards_can_be_refused_instead(bank, assessor, owner, client_of):
    blind_campaign(bank, by=owner)
    bank.collection.blind_sums = bank.collection.BlindSums.REFUSED
    bank.collection.save()
    for address in ("/exports/autumn/qrels/", "/leaderboards/autumn/", "/leaderboards/autumn/agreement/"):
        answer = client_of(assessor).get(address)
        assert answer.status_code == 403
        assert b"to be rated blind" in answer.content
        assert client_of(owner).get(address).status_code == 200
