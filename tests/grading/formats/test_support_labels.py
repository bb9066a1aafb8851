"""Labels of support by answer: what is read, what is refused with its field, and what is written again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.support_labels import (
    AnswerLabels,
    SentenceLabels,
    labelled_json,
    read_judged_places,
    read_labelled_answers,
    write_labelled_answers,
)
from grading.types import CONTRADICTS, FAILED, MISSING
from tests.grading.formats.samples import FOLDER

SAMPLE = FOLDER / "support_answers.jsonl"


def cite(reference: str = "d1", support: object = "2", **others: object) -> dict[str, object]:
    return {"reference": reference, "support": support, **others}


def line(*rows: list[dict[str, object]], **others: Any) -> dict[str, Any]:
    sentences = [{"text": f"Sentence {number}.", "citations": row} for number, row in enumerate(rows)]
    return {"topic_id": "t1", "run_id": "r", "sentences": sentences, **others}


@pytest.fixture
def read(tmp_path):
    def of(*contents: object) -> list[AnswerLabels]:
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(f"{json.dumps(content)}\n" for content in contents))
        return list(read_labelled_answers(path))

    return of


def test_every_row_counts_whatever_its_id_and_text():
    first, second, third = read_labelled_answers(SAMPLE)
    assert (first.run_tag, first.query_id) == ("sea.alpha", "s1")
    assert first.labels == [[2, 0], [1, 1], []]
    assert [sentence.text for sentence in second.sentences] == ["Bread rises.", "", "Salt does not."]
    assert (second.labels, second.without_text) == ([[MISSING], [2], []], 1)
    assert (third.query_id, third.run_tag, third.sentences) == ("7", "beta", ())


def test_a_file_is_known_by_its_content_even_if_its_first_line_has_nan(tmp_path):
    path = tmp_path / "final.citation_judgments"
    path.write_text(SAMPLE.read_text().splitlines(keepends=True)[1])
    assert registry.recognise(path).name == "support-answers"


def test_what_was_read_is_written_again_with_nan_as_no_text(tmp_path):
    path = tmp_path / "again.jsonl"
    write_labelled_answers(path, read_labelled_answers(SAMPLE))
    before, after = (
        [json.loads(text) for text in of.read_text().replace("NaN", '""').splitlines()]
        for of in (SAMPLE, path)
    )
    assert after == before
    assert "NaN" not in path.read_text()


def test_labels_that_have_changed_are_written_into_what_was_read(read):
    (answer,) = read(line([cite(support=1, note="kept"), cite("d2")], year=2024))
    changed = AnswerLabels("r", "t1", (SentenceLabels("", ("d1", "d2"), (1, 0)),), answer.foreign)
    citations = labelled_json(changed)["sentences"][0]["citations"]
    assert citations == [cite(support=1, note="kept"), cite("d2", "0")]
    assert labelled_json(changed)["year"] == 2024


def test_an_answer_of_ours_has_every_key_that_is_needed():
    sentences = SentenceLabels("So.", ("d1", "d2"), (2, MISSING)), SentenceLabels("", (), ())
    assert labelled_json(AnswerLabels("r", "t1", sentences)) == {
        "topic_id": "t1",
        "run_id": "r",
        "sentences": [
            {"text": "So.", "citations": [cite("d1", "2"), cite("d2", "-1")]},
            {"text": "", "citations": []},
        ],
    }


def test_the_word_for_a_contradiction_is_read_and_kept_and_else_written_as_none(tmp_path):
    (answer,) = read_labelled_answers(FOLDER / "support_contradicts.jsonl")
    assert answer.labels == [[CONTRADICTS, 0], [1, MISSING]]
    assert labelled_json(answer) == answer.foreign
    ours = labelled_json(AnswerLabels("gamma", "s1", answer.sentences))
    assert [one["support"] for one in ours["sentences"][0]["citations"]] == ["0", "0"]


def test_ragdolls_lines_may_have_the_word(tmp_path):
    path, line_of = tmp_path / "judged.jsonl", (FOLDER / "support_judgments.jsonl").read_text()
    path.write_text(line_of.replace('"NS"', '"contradicts"'))
    assert [one.labels for one in read_judged_places(path)] == [[[2, CONTRADICTS], [FAILED]], [[1]]]
    path.write_text(line_of.replace('"NS"', '"CS"'))
    with pytest.raises(BadFormat, match="jsonl:2: support_label is CS, expected FS, PS, NS, contradicts"):
        list(read_judged_places(path))


SUPPORT = 'expected "2", "1", "0", "contradicts" or "-1"'
REFUSED: dict[str, tuple[object, str]] = {
    **{
        f"support {support!r}": (
            line([], [cite(), cite(support=support)]),
            f"sentences[1].citations[1].support is {json.dumps(support)}, {SUPPORT}",
        )
        for support in ("3", "1.5", 1.5, None, True, "", "full", -2, [], " 1")
    },
    "no support": (line([{"reference": "d1"}]), f"sentences[0].citations[0] has no support, {SUPPORT}"),
    "no reference": (
        line([{"support": "1"}]),
        "sentences[0].citations[0].reference is not there, expected an id",
    ),
    "a number as reference": (line([cite(3)]), "sentences[0].citations[0].reference is 3, expected an id"),
    "no run": ({"topic_id": "t1", "sentences": []}, "run_id is not there, expected an id"),
    "no topic": ({"run_id": "r", "sentences": []}, "topic_id is not there, expected an id"),
    "an empty topic": (line(topic_id=" "), 'topic_id is " ", expected an id'),
    "two topics": (line(narrative_id="t2"), 'narrative_id is "t2" and topic_id "t1", expected one topic'),
    "sentences as an object": (line() | {"sentences": {}}, "sentences is an object, expected {"),
    "no sentences": ({"topic_id": "t1", "run_id": "r"}, "sentences is not there, expected {"),
    "a sentence as text": (
        line() | {"sentences": ["So."]},
        "sentences[0] is text, expected {text, citations}",
    ),
    "no text": (line() | {"sentences": [{"citations": []}]}, "sentences[0].text is null, expected text"),
    "citations as an object": (
        line() | {"sentences": [{"text": "So.", "citations": {}}]},
        "sentences[0].citations is an object, expected a list, which may be empty",
    ),
    "a citation as text": (
        line() | {"sentences": [{"text": "So.", "citations": ["d1"]}]},
        "sentences[0].citations[0] is text, expected {reference, support}",
    ),
    "NaN elsewhere": (
        line([cite(score=float("nan"))]),
        "score is NaN, which only the text of a sentence may be",
    ),
    "infinite": (line(score=float("inf")), "Infinity, expected a finite number"),
    "a list": ([], "a list, expected {"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_label_is_refused_with_line_and_field(case, read):
    content, problem = REFUSED[case]
    with pytest.raises(BadFormat) as refused:
        read(line([cite()], topic_id="t0"), content)
    assert (refused.value.file, refused.value.line) == ("labels.jsonl", 2)
    assert problem in refused.value.problem


def test_an_answer_that_stands_twice_is_refused(read):
    with pytest.raises(BadFormat, match="run r answers topic t1 here and in line 1, expected one line"):
        read(line(), line([cite()]))


def test_a_number_may_name_a_topic_beside_its_text(read):
    (answer,) = read({"qid": 301, "query_id": "301", "runtag": "r", "sentences": []})
    assert (answer.query_id, answer.run_tag) == ("301", "r")
