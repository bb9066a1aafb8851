"""Leaderboards with a row for each run, topic and measure."""

from pathlib import Path

import pytest

from grading.errors import BadFormat
from grading.formats import Content, registry
from grading.formats.leaderboards import LeaderboardRow, with_means
from grading.formats.official import OfficialBoard, read_official

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"
BOARDS = {
    "board.ir_measures.txt": "leaderboard-ir_measures",
    "board.tot.txt": "leaderboard-tot",
    "board.rag4reports.txt": "leaderboard-rag4reports",
    "board.ranking.txt": "leaderboard-ranking",
    "board.jsonl": "leaderboard-jsonl",
}
COVERAGE = OfficialBoard(
    "scores",
    {"bm25": 0.375, "ql": 0.5},
    "COVERAGE",
    {"t1": {"bm25": 0.5, "ql": 1.0}, "t2": {"bm25": 0.25, "ql": 0.0}},
)


def read(text, tmp_path, name=""):
    path = tmp_path / "board.txt"
    path.write_text(text)
    one = registry.find(name) if name else registry.recognise(path, Content.LEADERBOARD)
    return list(one.read(path))


@pytest.mark.parametrize("name", BOARDS)
def test_every_format_has_the_same_rows(name):
    one = registry.recognise(FORMATS / name)
    assert one.name == BOARDS[name]
    assert list(one.read(FORMATS / name)) == list(
        registry.find("leaderboard-tot").read(FORMATS / "board.tot.txt")
    )


@pytest.mark.parametrize("name", BOARDS)
def test_official_boards_are_of_one_measure_with_its_topics(name):
    assert read_official(FORMATS / name, measure="COVERAGE") == COVERAGE
    with pytest.raises(BadFormat, match="several measures and none is named; there are COVERAGE, COUNT"):
        read_official(FORMATS / name)


def test_whole_numbers_may_have_a_mean_with_decimals():
    assert read_official(FORMATS / "board.jsonl", measure="COUNT").values == {"bm25": 1.5, "ql": 2.0}


def test_without_rows_of_all_a_run_has_the_mean_of_its_topics(tmp_path):
    path = tmp_path / "board.txt"
    path.write_text("run topic measure value\na t1 M 1\na t2 M 0\nb t1 M 1\n")
    assert read_official(path).values == {"a": 0.5, "b": 1.0}


def test_columns_that_nothing_tells_apart_have_to_be_named(tmp_path):
    path = tmp_path / "board.txt"
    path.write_text("a t1 M 1\na t2 M 0\n")
    with pytest.raises(
        BadFormat, match=r"^board.txt:1: the content may be .*\(leaderboard-ir_measures\) or .*tot\)"
    ):
        read_official(path)
    assert read_official(path, format_name="leaderboard-ir_measures").values == {"a": 0.5}
    assert read_official(path, format_name="leaderboard-tot", measure="t2").values == {"a": 0.0}


def test_trec_eval_names_the_run_before_or_after_its_topics(tmp_path):
    rows = [
        LeaderboardRow("a", "q1", "map", 0.5),
        LeaderboardRow("a", "all", "runid", "a"),
        LeaderboardRow("a", "all", "map", 0.5),
        LeaderboardRow("b", "q1", "map", 1),
        LeaderboardRow("b", "all", "runid", "b"),
    ]
    of_q = "map q1 0.5\nrunid all a\nmap all 0.5\nmap q1 1\nrunid all b\n"
    assert read(of_q, tmp_path) == rows
    named_first = "runid all a\nmap q1 0.5\nmap all 0.5\nrunid all b\nmap q1 1\n"
    assert set(read(named_first, tmp_path)) == set(rows)
    registry.find("leaderboard-trec_eval").write(tmp_path / "again.txt", rows)
    assert (tmp_path / "again.txt").read_text() == of_q.replace(" ", "\t")
    with pytest.raises(BadFormat, match=r"board.txt:3: no runid below"):
        read("map q1 0.5\nrunid all a\nmap q1 1\n", tmp_path, "leaderboard-trec_eval")


def test_words_have_the_first_as_their_mean():
    rows = [LeaderboardRow("a", "t1", "verdict", "good"), LeaderboardRow("a", "t2", "verdict", "bad")]
    assert with_means(rows)[-1] == LeaderboardRow("a", "all", "verdict", "good")
    assert with_means(with_means(rows)) == with_means(rows)


@pytest.mark.parametrize(
    ("text", "name", "line", "phrase"),
    [
        ("a t1 M 1\na t1 M 2\n", "ir_measures", 2, "M of run a for t1 occurs twice (first on line 1)"),
        ("a t1 M 1\na t2 M\n", "ir_measures", 2, "3 columns, expected 4: run topic measure value"),
        ("run topic measure value\n", "ir_measures", 1, "no runs, expected a row"),
        ('{"run_id": "a", "topic_id": "t", "measure": "M", "value": 1}\n\n{}', "jsonl", 2, "blank line"),
        ('{"run_id": "a", "topic_id": "t", "measure": "M"}\n', "jsonl", 1, "missing required field `value`"),
    ],
)
def test_broken_boards(text, name, line, phrase, tmp_path):
    with pytest.raises(BadFormat) as caught:
        read(text, tmp_path, f"leaderboard-{name}")
    assert (caught.value.file, caught.value.line) == ("board.txt", line)
    assert phrase in caught.value.problem


@pytest.mark.parametrize("name", ["ir_measures", "tot", "rag4reports", "trec_eval"])
def test_a_run_tag_with_white_space_is_not_written(name, tmp_path):
    with pytest.raises(BadFormat, match="'my run' is empty or holds white space"):
        registry.find(f"leaderboard-{name}").write(
            tmp_path / "b.txt", [LeaderboardRow("my run", "t1", "M", 1)]
        )


def test_a_score_that_is_a_word_names_its_line(tmp_path):
    path = tmp_path / "board.txt"
    path.write_text("a all M 1\na t1 M good\n")
    with pytest.raises(
        BadFormat, match=r'^board.txt:2: the score of run a for t1 is "good", expected a finite'
    ):
        read_official(path)
