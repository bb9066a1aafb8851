"""Banks of every dialect: what is read is written again, and what a dialect cannot say is listed."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from grading.formats.banks import (
    BY_NAME,
    DIALECTS,
    OF_ANSWERS,
    bank_files,
    documents,
    losses,
    read_bank,
    refusals,
    warnings,
    without_twins,
    write_bank,
)
from grading.types import Importance, ItemKind, text_md5

FOLDER = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "banks"
FILES = {
    "v1.jsonl": "v1",
    "v3.jsonl": "v3",
    "v3.json": "v3",
    "aja.jsonl": "aja",
    "ragtime26.jsonl": "ragtime26",
    "nuggetizer.jsonl": "nuggetizer",
    "assign.jsonl": "assign",
    "rag_development.jsonl": "rag-development",
    "research_rubrics.jsonl": "researchrubrics",
    "nuggets_q7.rat.json": "rat",
    "nuggets_q8.json": "collaborator",
    "ragdoll.jsonl": "ragdoll",
    "ragdoll_graded.jsonl": "ragdoll-graded",
    "rubric_q9.json": "autorubric",
    "rubric_q10.json": "autorubric",
    "dragun.json": "dragun",
    "tqa.json": "tqa",
    "genq.json": "genq",
    "../questions.jsonl.gz": "workbench",
    "../nuggets.jsonl": "workbench",
    "../car_questions.jsonl": "workbench",
}
RED = "Which pigment makes leaves red?"


def values(path):
    """The JSON values of a file, one of several lines or one document."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def lines(name):
    return read_bank(FOLDER / name)[1]


def without_foreign(line):
    """Return the line with nothing but its parts, for the writer of another dialect."""
    return replace(line, foreign=None, items=[replace(item, foreign=None) for item in line.items])


def as_other(name, dialect):
    return list(map(without_foreign, lines(name))), BY_NAME[dialect]


def listed(name, dialect):
    return [str(loss) for loss in losses(*as_other(name, dialect))]


@pytest.mark.parametrize(("name", "dialect"), FILES.items())
def test_import_and_export_are_the_input(name, dialect):
    found, read = read_bank(FOLDER / name)
    assert found.name == dialect
    assert [json.loads(row) for _, row in documents(read, found)] == values(FOLDER / name)
    assert losses(read, found) == []


@pytest.mark.parametrize("name", FILES)
def test_the_content_says_the_dialect_and_not_the_name(name, tmp_path):
    other = tmp_path / "nuggets_q7.txt"
    other.write_bytes((FOLDER / name).read_bytes())
    assert read_bank(other)[0].name == FILES[name]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_loss_is_listed(name, dialect):
    """Whatever is written in another dialect can be read, and an item that is not in it is listed."""
    found, read = read_bank(FOLDER / name)
    moved = read if dialect.foreign_name == found.name else _moved(read)
    if refusals(moved, dialect) or (dialect.name in OF_ANSWERS and dialect.name != found.name):
        return
    lost = {loss.text for loss in losses(moved, dialect) if "left out" in loss.what}
    held = {item.text for line in moved for item in line.items}
    written = {
        item.text.strip()
        for line in moved
        for record in dialect.records(line)
        for item in dialect.read(record, found_at(line)).items
    }
    assert {text.strip() for text in held - lost} == written


def _moved(read):
    return without_twins(without_foreign(line) for line in read)[0]


def found_at(line):
    from grading.formats.banks.records import RecordPlace

    return RecordPlace(line.line, f"nuggets_{line.query_id}.json")


def test_v3_items():
    first, second, third = lines("v3.jsonl")
    question, reworded, claim = first.items
    assert (first.query_id, first.query_text, first.test_collection) == ("1", "autumn leaves", "demo")
    assert (question.kind, question.gold_answers) == (ItemKind.QUESTION, ("anthocyanin", "a  red   pigment"))
    assert (claim.kind, claim.importance, claim.text) == (
        ItemKind.NUGGET,
        Importance.OKAY,
        "Chlorophyll breaks down first.",
    )
    assert reworded.parts == {"importance": "curious", "answers": [], "references": []}
    assert reworded.importance is Importance.VITAL
    assert question.parts["question_id"] == "q1"
    assert (second.query_id, third.query_id) == ("2", text_md5("bare trees"))


def test_v1_has_an_item_a_record():
    question, claim, plain = lines("v1.jsonl")
    (asked,), (claimed,) = question.items, claim.items
    assert (question.query_id, asked.kind, asked.gold_answers) == ("1", ItemKind.QUESTION, ("anthocyanin",))
    assert asked.parts["answers"] == [{"answer": "anthocyanin", "references": ["d1", "d2"]}]
    assert (asked.parts["aggregator_type"], asked.parts["references"]) == ("AND", ["d3"])
    assert (claimed.kind, claimed.parts) == (ItemKind.NUGGET, {"claim_id": "c1"})
    assert plain.items[0].parts["metadata"] == {"rubricweb": {"v1": {"info.step": 2, "seen": True}}}


def test_a_reworded_item_of_v1_gets_the_md5_of_its_new_text():
    (item,) = (line := lines("v1.jsonl")[0]).items
    changed = replace(item, text="Why red?", gold_answers=("anthocyanin", "light"))
    (record,) = BY_NAME["v1"].records(replace(line, items=[changed]))
    assert (record["question_text"], record["question_id"]) == ("Why red?", text_md5("Why red?"))
    assert record["gold_answers"] == [
        {"answer": "anthocyanin", "citations": ["d1", "d2"]},
        {"answer": "light", "citations": []},
    ]


def test_v1_has_no_word_for_importance_and_leaves_out_what_is_to_be_avoided():
    assert listed("aja.jsonl", "v1") != []
    written = [row for _, row in documents(*as_other("aja.jsonl", "v1"))]
    assert len(written) == len(lines("aja.jsonl")[0].items) - 1


def test_an_absent_importance_is_not_okay_in_v3_but_is_in_aja():
    assert [item.importance for item in lines("v3.json")[0].items] == [None]
    importances = [str(item.importance) for item in lines("aja.jsonl")[0].items]
    assert importances == ["vital", "okay", "avoid"]


def test_negative_weights():
    (line,) = lines("research_rubrics.jsonl")
    assert [(str(item.importance), item.weight) for item in line.items] == [
        ("vital", 5.0),
        ("okay", 2.5),
        ("avoid", -4.0),
    ]


def test_sub_narratives_are_subtopics():
    (line,) = lines("rag_development.jsonl")
    assert [(item.facet_id, item.facet_text) for item in line.items] == [
        ("why-do-leaves-change", '"Why do leaves change?"'),
        ("new-the-fall", "New: the fall"),
        ("", ""),
    ]


def test_a_topic_that_only_the_file_name_has():
    assert [lines(name)[0].query_id for name in ("nuggets_q7.rat.json", "nuggets_q8.json")] == ["q7", "q8"]


def test_documents_of_an_open_ended_answer_are_no_answer():
    opened, closed = lines("nuggets_q8.json")[0].items
    assert (opened.gold_answers, opened.parts["references"]) == ((), ["d1"])
    assert closed.gold_answers == ("in autumn", "in winter")


def test_envelopes_of_castorini():
    dialect, (line,) = read_bank(FOLDER / "envelope.json")
    assert (dialect.name, line.query_id, [item.text for item in line.items]) == (
        "nuggetizer",
        "1",
        ["Anthocyanins are red"],
    )


def test_a_failed_assignment_stays_a_failure():
    written = BY_NAME["nuggetizer"].write(lines("nuggetizer.jsonl")[0])
    assert written["nuggets"][2]["assignment"] == "failed"
    assert [
        nugget["assignment"] for nugget in BY_NAME["assign"].write(lines("assign.jsonl")[1])["nuggets"]
    ] == [
        "failed",
        "partial_support",
    ]


def test_v4_leaves_out_what_autojudge_refuses():
    read = lines("nuggetizer.jsonl")
    written = BY_NAME["v4"].write(read[0])
    assert "assignment" not in written["nuggets"][2]
    assert [str(loss) for loss in losses(read, BY_NAME["v4"])] == [
        "topic 1, 'Maples are trees': assignment (of nuggetizer)"
    ]


def test_ragtime_refuses_with_every_item():
    refused = refusals(*as_other("v3.jsonl", "ragtime26"))
    assert [str(loss) for loss in refused] == [
        f"topic 1, '{RED}': has sub-nuggets, which RAGTIME 2026 lacks",
        "topic 1, 'Chlorophyll breaks down first.': is a claim; RAGTIME 2026 has questions only",
    ]


@pytest.mark.parametrize("aggregator", ["NOT", "SUM"])
def test_aggregators_that_ragtime_lacks(aggregator, tmp_path):
    path = tmp_path / "bank.jsonl"
    bank = {"query_id": "1", "nugget_bank": [{"question": "A?", "aggregator_type": aggregator}]}
    path.write_text(json.dumps(bank))
    (refused,) = refusals([without_foreign(line) for line in read_bank(path)[1]], BY_NAME["ragtime26"])
    assert str(refused) == f"topic 1, 'A?': has the aggregator {aggregator}; RAGTIME 2026 has AND and OR"


def test_warnings_for_auto_argue():
    assert [str(warning) for warning in warnings(lines("nuggets_q7.rat.json"), BY_NAME["v3"])] == [
        "topic q7, 'When do leaves fall?': has no answers: Auto-ARGUE drops the question"
    ]
    assert [str(warning) for warning in warnings(lines("nuggets_q8.json"), BY_NAME["v3"])] == [
        f"topic q8, '{RED}': has no answers: Auto-ARGUE drops the question",
        "topic q8, 'When do leaves fall?': Auto-ARGUE drops answers without documents: 'in winter'",
    ]


def test_losses_name_what_is_lost():
    assert listed("v3.jsonl", "collaborator")[:8] == [
        "topic 1: full_query",
        "topic 1: quality 'good'",
        "topic 1: creator (1)",
        "topic 1: metadata.rubricweb.bank",
        "topic 1: metadata.season",
        f"topic 1, '{RED}': question_id 'q1'",
        f"topic 1, '{RED}': question_markup",
        f"topic 1, '{RED}': quality 2",
    ]
    assert "topic 1, 'Chlorophyll breaks down first.': the whole nugget is left out" in listed(
        "v3.jsonl", "collaborator"
    )
    assert "topic 58, 'Leaves fall in autumn': subtopic new-the-fall" in listed(
        "rag_development.jsonl", "nuggetizer"
    )


@pytest.mark.parametrize("name", ["rag_development.jsonl", "research_rubrics.jsonl", "nuggets_q7.rat.json"])
def test_v3_says_all_of_other_dialects(name):
    assert listed(name, "v3") == []


def test_autojudge_reads_the_claims_of_other_dialects():
    """Its reader refuses a claim without query_id, and fails on two lists."""
    read, v3 = as_other("v1.jsonl", "v3")
    line = replace(read[0], items=[item for one in read for item in one.items])
    written = v3.write(line)
    assert [*written["claim_bank"]] == [item.text for item in line.items if item.kind is ItemKind.NUGGET]
    assert {claim["query_id"] for claim in written["claim_bank"].values()} == {line.query_id}
    assert len(written["nugget_bank"]) == sum(item.kind is ItemKind.QUESTION for item in line.items) > 0


def test_no_date_is_invented():
    written = json.dumps([BY_NAME["v3"].write(without_foreign(line)) for line in lines("aja.jsonl")])
    assert "creation_date" not in written


def test_a_file_a_topic(tmp_path):
    read, rat = as_other("ragtime26.jsonl", "rat")
    write_bank(tmp_path / "out", read, rat)
    assert [file.name for file in bank_files(tmp_path / "out")] == ["nuggets_T1.json", "nuggets_T2.json"]
    assert json.loads((tmp_path / "out" / "nuggets_T1.json").read_text())["nugget_dict"][RED] == {
        "anthocyanin": ["d1"],
        "carotene": ["d2"],
    }


def test_a_written_file_is_of_its_dialect(tmp_path):
    for name in ("v3.jsonl", "rag_development.jsonl", "assign.jsonl", "../questions.jsonl.gz"):
        dialect, read = read_bank(FOLDER / name)
        write_bank(tmp_path / "bank.jsonl.gz", read, dialect)
        assert read_bank(tmp_path / "bank.jsonl.gz") == (dialect, read)


def test_groups_that_are_null_stay_null(tmp_path):
    path = tmp_path / "nuggets_q7.rat.json"
    path.write_text('{"nugget_dict": {"Why?": {"So.": ["d1"]}}, "group_assignment": null}')
    found, read = read_bank(path)
    assert [json.loads(row) for _, row in documents(read, found)] == values(path)
