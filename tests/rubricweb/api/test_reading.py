"""What scripts read: pages of lists, lines, one row, boards and qrels."""

from __future__ import annotations

import gzip
import json
from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.http import QueryDict
from rest_framework.serializers import Serializer

from rubricweb.api.resources import Rate
from rubricweb.api.resources.results import ComparisonDocument, LeaderboardDocument
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.leaderboards.board import files
from rubricweb.leaderboards.board.selectors import board
from rubricweb.leaderboards.forms import BoardForm
from tests.factories import CollectionFactory, grade, lexical_config, ranked
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db


@pytest.fixture
def graded(bank):
    """Twelve grades, two runs."""
    for item in bank.items.all():
        for pooled in item.topic.pool.all():
            grade(lexical_config(), item, pooled.passage, item.position + 1)
    topic = bank.collection.topics.first()
    ranked(topic, {"alpha": [row.passage.doc_id for row in topic.pool.all()], "beta": []})
    return bank


LISTS = ("topics/", "runs/", "banks/", "graders/", "grades/", "ratings/", "jobs/")


def test_every_list_is_the_same_in_pages_and_as_lines(graded, viewer, owner, script_of):
    item = graded.items.first()
    rate_cell(Cell.of(item, item.topic.pool.first().passage), rating=3, by=owner, seen=0)
    topic, script = item.topic_id, script_of(viewer)
    lists = (*LISTS, f"topics/{topic}/pool/", f"banks/{graded.pk}/items/", f"banks/{graded.pk}/versions/")
    for name in lists:
        rows, cursor = [], ""
        while cursor is not None:
            page = script.get(f"{AT}{name}", {"limit": 5, "total": "true", "cursor": cursor}).json()
            rows, cursor = rows + page["items"], page["next_cursor"]
            assert len(page["items"]) <= 5
            assert cursor is None or cursor == str(rows[-1]["id"])
        lines = script.get(f"{AT}{name}", headers={"Accept": "application/x-ndjson"})
        assert lines["Content-Type"] == "application/x-ndjson"
        assert [json.loads(line) for line in lines.getvalue().splitlines()] == rows, name
        assert page["total"] == len(rows), name
    assert len(script.get(f"{AT}grades/").json()["items"]) == 12


def test_lines_go_on_after_a_row_and_are_compressed(graded, viewer, script_of):
    headers = {"Accept": "application/x-ndjson", "Accept-Encoding": "gzip"}
    first = script_of(viewer).get(f"{AT}grades/").json()["items"]
    sent = script_of(viewer).get(f"{AT}grades/", {"cursor": first[3]["id"]}, headers=headers)
    assert sent["Content-Encoding"] == "gzip"
    rows = [json.loads(line) for line in gzip.decompress(sent.getvalue()).splitlines()]
    assert rows == first[4:]


def test_a_stream_that_breaks_goes_on_to_the_same_bytes(graded, viewer, script_of):
    """Broken after each line: what came before, and what comes after its id, is the whole."""
    script, headers = script_of(viewer), {"Accept": "application/x-ndjson"}
    whole = script.get(f"{AT}grades/", headers=headers).getvalue()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 12
    for came in range(1, len(lines) + 1):
        cursor = json.loads(lines[came - 1])["id"]
        rest = script.get(f"{AT}grades/", {"cursor": cursor}, headers=headers).getvalue()
        assert b"".join(lines[:came]) + rest == whole


def test_too_many_requests_are_told_to_wait(collection, viewer, script_of, monkeypatch):
    monkeypatch.setattr(Rate, "rate", "2/min")
    cache.clear()
    script = script_of(viewer)
    answers = [script.get(AT) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert 0 < int(answers[2]["Retry-After"]) <= 60
    assert (answers[2]["Content-Type"], answers[2].json()["status"]) == ("application/problem+json", 429)


@pytest.mark.parametrize(
    "wrong", [{"limit": "0"}, {"limit": "10001"}, {"limit": "x"}, {"cursor": "x"}, {"cursor": "-1"}]
)
def test_a_page_that_cannot_be_is_refused(wrong, graded, viewer, script_of):
    answer = script_of(viewer).get(f"{AT}grades/", wrong)
    assert (answer.status_code, [*answer.json()["errors"]]) == (400, [*wrong])


def test_lists_are_narrowed(graded, viewer, script_of):
    script, topic = script_of(viewer), graded.collection.topics.first().query_id
    assert len(script.get(f"{AT}grades/", {"topic": topic}).json()["items"]) == 6
    assert len(script.get(f"{AT}banks/{graded.pk}/items/", {"topic": topic}).json()["items"]) == 2
    assert script.get(f"{AT}grades/", {"grader": "unknown"}).status_code == 404
    fingerprint = lexical_config().fingerprint
    assert len(script.get(f"{AT}grades/", {"grader": fingerprint}).json()["items"]) == 12


def test_a_board_is_the_one_of_the_page(graded, owner, script_of):
    asked = {"measure": "rubric_cover", "min_grade": "2"}
    document = script_of(owner).get(f"{AT}leaderboard/", asked).json()
    form = BoardForm(QueryDict(urlencode(asked)), collection=graded.collection)
    assert form.is_valid(), form.errors
    expected = json.loads(json.dumps(files.board_document(board(form.spec))))
    assert document["rows"]
    assert {name: value for name, value in document.items() if name != "made"} == {
        name: value for name, value in expected.items() if name != "made"
    }


def members(serializer: Serializer) -> set[str]:
    return {name for name, field in serializer.fields.items() if field.required}


def test_boards_have_no_member_that_the_schema_does_not_name(graded, owner, script_of):
    for asked in ({"measure": "rubric_cover"}, {"measure": "ndcg_cut_10", "mode": "binary"}):
        document = script_of(owner).get(f"{AT}leaderboard/", asked).json()
        named = LeaderboardDocument()
        assert members(named) <= document.keys() <= named.fields.keys()
        assert all(row.keys() == members(named.fields["rows"].child) for row in document["rows"])
    tags = [row["run_tag"] for row in document["rows"]]
    pair = script_of(owner).get(f"{AT}leaderboard/comparison/", {"first": tags[0], "second": tags[1]}).json()
    assert pair.keys() == members(ComparisonDocument())


def test_a_comparison_is_the_one_of_the_page(graded, owner, script_of):
    asked = {"measure": "rubric_cover", "min_grade": "2"}
    tags = [row["run_tag"] for row in script_of(owner).get(f"{AT}leaderboard/", asked).json()["rows"]]
    pair = {"first": tags[1], "second": tags[0]}
    document = script_of(owner).get(f"{AT}leaderboard/comparison/", asked | pair).json()
    assert {document["first"], document["second"]} == set(tags[:2])
    assert document["first"] in document["sentence"]
    refused = script_of(owner).get(f"{AT}leaderboard/comparison/", asked | {"first": "nobody"})
    assert (refused.status_code, [*refused.json()["errors"]]) == (400, ["first"])


def test_qrels_are_those_of_the_export(graded, owner, script_of, client_of):
    ours = script_of(owner).get(f"{AT}qrels/").getvalue()
    assert ours.count(b"\n") == 6
    assert ours == client_of(owner).get("/collections/autumn/exports/qrels/").getvalue()


@pytest.mark.parametrize("name", ["leaderboard/", "qrels/"])
def test_an_option_that_does_not_fit_is_named(name, graded, owner, script_of):
    answer = script_of(owner).get(f"{AT}{name}", {"min_grade": "99"})
    assert (answer.status_code, [*answer.json()["errors"]]) == (400, ["min_grade"])


def test_viewers_read_pseudonyms_of_runs(graded, viewer, owner, script_of):
    def names(person) -> set[str]:
        return {row["name"] for row in script_of(person).get(f"{AT}runs/").json()["items"]}

    assert names(owner) == {"alpha", "beta"}
    assert not names(viewer) & {"alpha", "beta"}


@pytest.mark.parametrize("name", ["", *LISTS, "leaderboard/", "qrels/"])
def test_outsiders_and_participants_find_nothing(name, graded, outsider, participant, script_of):
    for person in (outsider, participant):
        assert script_of(person).get(f"{AT}{name}").status_code == 404


def test_rows_of_another_collection_are_not_found(graded, owner, script_of):
    spring, topic, item = (
        CollectionFactory(slug="spring"),
        graded.collection.topics.first(),
        graded.items.first(),
    )
    spring.memberships.create(user=owner, role="organizer")
    at, passage = "/api/v1/collections/spring/", topic.pool.first().passage_id
    for name in (
        f"topics/{topic.pk}/",
        f"topics/{topic.pk}/pool/",
        f"topics/{topic.pk}/passages/{passage}/",
        f"banks/{graded.pk}/items/",
        f"banks/{graded.pk}/items/{item.pk}/",
        f"banks/{graded.pk}/versions/",
    ):
        assert script_of(owner).get(f"{AT}{name}").status_code == 200
        assert script_of(owner).get(f"{at}{name}").status_code == 404
