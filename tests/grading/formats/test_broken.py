"""Broken files: each error names the line and says what was expected."""

import json
from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats.banks.workbench import read_bank
from grading.formats.graded import read_graded
from grading.formats.official import read_official
from grading.formats.topics import read_topics
from grading.formats.trec import read_qrels, read_run, write_qrels, write_run
from grading.types import Qrel, Ranking

BROKEN = Path(__file__).resolve().parents[3] / "fixtures" / "formats" / "broken"
GOOD_TOPIC = '["t0", []]'
GOOD_BANK = '{"query_id": "t0", "query_text": "bees", "items": []}'


def topic(grades="exam_grades", **entry):
    """A line with one passage and one entry on it."""
    whole = {"correctAnswered": [], "wrongAnswered": [], "answers": [], "llm": "m"} | entry
    if grades == "grades":
        whole = {"correctAnswered": True, "llm": "m"} | entry
    pooling = {"judgments": [], "rankings": []}
    passage = {"paragraph_id": "d1", "text": "bees", "paragraph_data": pooling, grades: [whole]}
    return json.dumps(["t1", [passage]])


def passage(judgments=(), rankings=(), **changes):
    pooling = {"judgments": list(judgments), "rankings": list(rankings)}
    whole = {"paragraph_id": "d1", "text": "bees", "paragraph_data": pooling} | changes
    return json.dumps(["t1", [{key: value for key, value in whole.items() if value is not None}]])


def rating(value, **ids):
    return topic(self_ratings=[{"self_rating": value} | (ids or {"question_id": "t1/a"})])


def bank(**item):
    whole = {"query_id": "t1", "facet_id": "F", "query_text": "bees", "items": [item]}
    return json.dumps(whole)


def ranked(**ranking):
    return {"method": "bm25", "paragraphId": "d1", "queryId": "t1", "rank": 1, "score": 1.0} | ranking


GRADED = [
    ("[", "malformed JSON"),
    ("", "blank line, expected [query id, [passage, ...]]"),
    ('{"query_id": "t1"}', "Expected `array`, got `object`"),
    ('["t1"]', "Expected `array` of at least length 2"),
    ('["", []]', "the query id is empty, expected an id"),
    ('["t1", [], ' + "[" * 5000, "malformed JSON"),
    (passage(text=None), "missing required field `text` at $[1][0]"),
    (passage(text=7), "Expected `str`, got `int` at $[1][0].text"),
    (passage(paragraph_id=""), "the paragraph_id is empty, expected an id"),
    (passage(paragraph_data={"judgments": []}), "`rankings` at $[1][0].paragraph_data"),
    (passage([{"query": "t1", "relevance": "high"}]), 'query t1 is "high", expected a whole number'),
    (passage([{"query": "t1", "relevance": 1.5}]), "query t1 is 1.5, expected a whole number"),
    (passage(rankings=[ranked(rank=-1)]), "the rank in run bm25 is -1, expected 0 or more"),
    (passage(rankings=[ranked(score="inf")]), 'run bm25 is "inf", expected a finite number'),
    (topic(llm=None), "Expected `int | str`, got `null` at $[1][0].exam_grades[0].llm"),
    (topic(answers="4"), "Expected `array`, got `str` at $[1][0].exam_grades[0].answers"),
    (rating(9), "passage d1: the rating of item t1/a is 9, expected 0 to 5"),
    (rating(-1), "item t1/a is -1, expected 0 to 5"),
    (rating(True), "item t1/a is true, expected a whole number"),
    (rating(3.5), "item t1/a is 3.5, expected a whole number"),
    (rating(None), "item t1/a is null, expected a whole number"),
    (rating("four", nugget_id="t1/n"), 'item t1/n is "four", expected a whole number'),
    (rating(4, facet="x"), "a self rating has no item, expected question_id or nugget_id"),
    (
        topic(self_ratings=[{"question_id": "a", "self_rating": rated} for rated in (4, 2)]),
        "item a is rated 4 and 2, expected one rating",
    ),
    (topic(correctAnswered=["a"], wrongAnswered=["a"]), "item a is in correctAnswered and in wrongAnswered"),
    (passage([{"query": "t1", "relevance": 2**31}]), "query t1 is 2147483648, expected a whole number"),
    (passage([{"query": "t1", "relevance": "1_0"}]), 'query t1 is "1_0", expected a whole number'),
    (passage(text="a \0 b"), "a NUL character, expected text"),
    (passage(text="a \ud800 b"), "malformed JSON"),
    (topic("grades", self_ratings=6), "item direct is 6, expected 0 to 5"),
]

TWICE = {"question_id": "a", "question_text": "Why?"}
BANKS = [
    ("nonsense", "malformed JSON"),
    ('{"query_id": "t1", "query_text": "bees"}', "missing required field `items`"),
    ('{"query_id": " ", "query_text": "bees", "items": []}', "query_id is empty"),
    (bank(question_text="Why?"), "item 1 of the line has no id, expected question_id or nugget_id"),
    (bank(question_id="a"), "item a has no text, expected question_text"),
    (bank(nugget_id="a", nugget_text=" "), "item a has no text, expected nugget_text"),
    (
        bank(query_id="t2", question_id="a", question_text="Why?"),
        "query_id t2, expected that of its line, t1",
    ),
    (bank(facet_id="G", question_id="a", question_text="Why?"), "facet_id G, expected that of its line, F"),
    (
        json.dumps({"query_id": "t1", "query_text": "bees", "items": [{**TWICE, "info": n} for n in (1, 2)]}),
        "item a is listed twice with other contents, expected it once",
    ),
    (bank(question_id=f"t1/{'0' * 32}", question_text="Why?"), "does not carry the md5 of its text"),
]


@pytest.mark.parametrize(
    ("read", "good", "text", "phrase"),
    [(read_graded, GOOD_TOPIC, text, phrase) for text, phrase in GRADED]
    + [(read_bank, GOOD_BANK, text, phrase) for text, phrase in BANKS],
)
def test_broken_json_lines(read, good, text, phrase, tmp_path):
    path = tmp_path / "broken.jsonl"
    path.write_text(f"{good}\n{text}\n{good}\n")
    with pytest.raises(BadFormat) as caught:
        list(read(path))
    assert (caught.value.file, caught.value.line) == ("broken.jsonl", 2)
    assert phrase in caught.value.problem
    assert "expected" in caught.value.problem.lower() or "a line is" in caught.value.problem


QREL, RUN = "t1 0 d1 1", "t1 Q0 d1 1 9.5 bm25"


@pytest.mark.parametrize(
    ("read", "text", "line", "phrase"),
    [
        (read_qrels, f"{QREL}\nt1 0 d2\n", 2, "3 columns, expected 4 columns: query_id 0 doc_id relevance"),
        (read_qrels, f"{QREL}\nt1 0 d2 high\n", 2, 'relevance is "high", expected a whole number'),
        (read_qrels, f"{QREL}\n\n{QREL}\n", 3, "d1 is judged twice for t1 (first on line 1)"),
        (read_run, f"{RUN}\nhello\n", 2, "1 column, expected 6 columns"),
        (read_run, f"{RUN}\nt1 Q0 d2 2 8.5\n", 2, "5 columns, expected 6 columns: query_id Q0 doc_id"),
        (read_run, f"{RUN}\nt1 Q0 d2 2.5 8.5 bm25\n", 2, 'rank is "2.5", expected a whole number'),
        (read_run, f"{RUN}\nt1 Q0 d2 -1 8.5 bm25\n", 2, "rank is -1, expected 0 or more"),
        (read_run, f"{RUN}\nt1 Q0 d2 2 nan bm25\n", 2, 'score is "nan", expected a finite number'),
        (read_run, f"{RUN}\nt1 Q0 d2 2 8.5 ql\n", 2, "run tag ql after bm25, expected one run tag"),
        (read_run, f"{RUN}\n{RUN}\n", 2, "d1 is ranked twice for t1, expected each passage once"),
        (read_topics, "t1\tone\nt1\ttwo\n", 2, "query t1 occurs twice"),
        (read_topics, "t1\tone\nt2 two\n", 2, "1 columns between tabs, expected one JSON dictionary"),
        (read_topics, "t1\t0\td1\t1\n", 1, "4 columns between tabs"),
        (read_topics, "t1 0 d1 1\n", 1, "1 columns between tabs"),
        (read_topics, "t1\tone\n\nt2\t \n", 3, "an empty text"),
        (read_topics, "t1\tone\n\ttwo\n", 2, "an empty query id"),
        (read_topics, '{"t1": "one",\n "t2": "two",\n "t1": "three"}', 3, "query t1 occurs twice"),
        (read_topics, '{"t1": "one",\n "t2": 2}', 2, "text of query t2 is not a string"),
        (read_topics, '{"t1": "one"\n "t2": "two"}', 2, "malformed JSON"),
        (read_official, '{"a": 1,\n "b": "first"}', 2, 'rank of run b is "first", expected a finite'),
        (read_official, '{"a": 1,\n "b": true}', 2, "rank of run b is not a number"),
        (read_official, '{"a": 1,\n "b": 0}', 2, "rank of run b is 0, expected 1 or more"),
        (read_official, '{"scores": {"a": 0.5,\n "a": 0.4}}', 2, "run a occurs twice"),
        (read_topics, '{"t1": "one",\n "t2": "a \\u0000"}', 2, "a NUL character, expected text"),
        (read_topics, '{"t1": "one",\n "t2": "a \\ud800"}', 2, "half a surrogate pair, expected whole"),
        (read_topics, "t1\tone\nt2\ta \0\n", 2, "a NUL character, expected text"),
        (read_official, "{}", 1, "no runs, expected"),
        (read_official, '{"ranks": [1, 2]}', 1, "ranks is a list, expected"),
        (read_official, '{"scores": [[]]}', 1, "scores is a list, expected"),
        (read_official, '{"scores": {"a": [1]}}', 1, "score of run a is not a number"),
        (read_official, '{"rows": [1, []]}', 1, "rows without run_tag and score"),
        (
            read_official,
            '{"rows": [\n{"run_tag": "a", "score": 1},\n{"run_tag": "b", "score": null}]}',
            3,
            "run b is",
        ),
        (read_official, "# x\nrun_tag\trank\na\t-1\n", 3, "the rank of run a is -1, expected 1 or more"),
        (read_official, '{"a": -1}', 1, "the rank of run a is -1, expected 1 or more"),
        (read_official, "# only: this\n", 1, "no such header"),
        (read_official, "map\tall\t0.5\n", 1, "no runid above"),
        (read_official, "runid\tall\ta\nmap\tall\t0.5\nrunid\tall\ta\n", 3, "run a occurs twice"),
        (read_official, "runid\tall\ta\nmap\tall\t0.5\nrunid\tall\tb\n", 3, "run b has no map"),
        (read_official, "runid\tall\ta\nmap\tall\thigh\n", 2, 'score of run a is "high"'),
        (read_official, "runid all a\nP_5 all 0.5\nP_10 all 0.5\n", 1, "none is named; there are P_5, P_10"),
        (read_official, "run\trank\na\t1\n", 1, "no such header: run rank; expected"),
        (read_official, "run_tag\tscore\na\t0.5\nb\n", 3, "1 columns between tabs, expected 2"),
        (read_official, "run_tag\tscore\na\tNaN\n", 2, 'score of run a is "NaN", expected a finite'),
    ],
)
def test_broken_tables(read, text, line, phrase, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_text(text)
    with pytest.raises(BadFormat) as caught:
        list(read(path))
    assert (caught.value.file, caught.value.line) == ("broken.txt", line)
    assert phrase in caught.value.problem


@pytest.mark.parametrize("name", ["blank_line.jsonl", "malformed.jsonl"])
def test_broken_samples(name):
    with pytest.raises(BadFormat, match=f"^{name}:2: ") as caught:
        list(read_graded(BROKEN / name))
    assert "expected [query id" in caught.value.problem


def test_topics_before_a_broken_line_are_read():
    topics = read_graded(BROKEN / "malformed.jsonl")
    assert next(topics).query_id == "t2"


def test_an_escaped_backslash_before_u0000_is_no_nul(tmp_path):
    path = tmp_path / "graded.jsonl"
    path.write_text(passage(text="a \\u0000 b"))
    assert next(read_graded(path)).passages[0].text == "a \\u0000 b"


def test_what_a_message_quotes_is_cut():
    assert len(str(BadFormat("x" * 1_000_000, file="a.json", line=1))) < 700


def test_ids_with_white_space_are_not_written_to_trec_files(tmp_path):
    with pytest.raises(BadFormat, match=r"'d\\x071' is empty or holds white space or control"):
        write_qrels(tmp_path / "a.qrels", [Qrel("q", "d\x071", 1)])
    with pytest.raises(BadFormat, match="'d 1' is empty or holds white space"):
        write_qrels(tmp_path / "a.qrels", [Qrel("q", "d 1", 1)])
    with pytest.raises(BadFormat, match="'' is empty or holds white space"):
        write_run(tmp_path / "a.run", [Ranking("", "q", ("d1",), (1.0,))])
