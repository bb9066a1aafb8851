"""Broken responses: each error names the line, the field and what was expected."""

import json

import pytest

from grading.errors import BadFormat
from grading.formats.responses import inspect_responses, read_responses


def line(*citations, **changes):
    """A line of AutoJudge with a sentence for each of `citations`."""
    whole = {
        "metadata": {"team_id": "a", "run_id": "r1", "topic_id": "t1"},
        "references": ["d1", "d2"],
        "responses": [{"text": "A.", "citations": each} for each in citations],
    } | changes
    return json.dumps({key: value for key, value in whole.items() if value != "left out"})


def metadata(**changes):
    return line(["d1"], metadata={"team_id": "a", "run_id": "r1", "topic_id": "t1"} | changes)


GOOD = line(["d1"])
BROKEN = [
    (f"\n{GOOD}", "blank line, expected one response a line: {metadata"),
    ("{", "malformed JSON (Expecting property name"),
    ('["t1"]', "a list, expected one response a line: {metadata"),
    ("[" * 5000 + "]" * 5000, "more than 64 lists and objects inside each other"),
    ('{"metadata": ' + '{"a": ' * 70 + "1" + "}" * 71, "more than 64 lists and objects inside each other"),
    ('{"metadata": {}, "metadata": {}}', "the key 'metadata' occurs twice in an object, expected it once"),
    ('{"metadata": {"seed": 1e999}}', "the number 1e999 is too large, expected a finite number"),
    ('{"metadata": {"seed": NaN}}', "NaN, expected a finite number"),
    ('{"metadata": {"note": "\\ud800"}}', "half a surrogate pair, expected whole characters"),
    ('{"metadata": {"note": "\\u0000"}}', "a NUL character, expected text"),
    ('{"metadata": {"seed": ' + "9" * 5000 + "}}", "a number of too many digits"),
    ('{"team_id": "a"}', "metadata is missing, expected one response"),
    (line(["d1"], responses="left out"), "responses or answer is missing, expected one response"),
    (line(["d1"], responses=None), "responses is null, expected a list of sentences"),
    (line(["d1"], responses={"text": "A."}), "responses is an object, expected a list of sentences"),
    (line(["d1"], answer=[]), "answer and responses differ, expected one of them or both alike"),
    (line(["d1"], responses=["A."]), "responses[0] is text, expected {text, citations}"),
    (line(["d1"], responses=[{"citations": []}]), "responses[0] is without text, expected {text, citations}"),
    (line(["d1"], responses=[{"text": None}]), "responses[0] is without text, expected {text, citations}"),
    (metadata(run_id=""), "metadata.run_id is '', expected an id without white space"),
    (metadata(run_id=".a b"), "metadata.run_id is '.a b', expected an id without white space"),
    (metadata(run_id=True), "metadata.run_id is true or false, expected an id"),
    (metadata(run_id=1.5), "metadata.run_id is a number, expected an id"),
    (metadata(team_id=["a"]), "metadata.team_id is a list, expected text"),
    (metadata(topic_id=None), "metadata.topic_id is missing, expected topic_id or narrative_id"),
    (metadata(narrative_id="t2"), "metadata.narrative_id is 't2', expected 't1' as in topic_id"),
    (line(["d1"], references="d1"), "references is text, expected a list of document ids"),
    (line(["d1"], references=["d1", 2]), "references[1] is a whole number, expected a document id"),
    (line(["d1"], references=[""]), "references[0] is empty, expected a document id"),
    (line(["d1"], documents=["d1"]), "documents is a list, expected an object of document id: document"),
    (line(["d1"], documents={"d1": {"id": "d1"}}), "documents['d1'] has no text, expected {id, text}"),
    (
        line(["d1"], [1]),
        "responses[1].citations (sentence 2) are positions in references, expected document ids as in resp",
    ),
    (
        line([], {"d1": 1}, ["d1"]),
        "responses[2].citations (sentence 3) are document ids, expected scores by document id as in resp",
    ),
    (
        line([0, "d1"]),
        "responses[0].citations (sentence 1) are a whole number and text in one list, expected",
    ),
    (line([True]), "responses[0].citations (sentence 1) are true or false in one list, expected"),
    (line([0.0]), "responses[0].citations (sentence 1) are a number in one list, expected"),
    (line([[0]]), "responses[0].citations (sentence 1) are a list in one list, expected"),
    (line("d1"), "responses[0].citations (sentence 1) are text, expected"),
    (line([]).replace("[]", "0"), "responses[0].citations (sentence 1) are a whole number, expected"),
    (line([2]), "responses[0].citations (sentence 1) hold 2, expected 0 to 1, a position in references"),
    (
        line([0], [-1]),
        "responses[1].citations (sentence 2) hold -1, expected 0 to 1, a position in references",
    ),
    (line([0], references=[]), "(sentence 1) hold 0, expected none, as references are empty"),
    (line([0], references="left out"), "(sentence 1) hold 0, expected none, as references are empty"),
    (line({"d1": "high"}), "responses[0].citations['d1'] (sentence 1) is text, expected a number"),
    (line({"d1": True}), "responses[0].citations['d1'] (sentence 1) is true or false, expected a number"),
    (line({"d1": 10**400}), "responses[0].citations['d1'] (sentence 1) is"),
]


@pytest.mark.parametrize(("text", "phrase"), BROKEN)
def test_each_error_names_the_line_and_what_was_expected(text, phrase, tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(f"{GOOD}\n{text}\n")
    with pytest.raises(BadFormat) as caught:
        list(read_responses(path))
    assert phrase in str(caught.value)
    assert str(caught.value).startswith("run.jsonl:2: ")


def test_everything_wrong_in_a_line_is_listed_with_its_sentence(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_text(line([0, 7], ["d1"], [9], {"d1": 1}) + "\n")
    (inspected,) = inspect_responses(path)
    assert [(problem.category, problem.sentence) for problem in inspected.problems] == [
        ("reference_index", 1),
        ("citation_format", 2),
        ("reference_index", 3),
        ("citation_format", 4),
    ]
    assert [len(sentence.citations) for sentence in inspected.response.sentences] == [1, 0, 0, 0]


RESULT = {"topic_id": "1", "answer": "Honey [11].", "references": ["11"]}
RESULTS = [
    (7, "a result is a whole number, expected {topic_id, answer, references}"),
    (RESULT | {"topic_id": None}, "topic_id is missing, expected"),
    (RESULT | {"answer": None}, "answer is null, expected text with PMIDs"),
    ({"topic_id": "1"}, "answer is missing, expected text with PMIDs"),
    (RESULT | {"references": [11]}, "references[0] is a whole number, expected a document id"),
]


def refusal(path, text):
    path.write_text(text)
    with pytest.raises(BadFormat) as caught:
        list(read_responses(path))
    return caught.value


@pytest.mark.parametrize(("result", "phrase"), RESULTS)
def test_errors_in_a_document_name_the_line_of_their_result(result, phrase, tmp_path):
    rows = [json.dumps(row) for row in (RESULT, result, RESULT)]
    text = f'{{"team_id": "a", "run_name": "b", "results": [\n{rows[0]},\n\n{rows[1]}, {rows[2]}\n]}}'
    error = refusal(tmp_path / "run.json", text)
    assert phrase in error.problem
    assert (error.file, error.line) == ("run.json", 4)


@pytest.mark.parametrize(
    ("text", "at", "phrase"),
    [
        ('{\n "team_id": "a",\n "results": [\n}', 4, "malformed JSON"),
        ('{\n "team_id": "a",\n "runs": []\n}', 1, "results is missing, expected one response"),
        ('{\n "results": [],\n "results": []\n}', 1, "the key 'results' occurs twice"),
        ('{"results": {},\n"a": 1}', 1, "results is an object, expected one response"),
        (
            '{"team_id": "a", "run_name": "b", "results": []}',
            1,
            "results is empty, expected a result a topic",
        ),
        (
            json.dumps({"run_name": "a b", "results": [RESULT]}),
            1,
            "run_name is 'a b', expected an id without",
        ),
    ],
)
def test_a_document_that_is_none_is_refused(text, at, phrase, tmp_path):
    error = refusal(tmp_path / "run.json", text)
    assert phrase in error.problem
    assert (error.file, error.line) == ("run.json", at)
