"""Passages from JSON lines, TSV and reranker requests."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.passages import PassageEntry, passage_lines, read_passages, segmented, unread_fields

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def passages(path, *objects):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return list(read_passages(path))


def test_segments_of_ms_marco():
    first, second = read_passages(FORMATS / "passages.jsonl")
    assert (first.doc_id, first.title, first.url) == ("d1", "Honey", "https://example.org/honey")
    assert first.text == "Bees collect nectar. They dry it by fanning."
    assert (first.foreign["start_char"], first.line) == (0, 1)
    assert (second.title, second.query_id, second.foreign["my_note"]) == ("", None, [1])


@pytest.mark.parametrize("id_key", ["id", "docid", "doc_id"])
@pytest.mark.parametrize("text_key", ["text", "segment", "contents", "body"])
def test_every_name_of_id_and_text(id_key, text_key, tmp_path):
    (entry,) = passages(tmp_path / "p", {id_key: 7, text_key: "a text", "headings": ["A", "B"]})
    assert (entry.doc_id, entry.text, entry.headings) == ("7", "a text", "A\nB")


def test_candidates_have_their_query_rank_and_score():
    entries = list(read_passages(FORMATS / "reranker_requests.jsonl"))
    assert [(one.query_id, one.rank, one.doc_id, one.score) for one in entries] == [
        ("1", 1, "d1", 12.5),
        ("1", 2, "d3", 3.25),
        ("2", 1, "d2", 7.0),
    ]
    assert entries[1].text == "Wasps make no honey."
    assert entries[0].query_text == "how do bees make honey"


def test_candidates_without_an_id_are_known_by_their_md5(tmp_path):
    (entry,) = passages(tmp_path / "p", {"query": "why", "qid": "q1", "candidates": ["Because."]})
    assert (entry.query_id, entry.query_text, entry.text) == ("q1", "why", "Because.")
    assert entry.doc_id == "3775d03bdc0f9411c35a50fae8ddafb2"


@pytest.mark.parametrize("name", ["passages.jsonl", "passages.tsv"])
def test_written_passages_say_the_same(name, tmp_path):
    (one,) = (one for one in registry.candidates(FORMATS / name) if one.content == "passages")
    one.write(tmp_path / name, one.read(FORMATS / name))
    same = json.loads if name.endswith("jsonl") else str
    written, read = ((folder / name).read_text().splitlines() for folder in (tmp_path, FORMATS))
    assert list(map(same, written)) == list(map(same, read))


REQUEST = {"query": {"qid": "q1", "text": "why"}, "candidates": [{"docid": "d1", "doc": "Because."}]}


@pytest.mark.parametrize(
    ("first", "second", "phrase"),
    [
        ({"id": "d1", "text": "a"}, {"text": "b"}, "id or docid or doc_id is missing or no id"),
        ({"id": "d1", "text": "a"}, {"id": True, "text": "b"}, "id is missing or no id"),
        ({"id": "d1", "text": "a"}, {"id": "d2"}, "text or segment or contents or body is missing or empty"),
        ({"id": "d1", "text": "a"}, {"id": "d2", "text": " "}, "text is missing or empty"),
        ({"id": "d1", "text": "a"}, {"id": "d2", "text": "b", "title": 3}, "title is int, expected text"),
        ({"id": "d1", "text": "a"}, [], "Expected `object`, got `array`"),
        (REQUEST, REQUEST | {"query": {"text": "why"}}, "the query has no qid"),
        (
            REQUEST,
            REQUEST | {"candidates": [7]},
            "candidate 1 of query q1: int, expected an object or a text",
        ),
        (REQUEST, REQUEST | {"candidates": [{"docid": "d1", "doc": 1}]}, "doc is int, expected"),
        (REQUEST, REQUEST | {"candidates": [{"docid": "d1", "doc": "a", "score": []}]}, "score is list"),
        (REQUEST, REQUEST | {"candidates": {}}, "candidates is missing or no list"),
    ],
)
def test_broken_passages(first, second, phrase, tmp_path):
    with pytest.raises(BadFormat) as caught:
        passages(tmp_path / "passages", first, second)
    assert (caught.value.file, caught.value.line) == ("passages", 2)
    assert phrase in caught.value.problem


@pytest.mark.parametrize("line", ["d2", "d2\ta\tb", "d2\t ", ""])
def test_broken_tsv(line, tmp_path):
    (tmp_path / "passages").write_text(f"d1\ta\n{line}\nd3\tb\n")
    with pytest.raises(
        BadFormat, match=r"^passages:2: \d columns between tabs, expected lines of passage id"
    ):
        list(read_passages(tmp_path / "passages"))


def test_two_columns_may_be_topics_or_passages():
    with pytest.raises(BadFormat, match=r"may be Topics as TSV \(topics-tsv\) or Passages as TSV"):
        registry.recognise(FORMATS / "passages.tsv")


def test_segments_keep_their_places_and_documents_get_them(tmp_path):
    raw = {
        "docid": "m_1#0_5",
        "segment": "One. Two.",
        "title": "T",
        "start_char": 0,
        "end_char": 9,
        "lang": "en",
    }
    (segment,) = passages(tmp_path / "p", raw)
    assert (segment.start_char, segment.end_char, unread_fields(segment)) == (0, 9, ["lang"])
    assert next(passage_lines([replace(segment, foreign=None)])) == (
        b'{"id":"m_1#0_5","text":"One. Two.","title":"T","start_char":0,"end_char":9}\n'
    )
    text = " ".join(f"Sentence {number} ends." for number in range(13))
    cut = list(segmented([PassageEntry("m_2", text, start_char=100)]))
    assert [text[one.start_char - 100 : one.end_char - 100] for one in cut] == [one.text for one in cut]
    assert [one.doc_id for one in cut] == ["m_2#0_0", "m_2#1_85"]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (-1, 3, "start_char is -1"),
        (True, 3, "start_char is True"),
        ("0", 3, "'0'"),
        (9, 3, "before start_char 9"),
    ],
)
def test_places_that_are_none(start, end, message, tmp_path):
    with pytest.raises(BadFormat, match=message):
        passages(tmp_path / "p", {"id": "d1", "text": "x", "start_char": start, "end_char": end})
