"""A bad file: one message with file, line and what was expected, and an untouched database."""

import gzip
import json
import re

import pytest
from django.core.management import CommandError

from rubricweb.grades import import_grades
from tests.rubricweb.import_files import (
    FALL,
    RED,
    TEXTS,
    Folder,
    bank_line,
    database,
    extracted,
    passage,
    rated,
    uid,
)

pytestmark = pytest.mark.django_db
GOOD = json.dumps(["t1", [passage("d1", rated({uid(RED): 5}))]]) + "\n"


@pytest.fixture
def folder(tmp_path):
    """A folder whose collection has been imported once."""
    folder = Folder(tmp_path)
    folder.write("runs/bm25.run", "t1 Q0 d1 1 9.0 bm25\n")
    folder.load(
        *("--queries", folder.queries(t1="why leaves turn red", t2="how bread rises")),
        *("--graded", folder.write("graded.jsonl", GOOD)),
        *("--bank", folder.lines("questions.jsonl", bank_line(RED))),
        *("--runs", folder.path / "runs"),
        *("--qrels", folder.write("qrels.txt", "t1 0 d1 2\n")),
        *("--official", folder.write("official.json", '{\n "bm25": 1.0\n}')),
    )
    return folder


def refused(folder, message, *arguments, slug="autumn"):
    """The import fails with exactly one line, which matches, and leaves every row as it was."""
    before = database()
    with pytest.raises(CommandError) as failure:
        folder.load(*arguments, slug=slug)
    assert re.match(message, str(failure.value)), str(failure.value)
    assert "\n" not in str(failure.value)
    assert failure.value.returncode == 1
    assert database() == before


def without(field):
    record = passage("d2", rated({uid(RED): 4}))
    del record[field]
    return GOOD + json.dumps(["t1", [record]]) + "\n"


def changed(**fields):
    return GOOD + json.dumps(["t1", [{**passage("d2"), **fields}]]) + "\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD + '["t1", [{]]\n', r"bad\.jsonl:2: malformed JSON.*expected"),
        (GOOD + "\n" + GOOD, r"bad\.jsonl:2: blank line, expected"),
        (without("text"), r"bad\.jsonl:2: .*`text`"),
        (without("paragraph_data"), r"bad\.jsonl:2: .*`paragraph_data`"),
        (changed(text=7), r"bad\.jsonl:2: Expected `str`"),
        (changed(exam_grades=[rated({uid(RED): 9})]), r"bad\.jsonl:2: .*is 9, expected 0 to 5"),
        (changed(exam_grades=[rated({uid(RED): -1})]), r"bad\.jsonl:2: .*is -1, expected 0 to 5"),
        (changed(paragraph_id="d1", text="Other words."), r"bad\.jsonl:2: passage d1 has another text"),
        (changed(text="nul \0 inside"), r"bad\.jsonl:2: a NUL character, expected"),
        (changed(exam_grades=[extracted({uid(RED): "a\0b"})]), r"bad\.jsonl:2: a NUL character, expected"),
        (
            changed(paragraph_id="d" * 301),
            r"bad\.jsonl:2: the paragraph_id has 301 characters, expected at most 300",
        ),
        (
            changed(exam_grades=[rated({"t1/" + "x" * 400: 3})]),
            r"bad\.jsonl:2: the item id has 403 characters",
        ),
        (
            changed(exam_grades=[rated({uid(RED): 3}, llm="m" * 201)]),
            r"bad\.jsonl:2: the llm has 201 characters",
        ),
        (GOOD.replace('"t1", [', '"t9", ['), r"bad\.jsonl:1: query t9 is unknown, expected"),
        ("", r"bad\.jsonl:1: the file is empty, expected"),
        (b'["t1", "\xff"]\n', r"bad\.jsonl:1: byte 9 of the line is not UTF-8"),
        (gzip.compress(GOOD.encode() * 50, mtime=0)[:-20], r"bad\.jsonl:\d+: the gzip data is truncated"),
        (b"[" + b" " * 64_000_001 + b"]", r"bad\.jsonl:1: the line is too long, expected at most 64,000,000"),
    ],
)
@pytest.mark.portable
def test_graded_file(folder, content, message):
    bad = folder.write("bad.jsonl", content)
    queries = folder.queries(t1="why leaves turn red", t2="how bread rises")
    refused(folder, message, "--queries", queries, "--graded", bad)
    refused(folder, message, "--queries", queries, "--graded", bad, slug="another")


def test_one_line_with_two_texts_of_a_passage(folder):
    bad = folder.graded(passage("d2"), passage("d2", text="Other words."), name="bad.jsonl")
    refused(folder, r"bad\.jsonl:1: passage d2 has another text", "--graded", bad)


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        (rated({uid(RED): 4}), r"rated 4 \(reply '4'\) here and rated 5 \(reply '5'\) before"),
        (
            rated({uid(RED): 5}) | {"answers": [[uid(RED), "5: complete"]]},
            r"rated 5 \(reply '5: complete'\) here",
        ),
    ],
)
def test_another_grade_of_the_same_cell(folder, entry, values):
    bad = folder.graded(passage("d1", entry), name="bad.jsonl")
    refused(folder, rf"bad\.jsonl:1: item {uid(RED)} on passage d1 is {values}", "--graded", bad)


def test_another_grade_in_the_same_line(folder):
    bad = folder.graded(
        passage("d2", rated({uid(RED): 3})), passage("d2", rated({uid(RED): 2})), name="bad.jsonl"
    )
    refused(
        folder, rf"bad\.jsonl:1: item {uid(RED)} on passage d2 is rated 2 .* and rated 3", "--graded", bad
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (bank_line(FALL, query_id="t9"), r"bad\.jsonl:2: query t9 is unknown"),
        ({"query_id": "t1", "query_text": "why"}, r"bad\.jsonl:2: .*`items`"),
        (bank_line(RED) | {"query_id": "t2"}, r"bad\.jsonl:2: item .* does not carry|bad\.jsonl:2: "),
        (
            {**bank_line(), "items": [{"question_id": uid(RED), "question_text": "Other?"}]},
            r"bad\.jsonl:2: item .* does not carry the md5",
        ),
        (
            {**bank_line(), "items": [{"question_id": "NDQ_1", "question_text": "B?"}]},
            r"bad\.jsonl:2: item NDQ_1 is 'B\?'",
        ),
        ({**bank_line(), "query_text": 3}, r"bad\.jsonl:2: Expected `str`"),
    ],
)
@pytest.mark.portable
def test_bank_file(folder, line, message):
    first = {**bank_line(), "items": [{"question_id": "NDQ_1", "question_text": "A?"}]}
    if line["query_id"] == "t2":
        line = {**line, "items": [{**line["items"][0], "query_id": "t1"}]}
    bad = folder.lines("bad.jsonl", first, line)
    queries = folder.queries(t1="why leaves turn red", t2="how bread rises")
    refused(folder, message, "--queries", queries, "--bank", bad)


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("--queries", '{"t1": "why",\n "t1": "how"}', r"bad\.txt:2: query t1 occurs twice"),
        ("--queries", '{"t1": "why"', r"bad\.txt:1: malformed JSON"),
        (
            "--queries",
            '{\n"t2": "how bread rises",\n"t1": "how leaves fall"}',
            r"bad\.txt:3: query t1 is 'how leaves fall'",
        ),
        ("--qrels", "t1 0 d1 2\nt1 0 d2 much\n", r"bad\.txt:2: the relevance is .much., expected"),
        ("--qrels", "t1 0 d1 2\nt1 d2 1\n", r"bad\.txt:2: 3 columns, expected 4"),
        (
            "--qrels",
            "t2 0 d1 1\n\nt1 0 d1 1\n",
            r"bad\.txt:3: passage d1 of query t1 is judged 1 here and 2 in the coll",
        ),
        ("--qrels", "t1 0 d2 40000\n", r"bad\.txt.*: the relevance is 40000"),
        ("--official", "run_tag\tscore\nbm25\thigh\n", r"bad\.txt:2: the score of run bm25"),
        ("--official", '{\n"dense": 1,\n"bm25": 2}', r"bad\.txt:3: run bm25 has rank 2 here and rank 1 in"),
    ],
)
@pytest.mark.portable
def test_other_files(folder, option, content, message):
    refused(folder, message, option, folder.write("bad.txt", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t1 Q0 d1 1 9.0 dense\nt1 Q0 d2 2 x dense\n", r"bad\.run:2: the score is .x., expected"),
        ("t1 Q0 d1 1 9.0 dense\nt1 Q0 d1 2 8.0 dense\n", r"bad\.run:2: d1 is ranked twice"),
        (
            "t2 Q0 d1 1 9.0 bm25\nt1 Q0 d2 1 9.0 bm25\n",
            r"bad\.run:2: run bm25 ranks the passages of query t1 otherwise",
        ),
        ("t1 Q0 d1 1 9.0 " + "r" * 201, r"bad\.run:1: the run tag has 201 characters"),
        ("t1 Q0 " + "d" * 301 + " 1 9.0 dense", r"bad\.run:1: the doc_id has 301 characters"),
        ("t8 Q0 d1 1 9 dense\n", r"bad\.run:1: query t8 is unknown, as are all others"),
    ],
)
@pytest.mark.portable
def test_run_file(folder, content, message):
    bad = folder.write("bad/bad.run", content)
    queries = folder.queries(t1="why leaves turn red", t2="how bread rises")
    refused(folder, message, "--queries", queries, "--runs", bad.parent)


def test_qrels_without_any_known_query(folder):
    queries = folder.queries(t1="why leaves turn red")
    bad = folder.write("bad.txt", "\nt8 0 d1 1\n")
    refused(
        folder, r"bad\.txt:2: query t8 is unknown, as are all others", "--queries", queries, "--qrels", bad
    )


def test_two_files_of_one_run(folder):
    folder.write("two/a.run", "t1 Q0 d1 1 9.0 dense\n")
    folder.write("two/b.run", "t2 Q0 d1 1 9.0 dense\n")
    refused(folder, r"b\.run:1: run dense is also in a\.run", "--runs", folder.path / "two")


def test_folder_without_run_files(folder):
    (folder.path / "none").mkdir()
    refused(folder, r"none: no run file in the folder, expected", "--runs", folder.path / "none")
    refused(folder, r"gone: cannot be opened, expected a folder", "--runs", folder.path / "gone")


@pytest.mark.parametrize("option", ["--queries", "--graded", "--bank", "--qrels", "--official"])
def test_missing_file(folder, option):
    refused(
        folder, r"gone\.txt: cannot be opened, expected a readable file", option, folder.path / "gone.txt"
    )


def test_a_late_error_takes_everything_back(folder, monkeypatch):
    """The last file is bad, after thousands of rows went in."""
    uids = [uid(f"Question {n}?") for n in range(400)]
    graded = folder.graded(passage("d2", rated(dict.fromkeys(uids, 3))), name="many.jsonl")
    bad = folder.write("bad.txt", "bm25 1 2")
    inserted = []
    real = import_grades.store.save_new_grades
    monkeypatch.setattr(
        import_grades.store, "save_new_grades", lambda *given: (inserted.append(given), real(*given))
    )
    refused(folder, r"bad\.txt:1: ", "--graded", graded, "--official", bad, slug="another")
    assert len(inserted) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to import"),
        (("--min-relevant", "-1", "--name", "Autumn"), "min relevant: "),
        (("--bank-name", "x" * 81, "--name", "Autumn"), "name: .*80 characters"),
        (("--name", "x" * 201), "name: .*200 characters"),
    ],
)
@pytest.mark.portable
def test_arguments(folder, arguments, message):
    refused(folder, message, *arguments)


def test_slug_is_a_slug(folder):
    refused(folder, "slug: ", "--queries", folder.queries(), slug="two words")


def test_texts_are_as_long_as_they_like(folder):
    folder.load("--graded", folder.graded(passage("d2", text=TEXTS["d2"] * 5_000), name="long.jsonl"))
