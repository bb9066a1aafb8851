"""`rubricweb sample_topics`."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests import factories


def sample(*arguments):
    out = StringIO()
    call_command("sample_topics", "autumn", *arguments, stdout=out)
    return [line.split("\t") for line in out.getvalue().splitlines() if not line.startswith("#")]


@pytest.fixture
def topics(collection):
    for number in range(8):
        attributes = {"ambiguity": number, "kind": "how" if number < 4 else "why"}
        factories.TopicFactory(collection=collection, query_id=f"t{number}", attributes=attributes)


def test_topics_with_their_distance(topics):
    header, first, second = sample("--size", "2", "--seed", "3")
    assert header == ["query_id", "distance", "text"]
    assert first[1] == "NaN"
    assert float(second[1]) > 1, "of another kind"
    assert sample("--size", "2", "--seed", "3")[1:] == [first, second]


def test_topics_as_json(topics):
    out = StringIO()
    call_command("sample_topics", "autumn", "--size", "2", "--seed", "3", "--json", stdout=out)
    document = json.loads(out.getvalue(), parse_constant=pytest.fail)
    assert [row["query_id"] for row in document["topics"]] == [
        row[0] for row in sample("--size", "2", "--seed", "3")[1:]
    ]
    assert document["topics"][0]["distance"] is None


def test_plain_differences_of_scores(topics):
    plain = sample("--size", "2", "--seed", "3", "--plain")
    first, second = (int(row[0][1]) for row in plain[1:])
    assert float(plain[2][1]) == abs(first - second) + 1, "and another kind"


def test_statistics_of_all_and_of_those_that_are_drawn(topics):
    header, *rows = sample("--statistics")
    assert header == ["attribute", "value", "topics", "percent"]
    assert [row[:3] for row in rows[:3]] == [
        ["kind", "how", "4"],
        ["kind", "why", "4"],
        ["ambiguity", "> 5", "2"],
    ]
    assert {row[0] for row in rows[3:]} == {"first word"}
    out = StringIO()
    call_command("sample_topics", "autumn", "--statistics", "--size", "2", "--json", stdout=out)
    document = json.loads(out.getvalue())
    assert (document["topics"], document["statistics"][0]["percent"]) == (2, 50.0)


def test_only_from_a_slice(topics):
    assert {row[0] for row in sample("--size", "9", "--topics", "kind=why")[1:]} == {"t4", "t5", "t6", "t7"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--size", "0"), "--size is at least 1"),
        ((), "--size says how many"),
        (("--size", "2", "--topics", "kind=what"), "no topic with kind = what; there are how, why"),
    ],
)
def test_what_cannot_be_drawn(topics, arguments, problem):
    with pytest.raises(CommandError, match=problem):
        sample(*arguments)


def test_topics_without_attributes(collection):
    factories.TopicFactory(collection=collection)
    with pytest.raises(CommandError, match="have no attributes"):
        sample("--size", "2")
