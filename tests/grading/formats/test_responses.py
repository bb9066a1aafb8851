"""Responses in every dialect: what is read, and that writing keeps all of it."""

import dataclasses
import gzip
import json
import random
from itertools import islice
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.responses import (
    ResponseDialect,
    dialect_of,
    inspect_responses,
    read_responses,
    write_responses,
)
from grading.formats.responses.conversion import dialect_of_lines
from grading.types import Citation, Sentence
from tests.grading.formats.mutations import damaged

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
DIALECTS = {
    "rag24.jsonl": ResponseDialect.RAG24,
    "rag25.jsonl": ResponseDialect.RAG25,
    "rag25_ids.jsonl": ResponseDialect.RAG25,
    "ragtime.jsonl": ResponseDialect.RAGTIME,
    "dragun.jsonl": ResponseDialect.DRAGUN,
    "autojudge.jsonl": ResponseDialect.AUTOJUDGE,
    "biogen24.json": ResponseDialect.BIOGEN24,
}


def read(name):
    return list(read_responses(FORMATS / name))


def as_json(path):
    text = path.read_text(encoding="utf-8")
    return (
        json.loads(text)
        if path.name.startswith("biogen")
        else [json.loads(line) for line in text.splitlines()]
    )


@pytest.mark.parametrize(("name", "dialect"), DIALECTS.items())
def test_what_is_read_is_written_as_it_was(name, dialect, tmp_path):
    responses = read(name)
    assert dialect_of(responses[0].foreign) is dialect
    write_responses(tmp_path / name, responses, dialect)
    assert as_json(tmp_path / name) == as_json(FORMATS / name)
    assert list(read_responses(tmp_path / name)) == responses


@pytest.mark.parametrize(
    ("citations", "references", "cited"),
    [
        (["0", "1"], ["doc-a", "doc-b"], ["doc-a", "doc-b"]),
        (["1"], ["doc-a", "doc-b"], ["doc-b"]),
        (["0", "1"], ["1", "0"], ["0", "1"]),
        (["7"], ["doc-a", "doc-b"], ["7"]),
        (["0"], [], ["0"]),
    ],
)
def test_positions_written_as_text_are_positions(citations, references, cited, tmp_path):
    answer = [{"text": "Bees do.", "citations": citations}]
    line = {"run_id": "r", "topic_id": "1", "topic": "bees", "references": references, "answer": answer}
    path, written = tmp_path / "a.jsonl", tmp_path / "written.jsonl"
    path.write_text(json.dumps(line))
    (response,) = read_responses(path)
    assert [citation.doc_id for citation in response.sentences[0].citations] == cited
    write_responses(written, [response], ResponseDialect.RAG24)
    assert list(read_responses(written)) == [response]


def test_positions_and_documents_in_one_list_are_refused(tmp_path):
    answer = [{"text": "Bees do.", "citations": ["0", "doc-b"]}]
    line = {"run_id": "r", "topic_id": "1", "references": ["doc-a", "doc-b"], "answer": answer}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    with pytest.raises(BadFormat, match=r"\(sentence 1\) hold '0', which is in no reference, beside others"):
        list(read_responses(tmp_path / "a.jsonl"))


def test_a_response_on_several_lines_is_named(tmp_path):
    line = {
        "references": ["d"],
        "run_id": "r",
        "topic_id": "1",
        "answer": [{"text": "One.", "citations": [0]}],
    }
    (tmp_path / "pretty.json").write_text(json.dumps(line, indent=1))
    with pytest.raises(BadFormat, match="on several lines, expected one response a line"):
        list(read_responses(tmp_path / "pretty.json"))


def test_positions_become_document_ids():
    first, second = read("rag24.jsonl")
    assert (first.run_tag, first.query_id, first.team, first.line) == ("apiary", "2024", "", 1)
    cited = ("msmarco_v2.1_doc_01_1001#1_20001", "msmarco_v2.1_doc_02_1002#2_20002")
    assert first.references == cited
    assert first.sentences[0].citations == tuple(Citation(doc_id) for doc_id in cited)
    assert (second.sentences, second.references, second.line) == ((), (), 2)


def test_no_citations_differ_from_citations_that_are_not_known():
    first, second = read("rag25.jsonl")
    assert [sentence.citations for sentence in first.sentences] == [
        (Citation("shard_00009_3"), Citation("shard_00001_1")),
        (),
        None,
        None,
    ]
    assert (first.query_id, first.team, second.query_id) == ("7", "hive", "8")


def test_scores_are_read_in_the_file_s_order():
    first, *_ = read("ragtime.jsonl")
    assert [citation.score for citation in first.sentences[0].citations] == [0.5, 90.0]
    assert first.sentences[1] == Sentence("No source says so.", ())
    assert first.references is None


def test_documents_that_come_along_are_read():
    first, second = read("autojudge.jsonl")
    assert first.documents == {"Waggle_dance": "The waggle dance tells where food is."}
    assert first.references == ()
    assert (second.documents, second.references) == ({}, None)


def test_citations_in_the_text_leave_it():
    first, second = read("biogen24.json")
    assert [sentence.text for sentence in first.sentences] == [
        "Honey soothes a cough.",
        "Infants must not have it.",
        "Ask a doctor.",
    ]
    assert first.sentences[0].citations == (Citation("11112222"), Citation("33334444"))
    assert first.sentences[2].citations == ()
    assert (first.query_id, second.query_id) == ("116", "117")
    assert (first.line, second.line) == (7, 16)


def test_brackets_after_the_full_stop_belong_to_no_sentence(tmp_path):
    path = tmp_path / "run.json"
    result = {"topic_id": "1", "answer": "Honey soothes. [11] It is sweet [sic] [22].", "references": ["22"]}
    path.write_text(json.dumps({"team_id": "a", "run_name": "b", "results": [result]}))
    (response,) = read_responses(path)
    assert response.sentences == (
        Sentence("Honey soothes.", ()),
        Sentence("[11] It is sweet [sic].", (Citation("22"),)),
    )


def test_gzip_carriage_returns_and_a_byte_order_mark_do_not_matter(tmp_path):
    lines = (FORMATS / "rag25.jsonl").read_bytes().splitlines()
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + b"\r\n".join(lines) + b"\r\n"))
    assert list(read_responses(path)) == read("rag25.jsonl")


def test_what_changed_is_overwritten_and_the_rest_stays(tmp_path):
    first, second = read("rag25.jsonl")
    sentences = (
        first.sentences[0],
        dataclasses.replace(first.sentences[1], citations=(Citation("shard_00007_7"),)),
        dataclasses.replace(first.sentences[2], text="Somebody knows when it began."),
        dataclasses.replace(first.sentences[3], citations=()),
    )
    changed = dataclasses.replace(first, run_tag="rose", team="T042", query_id="70", sentences=sentences)
    write_responses(tmp_path / "run", [changed, second], ResponseDialect.RAG25)
    was, now = as_json(FORMATS / "rag25.jsonl")[0], as_json(tmp_path / "run")[0]
    assert now["metadata"] == was["metadata"] | {"run_id": "rose", "team_id": "T042", "narrative_id": "70"}
    assert now["references"] == [*was["references"], "shard_00007_7"]
    assert now["answer"] == [
        was["answer"][0],
        {"text": "## Causes", "citations": [3]},
        {"text": "Somebody knows when it began.", "citations": None},
        {"text": "It is old.", "citations": []},
    ]


def test_a_sentence_that_is_taken_out_takes_what_the_file_said_of_it_along(tmp_path):
    first, _ = read("autojudge.jsonl")
    changed = dataclasses.replace(first, sentences=first.sentences[1:], documents={"Wax": "Made by glands."})
    write_responses(tmp_path / "run", [changed], ResponseDialect.AUTOJUDGE)
    (now,) = as_json(tmp_path / "run")
    assert now["responses"] == [{"text": "They sleep, too.", "citations": []}]
    assert now["documents"] == {"Wax": {"id": "Wax", "text": "Made by glands."}}


def test_a_bad_line_does_not_hide_the_others(tmp_path):
    path = tmp_path / "run.jsonl"
    good = (FORMATS / "rag25_ids.jsonl").read_text().strip()
    path.write_text(f"{good}\n{{\n{good}\n")
    assert [(one.line, one.response is None, len(one.problems)) for one in inspect_responses(path)] == [
        (1, False, 0),
        (2, True, 1),
        (3, False, 0),
    ]


def test_a_run_id_with_white_space_is_not_written(tmp_path):
    (response,) = read("dragun.jsonl")
    with pytest.raises(BadFormat, match="the run tag 'a b' is empty or holds white space, expected one word"):
        write_responses(
            tmp_path / "run", [dataclasses.replace(response, run_tag="a b")], ResponseDialect.DRAGUN
        )


@pytest.mark.parametrize(("name", "dialect"), DIALECTS.items())
def test_whatever_is_read_is_written_as_it_was(name, dialect, tmp_path):
    """Random changes that leave the file readable are kept, too."""
    damaged_file, written, count = tmp_path / "damaged", tmp_path / "written", 0
    for content in islice(damaged(FORMATS / name, random.Random(name)), 400):
        damaged_file.write_bytes(content)
        try:
            responses = list(read_responses(damaged_file))
        except BadFormat:
            continue
        if dialect_of_lines(response.foreign for response in responses) is dialect:
            write_responses(written, responses, dialect)
            assert values(written) == values(damaged_file)
            count += 1
    assert count > 10


def values(path):
    """The JSON of a file, one document or one a line."""
    text = path.read_bytes().decode("utf-8-sig")
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
