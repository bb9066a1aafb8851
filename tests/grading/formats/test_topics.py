"""Topics of every track: read, written as they came, and what another format cannot say."""

import gzip
import json
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats import Content, registry
from grading.formats.topic_dialects import TopicEntry, dialect_of, topic_losses
from grading.formats.topics import format_name_of, read_topics, write_topics

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
QUERIES = {"t1": "how do bees make honey", "t2": "why do leaves change colour"}


@pytest.mark.parametrize("name", ["queries.json", "queries.tsv"])
def test_queries_round_trip(name, tmp_path):
    topics = read_topics(FORMATS / name)
    write_topics(tmp_path / name, topics, registry.recognise(FORMATS / name, Content.TOPICS).name)
    assert {topic.query_id: topic.title for topic in topics} == QUERIES
    assert (tmp_path / name).read_bytes() == (FORMATS / name).read_bytes()


def test_autojudge_requests_have_statement_background_and_limits():
    first, second = read_topics(FORMATS / "requests.jsonl")
    assert (first.query_id, first.title) == ("t1", "how do bees make honey")
    assert first.narrative.startswith("My class visits a beekeeper.")
    assert (first.background, first.limit_characters, first.limit_words) == (
        "A teacher of ten-year-olds.",
        2000,
        250,
    )
    assert (second.background, second.limit_words) == ("", None)
    assert second.foreign["my_note"] == {"kept": [1, None]}


def test_ids_of_numbers_are_strings_and_written_back_as_numbers(tmp_path):
    topics = read_topics(FORMATS / "ragtime_topics.jsonl")
    assert [topic.query_id for topic in topics] == ["7", "8"]
    write_topics(tmp_path / "again.jsonl", topics, "ragtime26-topics")
    assert objects(tmp_path / "again.jsonl") == objects(FORMATS / "ragtime_topics.jsonl")


def test_biogen_topics_are_one_document(tmp_path):
    first, second = read_topics(FORMATS / "biogen_topics.json")
    assert (first.query_id, first.title, first.description) == ("116", "honey", "Is honey good for a cough?")
    assert first.narrative == "Evidence from trials with children."
    write_topics(tmp_path / "again.jsonl", [first, second], "biogen-topics")
    document = json.loads((FORMATS / "biogen_topics.json").read_text())
    assert objects(tmp_path / "again.jsonl") == document["topics"]
    assert read_topics(tmp_path / "again.jsonl") == [first, second]


@pytest.mark.parametrize("name", ["requests.jsonl", "ragtime_topics.jsonl", "rag25_topics.jsonl"])
def test_topics_go_out_as_they_came_in(name, tmp_path):
    topics = read_topics(FORMATS / name)
    (dialect,) = {format_name_of(topic) for topic in topics}
    write_topics(tmp_path / name, topics, dialect)
    assert objects(tmp_path / name) == objects(FORMATS / name)
    (tmp_path / "packed").write_bytes(gzip.compress((FORMATS / name).read_bytes()))
    assert read_topics(tmp_path / "packed") == topics


def objects(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_changed_field_is_written_and_the_rest_stays(tmp_path):
    topic = TopicEntry("7", "honey", narrative="New.", foreign={"topic_id": 7, "title": " honey ", "x": None})
    write_topics(tmp_path / "t.jsonl", [topic], "ragtime26-topics")
    assert objects(tmp_path / "t.jsonl") == [
        {"topic_id": 7, "title": " honey ", "x": None, "problem_statement": "New."}
    ]


def test_keys_of_other_contents_are_kept_below_the_first_topic(tmp_path):
    objects = [{"request_id": "t1", "title": "bees"}, {"request_id": "t2", "title": "leaves", "answer": [1]}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, objects)))
    write_topics(tmp_path / "out.jsonl", read_topics(tmp_path / "in.jsonl"), "autojudge-requests")
    assert [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()] == objects


def test_losses_are_named_for_each_topic():
    first, second = read_topics(FORMATS / "requests.jsonl")
    rag25 = dialect_of({"id": "1", "title": "x"})
    assert topic_losses(first, dialect_of(first.foreign)) == []
    assert topic_losses(first, None) == [
        f"topic t1: {name}"
        for name in ("narrative", "background", "limit_words", "limit_characters", "collection_ids")
    ]
    assert topic_losses(second, rag25) == [
        "topic t2: narrative",
        "topic t2: topic_id",
        "topic t2: my_note",
    ]


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        ('{"request_id": "1", "title": "a"}\n{"title": "b"}\n', 2, "request_id is missing, expected an id"),
        ('{"title": "a", "background": "b"}\n{"title": "b"}\n', 1, "a topic with title, background; exp"),
        ('{"request_id": "1", "title": "a"}\n\n{"request_id": "2"}\n', 2, "blank line, expected"),
        ('{"request_id": "1", "title": "a", "topic_id": "2"}\n', 1, "topic_id is 2, expected that of"),
        ('{"request_id": "1", "title": "a"}\n{"request_id": 1, "title": "b"}\n', 2, "1 occurs twice"),
        ('{"request_id": "1"}\n', 1, "an empty text"),
        ('{"request_id": "1", "title": 3}\n', 1, "title is int, expected text"),
        ('{"request_id": true, "title": "a"}\n', 1, "request_id is bool, expected an id"),
        ('{"request_id": "1", "title": "a", "limit": "long"}\n', 1, 'limit is "long", expected a whole'),
        ('{"request_id": "1", "title": "a", "word_limit": -1}\n', 1, "word_limit is -1, expected 0 or more"),
        ('{"id": "1", "title": "a", "attributes": []}\n', 1, "attributes is list, expected a dictionary"),
        ('{"id": "1", "title": "a \\u0000"}\n', 1, "a NUL character"),
        ('{"topics": [\n{"topic_id": 1, "title": "a"},\n{"topic_id": 1}]}', 3, "1 occurs twice"),
        ('[\n{"topic_id": 1, "title": "a"},\n7]', 1, "an element that is no object"),
        ('[\n{"id": 1, "title": "a"},\n{"id": 2, "title": "\\u0000"}]', 3, "a NUL character"),
    ],
)  # fmt: skip
def test_broken_topics(text, line, phrase, tmp_path):
    path = tmp_path / "topics.jsonl"
    path.write_text(text)
    with pytest.raises(BadFormat) as caught:
        read_topics(path)
    assert (caught.value.file, caught.value.line) == ("topics.jsonl", line)
    assert phrase in caught.value.problem


def test_a_request_without_its_id_is_refused_and_no_dictionary(tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_text('{"title": "Bees", "problem_statement": "How do they dance?"}\n', encoding="utf-8")
    assert registry.recognise(path).name == "autojudge-requests"
    with pytest.raises(BadFormat, match=r"requests\.jsonl:1: request_id is missing"):
        read_topics(path)


def test_tsv_has_no_place_for_a_tab(tmp_path):
    with pytest.raises(BadFormat, match="t1 holds a tab or a line break"):
        write_topics(tmp_path / "t.tsv", [TopicEntry("t1", "a\tb")], "topics-tsv")
