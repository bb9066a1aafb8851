"""Blind means blind on every route: no answer depends on a rating that is hidden from whoever asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse

from grading.types import MAX_RATING, ItemKind
from rubricweb.accounts.roles import Role
from rubricweb.banks.actions import add_item
from rubricweb.campaigns.actions import rate
from rubricweb.campaigns.models import Campaign, DecidedRating, Decision, Turn
from rubricweb.core.tags import NOTE
from rubricweb.graders.models import CalibrationCard, DryRun
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.human_ratings import Cell, ShownRating, rate_cell, record_verdict
from rubricweb.grades.models import Grade, MatrixStamp, ReplyBlock
from rubricweb.grades.visibility import hidden_from
from tests.factories import MembershipFactory, UserFactory, grade, lexical_config, start_names_again, take
from tests.rubricweb import two_worlds
from tests.rubricweb.looked_up import looking_up
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import Route, readable_routes, routes
from tests.rubricweb.worlds import HIDDEN, Rated, as_it_is, blind_campaign, parameters, verify_answers, world

pytestmark = pytest.mark.django_db

CHANGING = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # ids that a form is made with
    r'|name="once" value="\w+"|data-since="\d+"'  # of a form that is sent once, and of the sign-in
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


Verdict = HumanGrade.Verdict
PARTS = ("leaderboards", "review", "others")
"""All routes, cut so that processes share them."""


def routes_of(part: str) -> list[Route]:
    rooms = {route: route.name.split(":")[0] for route in routes()}
    return [
        route for route, room in rooms.items() if room == part or (part == "others" and room not in PARTS)
    ]


class Browser:
    """One person's browser."""

    def __init__(self, client: Client, values: dict[str, object], tables: Iterable[str]) -> None:
        """`values` are those of the routes' parameters. What reads none of these tables shows no rating."""
        self.client, self.values = client, values
        verifies = f"grader={values['verifier']}"
        self._varied = [*VARIED, verifies, f"{verifies}&view=list&source=corrected"]
        self.reads_ratings = re.compile("|".join(f'"{table}"' for table in tables))

    def answers(self, asked: list[Route], *, is_varied: bool = True) -> dict[str, str]:
        """By request: what comes back where ratings were read. What reads none cannot depend on one."""
        answers: dict[str, str] = {}
        for route in asked:
            address = route.address(self.values)
            plain = f"GET {address}"
            if not is_varied:
                self._reads_ratings(answers, plain)
                continue
            with looking_up() as may_change:
                reads = route.has_page and self._reads_ratings(answers, plain)
            for query in filter(may_change, self._varied) if reads else ():
                varied = f"{plain}?{query}"
                if self._reads_ratings(answers, varied) and answers[varied] == answers[plain]:
                    del answers[varied]  # it takes none of these parameters
            self._reads_ratings(answers, f"POST {address}")
        return answers

    def differing(self, before: Mapping[str, str]) -> list[str]:
        """Each of these requests that is answered otherwise now, with the first line that differs."""
        after = {request: self.answer(request) for request in before}
        return [
            told_apart(request, before[request], after[request])
            for request in before
            if before[request] != after[request]
        ]

    def answer(self, request: str) -> str:
        """What comes back, without what changes from one time to the next."""
        method, address = request.split(" ", 1)
        return self._text(self.client.get(address)) if method == "GET" else self._posted(address)

    def _reads_ratings(self, answers: dict[str, str], request: str) -> bool:
        queries: list[str] = []
        with connection.execute_wrapper(lambda run, sql, *rest: (queries.append(sql), run(sql, *rest))[1]):
            answer = self.answer(request)
        does = any(map(self.reads_ratings.search, queries))
        if does:
            answers[request] = answer
        return does

    def _posted(self, address: str) -> str:
        """What a form without a rating is answered with; nothing of it stays."""
        with transaction.atomic():
            form = {"kind": "question", "text": "Which other pigment is it?", "look": "1", "deed": "right"}
            answer = self._text(self.client.post(address, form))
            transaction.set_rollback(True)
            self.client.cookies.pop("messages", None)  # or the next page would show them
        return answer

    def _text(self, response) -> str:
        body = b"".join(response.streaming_content) if response.streaming else response.content
        return f"{response.status_code} {CHANGING.sub('', body.decode())}"


def tables_of(rows: two_worlds.Rows) -> set[str]:
    """The tables of these rows, and of the stamps that say which state of them a cache has."""
    return {model._meta.db_table for model in {MatrixStamp, HumanStamp, *(model for model, _ in rows)}}


@pytest.fixture
def build(collection, owner, assessor, second):
    """`build(rated)`: the world with a campaign that `second` has ended, and values for all routes."""

    def built(rated: Rated) -> tuple[Campaign, dict[str, object]]:
        bank = world(collection, owner, second, rated)
        campaign = blind_campaign(bank, by=owner, assignees=[assessor, second])
        verifier = verify_answers(bank, [second, owner], rated)
        for turn in take(campaign, second, count=HIDDEN):
            place = (turn.cell.revision_id, turn.cell.passage_id)
            rate(turn.cell, rating=rated(place, 1), by=second, seen=1, uid=uuid4())
        for cell in campaign.cells.all():
            shown = ShownRating(lexical_config(), rated((cell.revision_id, cell.passage_id), 4))
            record_verdict(cell.human_cell, verdict=Verdict.WRONG, by=owner, seen=1, displayed=shown)
        return campaign, parameters(bank, assessor, campaign, rated) | {"verifier": verifier.pk}

    return built


OTHERS: list[two_worlds.Rows] = []


@pytest.fixture
def others(build, assessor) -> two_worlds.Rows:
    """What is stored otherwise where each rating that is hidden from `assessor` is another.

    The first test looks for it, and what it builds is four worlds; the rows of the next have the same keys.
    """
    if not OTHERS:
        with transaction.atomic():
            campaign, _ = build(as_it_is)
            by_topic = hidden_from(assessor, campaign.collection_id)
            transaction.set_rollback(True)
        places = frozenset(place for hidden in by_topic.values() for place in hidden.graders)
        OTHERS.append(two_worlds.differences(build, places))
    start_names_again()
    return OTHERS[0]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.portable
def test_no_answer_depends_on_a_hidden_rating(part, build, others, assessor, viewer, client_of):
    """All routes, formats and values of parameters, before and after every hidden rating became another."""
    _, values = build(as_it_is)
    blind, seeing = (Browser(client_of(user), values, tables_of(others)) for user in (assessor, viewer))
    before = blind.answers(routes_of(part))
    shown = {request: seeing.answer(request) for request in before if "?" not in request}
    two_worlds.change(others)
    assert len(before) > 20
    assert blind.differing(before) == []
    assert len(seeing.differing(shown)) > 3


@pytest.mark.portable
def test_no_answer_depends_on_the_grade_of_a_copy(build, assessor, viewer, client_of):
    """Of a question that the assessor words like a blind one, on the passages that they have to rate."""
    campaign, values = build(as_it_is)
    for item in campaign.bank.items.all():
        text = item.revision.text.replace("?", " ?")
        copy = add_item(campaign.bank, item.topic, kind=ItemKind.QUESTION, text=text, by=assessor)
        for n, pooled in enumerate(item.topic.pool.all()):
            grade(lexical_config(), copy, pooled.passage, n % 2 * 5)
    by_topic = hidden_from(assessor, campaign.collection_id).values()
    copies = {place for hidden in by_topic for place in hidden.graders - hidden.ratings}
    rows = [row for row in Grade.objects.all() if (row.revision_id, row.passage_id) in copies]
    blind, seeing = (
        Browser(client_of(user), values, [Grade._meta.db_table, MatrixStamp._meta.db_table])
        for user in (assessor, viewer)
    )
    before = blind.answers(readable_routes(), is_varied=False)
    shown = {request: seeing.answer(request) for request in before}
    two_worlds.change({(Grade, row.pk): {"rating": 5 - row.rating, "answer": "changed"} for row in rows})
    assert len(rows) > 5
    assert blind.differing(before) == []
    assert len(seeing.differing(shown)) > 3


@pytest.mark.portable
def test_ratings_of_every_table_are_changed(others):
    """A new table of ratings is in `worlds`, or the test above does not know whether it is shown."""
    changed = {(model, name) for (model, _), values in others.items() for name in values}
    ratings = {
        (model, field.name)
        for model in two_worlds.models()
        for field in model._meta.concrete_fields
        if field.name.endswith(("rating", "confidence", "results", "is_right"))
    }
    assert ratings - changed == set()
    assert {Turn, Decision, DecidedRating, DryRun, CalibrationCard, ReplyBlock} <= {m for m, _ in changed}


@pytest.mark.parametrize("role", [Role.ASSESSOR, Role.ORGANIZER])
@pytest.mark.portable
def test_what_hides_says_how_much(role, build, collection, client_of):
    """Whatever a person with cells to rate sees otherwise than a colleague without, on pages and in files."""
    campaign, values = build(as_it_is)
    rating, seeing = (
        MembershipFactory(
            user=UserFactory(username=name, first_name="Sam"), collection=collection, role=role
        ).user
        for name in ("colleague1", "colleague2")
    )
    campaign.assignees.add(rating)
    hidden = sum(len(cells.ratings) for cells in hidden_from(rating, collection.pk).values())
    own = re.compile(rf"colleague\d|\b({rating.pk}|{seeing.pk})\b")
    browsers = [client_of(rating), client_of(seeing)]
    silent, saying = [], []
    for route in (route for route in readable_routes() if route.name not in HANDING_OUT):
        address = route.address(values)
        mine, theirs = (Answered.of(browser.get(address), own) for browser in browsers)
        if mine.text != theirs.text:
            (saying if mine.says(hidden) else silent).append(told_apart(address, mine.text, theirs.text))
    assert not silent, "\n".join(silent)
    assert len(saying) > 20


HANDING_OUT = {
    "home:home",
    "home:work",
    *(f"campaigns:{name}" for name in ("campaigns", "campaign", "queue", "queue-cell")),
}
"""What a person has to do differs by who is named for a campaign; an opened one stands in the list of all."""


class Answered(NamedTuple):
    """What came back to one person, without what is their own."""

    status: int
    text: str
    header: str | None

    @classmethod
    def of(cls, response, own: re.Pattern[str]) -> Answered:
        body = b"".join(response.streaming_content) if response.streaming else response.content
        text = own.sub("", CHANGING.sub("", body.decode(errors="replace")))
        return cls(response.status_code, text, response.headers.get("X-Hidden-Cells"))

    def says(self, cells: int) -> bool:
        """A refusal says what to rate, a page how much is hidden, and whatever else has it in a header.

        The page of a topic or a cell speaks of that one. A refusal may stand in the place of a form.
        """
        if self.status == 403 or "You are rating this question blind." in self.text:
            return re.search(r"[Rr]at(ed?|ing) ", self.text) is not None
        is_page = "<main" in self.text
        return 0 < int(self.header or 0) <= cells and (NOTE in self.text or not is_page)


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
    for least in range(1, MAX_RATING + 1):
        query = f"grader={lexical_config().pk}&bank={bank.pk}&min_grade={least}&mode=count"
        lines = (
            b"".join(client.get(f"/collections/autumn/exports/qrels/?{query}").streaming_content)
            .decode()
            .splitlines()
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
    address = reverse("review:topic", args=[bank.pk, cell.topic_id], query={"view": "grid"})
    seen, assessed = (client_of(who).get(address).context["grid"].counts for who in (viewer, assessor))
    assert (seen.missing, seen.hidden) == (0, 0)
    hidden = hidden_from(assessor, bank.collection_id)[cell.topic_id].graders
    assert (assessed.missing, assessed.hidden) == (0, len(hidden))
    assert assessed.share == 1
    words = re.sub(r"<[^>]+>", "", markup(client_of(assessor).get(address)))
    assert f"items. {assessed.hidden} pairs are hidden from you until" in " ".join(words.split())


def test_files_and_boards_can_be_refused_instead(bank, assessor, owner, client_of):
    blind_campaign(bank, by=owner)
    bank.collection.blind_sums = bank.collection.BlindSums.REFUSED
    bank.collection.save()
    for address in (
        "/collections/autumn/exports/qrels/",
        "/collections/autumn/leaderboards/",
        "/collections/autumn/leaderboards/sure/",
    ):
        answer = client_of(assessor).get(address)
        assert answer.status_code == 403
        assert b"to be rated blind" in answer.content
        assert client_of(owner).get(address).status_code == 200
