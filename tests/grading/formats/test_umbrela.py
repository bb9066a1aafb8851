"""UMBRELA's output joined with its requests."""

from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.nugget_grades import read_labels, read_umbrela
from grading.formats.passages import read_passages
from grading.types import Outcome

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
OUTPUT, REQUESTS = FORMATS / "umbrela.jsonl", FORMATS / "reranker_requests.jsonl"


def test_labels_have_the_ids_of_the_requests():
    first, second = read_labels(OUTPUT, REQUESTS)
    assert (first.graded.query_id, first.query_text) == ("1", "how do bees make honey")
    assert [one.doc_id for one in first.graded.passages] == ["d1", "d3"]
    (grade,) = second.graded.passages[0].grades
    assert (grade.rating, grade.by.llm, grade.by.prompt_class) == (2, "gpt-4o", "Umbrela")
    assert all(not one.judgments for one in first.graded.passages)


def test_an_unreadable_reply_is_a_failure_and_no_0():
    first, _ = read_labels(OUTPUT, REQUESTS)
    (grade,) = first.graded.passages[1].grades
    assert (grade.rating, grade.outcome, grade.answer) == (None, Outcome.FAILED, "I cannot say.")


def test_a_label_of_4_tells_the_longer_scale(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text(OUTPUT.read_text().replace('"judgment": 3', '"judgment": 4'))
    first, second = read_labels(path, REQUESTS)
    assert [one.graded.passages[0].grades[0].by.prompt_class for one in (first, second)] == [
        "Umbrela-0-4"
    ] * 2


@pytest.mark.parametrize(
    ("old", "new", "place", "phrase"),
    [
        ("Wasps make no", "Bees make", ("out.jsonl", 2), "the passage is another than that of d3 in"),
        ("why do leaves", "when do leaves", ("out.jsonl", 3), "the query is another than that of d2"),
        ('"judgment": 2', '"judgment": 5', ("out.jsonl", 3), "the judgment is 5, expected 0 to 4"),
        ('"judgment": 2', '"judgment": "high"', ("out.jsonl", 3), 'the judgment is "high", expected a whole'),
    ],
)
def test_what_does_not_fit_is_refused(old, new, place, phrase, tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text(OUTPUT.read_text().replace(old, new))
    with pytest.raises(BadFormat) as caught:
        list(read_labels(path, REQUESTS))
    assert (caught.value.file, caught.value.line) == place
    assert phrase in caught.value.problem


def test_there_is_one_output_a_candidate(tmp_path):
    lines = OUTPUT.read_text().splitlines(keepends=True)
    path = tmp_path / "out.jsonl"
    path.write_text("".join(lines[:2]))
    with pytest.raises(BadFormat, match=r"^reranker_requests.jsonl:2: .* has more lines or candidates"):
        list(read_labels(path, REQUESTS))
    path.write_text("".join([*lines, lines[2]]))
    with pytest.raises(BadFormat, match=r"^out.jsonl:4: .* has more lines or candidates"):
        list(read_labels(path, REQUESTS))
    with pytest.raises(BadFormat, match=r"^passages.jsonl:1: passages without a query"):
        list(read_labels(OUTPUT, FORMATS / "passages.jsonl"))


def test_the_compact_output_names_no_model(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text('{"query": "q", "passage": "p", "judgment": 1}\n')
    (output,) = read_umbrela(path)
    assert (output.label, output.model, output.reply) == (1, "umbrela", "")


def test_envelopes_of_castorini_are_unwrapped(tmp_path):
    outputs = list(read_umbrela(FORMATS / "umbrela_envelope.json"))
    assert [(output.label, output.line) for output in outputs] == [(3, 1), (2, 1)]
    wrapped, plain = (
        list(read_passages(FORMATS / name)) for name in ("requests_envelope.json", REQUESTS.name)
    )
    assert wrapped == plain
    empty = tmp_path / "empty.json"
    empty.write_text('{"schema_version": "castorini.cli.v1", "artifacts": []}')
    with pytest.raises(BadFormat, match=r"^empty.json:1: no records in artifacts, expected data or value"):
        list(read_umbrela(empty))
