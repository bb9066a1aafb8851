"""Broken banks: every error names file, line, field and what was expected; nothing else is raised."""

import gzip
import json
import random
from dataclasses import replace

import pytest

from grading.errors import BadFormat
from grading.formats.banks import (
    DIALECTS,
    OF_ANSWERS,
    bank_files,
    documents,
    losses,
    read_bank,
    refusals,
    warnings,
)
from grading.formats.banks.records import MAX_DEPTH
from grading.types import item_id
from tests.grading.formats.mutations import mutations
from tests.grading.formats.test_bank_dialects import FILES, FOLDER, without_foreign


def question(**changes):
    return {"query_id": "1", "nugget_bank": [{"question": "A?"} | changes]}


def v1(**changes):
    return {"query_id": "1", "question_text": "A?"} | changes


GOOD = {
    "v1": v1(),
    "v3": question(),
    "ragtime26": {"metadata": {"topic_id": "T0"}, "nugget_bank": []},
    "nuggetizer": {"query": "q", "qid": "0", "nuggets": []},
    "rag-development": {"qid": "0", "nuggets": [{"text": "x", "source": "original"}]},
    "researchrubrics": {"qid": "0", "rubrics": []},
    "rat": {"nugget_dict": {}},
}


def nuggets(**changes):
    return {"query": "q", "qid": "1", "nuggets": [{"text": "a"} | changes]}


def ragtime(metadata=(), **changes):
    return {
        "metadata": {"topic_id": "T1"} | dict(metadata),
        "nugget_bank": [{"question": "A?"} | changes],
    }


BAD = [
    ("v1", v1(), "the text 'A?' was on line 1, expected each text of a topic once"),
    ("v1", v1(query_id=None), "no query_id, expected the id of the topic"),
    ("v1", {"query_id": "1"}, "neither question_text nor claim_text, expected one"),
    ("v1", v1(question_text=" "), "question_text is ' ', expected text"),
    ("v1", v1(info=7), "info is 7, expected {aggregator_type}"),
    ("v1", v1(info={"aggregator_type": "XOR"}), "info.aggregator_type is 'XOR', expected AND, OR"),
    ("v1", v1(gold_answers=["red"]), "gold_answers[0] is 'red', expected an object"),
    ("v1", v1(gold_answers=[{"answer": 7}]), "gold_answers[0].answer is 7, expected text"),
    (
        "v1",
        v1(gold_answers=[{"answer": "a", "citations": [7]}]),
        "gold_answers[0].citations is [7], expected a list of document ids",
    ),
    ("v1", v1(references="d1"), "references is 'd1', expected a list of document ids"),
    ("v3", {"query_id": "2", "nugget_bank": [{"question": "A?"}, {"question": "A? "}]}, "nugget_bank[0] and"),
    ("v3", {"nugget_bank": []}, "no query_id, title_query, metadata.topic_id or metadata.query_id, expected"),
    ("v3", {"query_id": "2"}, "neither nugget_bank nor claim_bank, expected"),
    ("v3", {"query_id": True, "nugget_bank": []}, "query_id is True, expected an id"),
    ("v3", question(), "topic 1 has a second bank (the first is on line 1), expected one a topic"),
    ("v3", question(question=" "), "nugget_bank[0].question is ' ', expected text"),
    ("v3", question(aggregator_type="XOR"), "nugget_bank[0].aggregator_type is 'XOR', expected AND, OR"),
    ("v3", question(answers=[{"answer": 7}]), "nugget_bank[0].answers[0].answer is 7, expected text"),
    ("v3", question(answers={"a": {"answer": "b"}}), "nugget_bank[0].answers['a'].answer is 'b', expected"),
    ("v3", question(references=[{"doc": "d"}]), "nugget_bank[0].references[0].doc_id is None, expected text"),
    ("v3", question(references=[7]), "nugget_bank[0].references[0] is 7, expected a document id"),
    ("v3", question(sub_nuggets=[{}]), "nugget_bank[0].sub_nuggets[0].question is None, expected text"),
    ("v3", question(metadata=[1]), "nugget_bank[0].metadata is [1], expected an object"),
    ("v3", question(importance=[1]), "the importance is '[1]', expected a word or a number"),
    ("v3", {"query_id": "2", "nugget_bank": 7}, "nugget_bank is 7, expected a list"),
    ("v3", {"query_id": "2", "claim_bank": ["c"]}, "claim_bank[0] is 'c', expected an object"),
    ("v3", {"query_id": "2", "claim_bank": {"c": {"claim": "d"}}}, "claim_bank['c'].claim is 'd', expected"),
    ("ragtime26", {"metadata": {}, "nugget_bank": []}, "no metadata.topic_id, expected the id of the topic"),
    ("ragtime26", {"metadata": [], "nugget_bank": []}, "metadata is [], expected {metadata:"),
    ("ragtime26", {"metadata": {"topic_id": "T1"}}, "no nugget_bank, expected {metadata:"),
    ("ragtime26", ragtime({"run_id": "r" * 26}), "expected at most 25 characters"),
    (
        "ragtime26",
        ragtime(aggregator_type="NOT"),
        "nugget_bank[0].aggregator_type is 'NOT', expected AND or OR",
    ),
    ("ragtime26", ragtime(sub_nuggets=[{"question": "B?"}]), "nugget_bank[0].sub_nuggets is"),
    ("nuggetizer", {"nuggets": []}, "no qid, expected {query, qid, nuggets:"),
    ("nuggetizer", {"qid": "1"}, "no nuggets, expected {query, qid, nuggets:"),
    ("nuggetizer", nuggets(text=""), "nuggets[0].text is '', expected text"),
    (
        "nuggetizer",
        nuggets(assignment="maybe"),
        "nuggets[0].assignment is 'maybe', expected support, partial",
    ),
    ("nuggetizer", {"qid": "1", "query": 7, "nuggets": []}, "query is 7, expected text"),
    (
        "rag-development",
        {"qid": "1", "nuggets": [{"text": "a", "mapped_sub_narrative": 7}]},
        "nuggets[0].mapped",
    ),
    ("researchrubrics", {"rubrics": []}, "no qid, expected {qid, rubrics:"),
    ("researchrubrics", {"qid": "1"}, "no rubrics, expected {qid, rubrics:"),
    (
        "researchrubrics",
        {"qid": "1", "rubrics": [{"criterion": "a"}]},
        "rubrics[0].weight is 'None', expected a",
    ),
    ("rat", {"nugget_dict": {"A?": ["d1"]}}, "'A?' has ['d1'], expected {answer: [docid]}"),
    ("rat", {"nugget_dict": {"A?": {"b": "d1"}}}, "'A?', 'b' has 'd1', expected [docid]"),
    (
        "rat",
        {"nugget_dict": {}, "group_assignment": []},
        "group_assignment is [], expected {question: group}",
    ),
]


@pytest.mark.parametrize(("dialect", "bad", "phrase"), BAD)
def test_broken_banks_name_file_line_field_and_what_was_expected(dialect, bad, phrase, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(json.dumps(value) for value in (GOOD[dialect], bad)))
    with pytest.raises(BadFormat) as caught:
        read_bank(path)
    assert (caught.value.file, caught.value.line) == ("bad.jsonl", 2)
    assert phrase in caught.value.problem
    assert "expected" in caught.value.problem


ROW = json.dumps(GOOD["v3"])


@pytest.mark.parametrize(
    ("text", "line", "phrase"),
    [
        (f"{ROW}\n\n{ROW}\n", 2, "blank line, expected a bank as JSON"),
        (
            f'{ROW}\n{{"query_id": "2", "query_id": "3"}}\n',
            2,
            "the key 'query_id' occurs twice in one object",
        ),
        ('{"query_id": "1", "nugget_bank": {"A?": {"question": "A?"}, "A?": {}}}', 1, "'A?' occurs twice"),
        (f"{ROW}\n[1]\n", 2, "int in place of an object, expected a bank as JSON"),
        ("{}", 1, "no bank that is known, expected one of: RUBRIC Workbench"),
        ("[]", 1, "no bank that is known"),
        (json.dumps({"metadata": {}, "answer": []}), 1, "no bank that is known"),
        ('{\n "query_id": "1",\n "nugget_bank": [}\n', 3, "malformed JSON"),
        (
            '{"schema_version": "castorini.cli.v1", "artifacts": []}',
            1,
            "no records in artifacts, expected data",
        ),
        (
            '{"query_id": "1", "nugget_bank": [], "x": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
            1,
            f"nested too deeply, expected at most {MAX_DEPTH} levels",
        ),
        ('{"query_id": "1", "nugget_bank": [{"question": "\\u0000"}]}', 1, "a NUL character, expected text"),
        ('{"query_id": "1", "nugget_bank": [{"question": "\\ud800"}]}', 1, "malformed JSON"),
    ],
)
def test_broken_files(text, line, phrase, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(BadFormat) as caught:
        read_bank(path)
    assert (caught.value.file, caught.value.line) == ("bad.jsonl", line)
    assert phrase in caught.value.problem


def test_an_empty_folder(tmp_path):
    with pytest.raises(BadFormat, match="the folder is empty, expected a bank file a topic"):
        bank_files(tmp_path)


MUTATIONS = mutations(400)
"""Of each file."""
BYTES = b'{}[]",:0123456789-.eE \\u\x00\xff\ntrufalsn'


@pytest.mark.parametrize("name", FILES)
def test_mutated_files_are_read_or_refused_with_a_place(name, tmp_path):
    """Any exception but `BadFormat`, or one without file and line, fails; what is read can be written."""
    raw = (FOLDER / name).read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    path, chance = tmp_path / "nuggets_q1.json", random.Random(name)
    refused = []
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(raw, chance))
        try:
            dialect, read = read_bank(path)
            list(documents(read, dialect))
            losses(read, dialect)
            _write_in_another(read, chance.choice(DIALECTS))
        except BadFormat as error:
            refused.append(error)
    assert refused
    assert [error for error in refused if not (error.file and error.line)] == []


def _write_in_another(read, dialect):
    """With other words and no answers, as after edits."""
    moved = [without_foreign(line) for line in read]
    edited = [replace(line, items=[_edited(item, line) for item in line.items]) for line in moved]
    for lines in (moved, edited):
        if dialect.name not in OF_ANSWERS and not refusals(lines, dialect):
            list(documents(lines, dialect))
            losses(lines, dialect)
            warnings(lines, dialect)


def _edited(item, line):
    text = f"{item.text} indeed"
    uid = item_id(line.query_id, text, item.facet_id)
    return replace(item, item_id=uid, text=text, gold_answers=("new",), weight=-2.0)


def mutated(raw: bytes, chance: random.Random) -> bytes:
    """One to three changes: a byte, a piece that goes or comes twice, or a value that becomes another's."""
    changed = bytearray(raw)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(changed) or 1)
        end = min(len(changed), at + chance.randint(1, 12))
        match chance.randrange(4):
            case 0:
                changed[at:end] = bytes(chance.choices(BYTES, k=chance.randint(1, 4)))
            case 1:
                del changed[at:end]
            case 2:
                changed[at:at] = changed[at:end]
            case _:
                _swap_value(changed, chance)
    return bytes(changed)


def _swap_value(changed: bytearray, chance: random.Random) -> None:
    """A JSON value that is well formed but of another type, after one of the colons."""
    colons = [place for place, byte in enumerate(changed) if byte == ord(":")]
    if colons:
        at = chance.choice(colons) + 1
        rest = changed[at:]
        end = next((place for place, byte in enumerate(rest) if byte in b",}]"), len(rest))
        value = chance.choice(
            [b"null", b"7", b"-2.5", b'""', b'"x"', b"[]", b"{}", b"[1]", b'{"a": 1}', b"true"]
        )
        changed[at : at + end] = value
