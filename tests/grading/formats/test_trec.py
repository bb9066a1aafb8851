"""Qrels and runs."""

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from grading.errors import BadFormat, Unclear
from grading.formats import registry
from grading.formats.trec import (
    qrels_notes,
    read_any_run,
    read_qrels,
    read_run,
    trec_eval_order,
    write_qrels,
    write_run,
)
from grading.types import Qrel, Ranking

FORMATS = Path(__file__).resolve().parents[3] / "fixtures" / "formats"


def test_qrels_take_any_white_space(tmp_path):
    qrels = list(read_qrels(FORMATS / "judgments.qrels"))
    assert qrels == [Qrel("t1", "d1", 3), Qrel("t1", "77", 0), Qrel("t2", "d1", 1)]
    write_qrels(tmp_path / "written.qrels", qrels)
    assert (tmp_path / "written.qrels").read_text() == "t1 0 d1 3\nt1 0 77 0\nt2 0 d1 1\n"


def test_ranks_become_positions():
    assert list(read_run(FORMATS / "bm25.run")) == [
        Ranking("bm25", "t1", ("d1", "77", "d3"), (9.5, 8.25, 9.5)),
        Ranking("bm25", "t2", ("d1",), (1.0,)),
    ]


REPEATED = "q 0 b 1 1 r\nq 0 a 1 2 r\nq 0 d 1 2 r\nq 0 c 0 3 r\n"
JUDGED = "q 0 a 0 0.9 r\nq 0 b 3 1 r\nq 0 c 3 0.5 r\nq2 0 a 4 0 r\n"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (REPEATED, 2, "rank 1 stands more than once in topic q, expected each rank once"),
        ("p 0 a 1 1 r\nq 0 a 0 1 r\nq 0 b 0 2 r\n", 3, "rank 0 stands more than once in topic q"),
        (
            JUDGED,
            3,
            "the ranks are 0 to 4 and the scores lie between 0 and 1, as in the relevance judgments of",
        ),
        (
            "q 0 a 0 0.5 r\nq 0 b 4 0.9 r\n",
            1,
            "the ranks are 0 to 4 and the scores lie between 0 and 1, as in",
        ),
    ],
)
def test_a_run_that_may_be_judgments_is_asked_about(text, line, problem, tmp_path):
    path = tmp_path / "judged.run"
    path.write_text(text)
    with pytest.raises(Unclear) as caught:
        list(read_run(path))
    assert caught.value.problem.startswith(problem)
    assert (caught.value.file, caught.value.line, caught.value.formats) == ("judged.run", line, ("trec-run",))
    assert list(registry.find("trec-run").read_chosen(path)) == list(read_any_run(path)) != []


@pytest.mark.parametrize("text", ["q 0 a 0 1 r\nq 0 b 1 .5 r\nq 0 c 4 .2 r\n", "q 0 a 9 1 r\nq 0 b 3 2 r\n"])
def test_a_short_run_with_scores_up_to_one_is_a_run(text, tmp_path):
    (tmp_path / "short.run").write_text(text)
    assert len(next(read_run(tmp_path / "short.run")).doc_ids) == text.count("\n")


def test_equal_ranks_are_ordered_by_score_then_as_the_file_has_them(tmp_path):
    path = tmp_path / "ties.run"
    path.write_text(REPEATED)
    assert next(read_any_run(path)).doc_ids == ("c", "a", "d", "b")


@pytest.mark.parametrize("second", [("1", "2", "2"), ("4.5", "5", "1"), ("q0", "q0", "q0"), ("Q0", "0", "0")])
def test_qrels_are_known_whatever_their_second_column_numbers(second, tmp_path):
    path = tmp_path / "judgments.txt"
    path.write_text("".join(f"40 {value} d{n} {n}\n" for n, value in enumerate(second)))
    assert [each.name for each in registry.candidates(path)] == ["trec-qrels"]
    (note,) = qrels_notes(path) if len(set(second)) > 1 else [""]
    assert all(value.casefold() in note for value in second) or not note
    assert [qrel.relevance for qrel in read_qrels(path)] == [0, 1, 2]


@pytest.mark.parametrize(
    "rows", [("bm25 1 P_5 0.4", "bm25 2 P_5 1"), ("bm25 1 num_ret 100", "bm25 all num_ret 200")]
)
def test_a_leaderboard_is_not_taken_for_qrels(rows, tmp_path):
    (tmp_path / "board.txt").write_text("\n".join(rows))
    assert "trec-qrels" not in [each.name for each in registry.candidates(tmp_path / "board.txt")]


def test_runs_round_trip(tmp_path):
    first, second = tmp_path / "first.run", tmp_path / "second.run.gz"
    rankings = [Ranking("r", "q1", ("b", "a"), (0.1 + 0.2, -1e-30)), Ranking("r", "q2", ("c",), (5.0,))]
    write_run(first, rankings)
    assert list(read_run(first)) == rankings
    write_run(second, read_run(first))
    assert list(read_run(second)) == rankings


@pytest.mark.parametrize("name", ["bm25.run", "judgments.qrels"])
def test_comments_are_skipped_as_trec_eval_10_does(name, tmp_path):
    (file_format,), rows = registry.candidates(FORMATS / name), (FORMATS / name).read_bytes().splitlines()
    commented = tmp_path / name
    commented.write_bytes(b"\n".join([b"# one", b"#" * 99, *rows, b"#t1 Q0 d2 9 1 bm25", b"#t1 0 d2 9", b""]))
    assert registry.candidates(commented) == [file_format]
    assert list(file_format.read(commented)) == list(file_format.read(FORMATS / name))


def test_many_comments_do_not_hide_a_run(tmp_path):
    path = tmp_path / "long.run"
    path.write_text("# a line of a long licence\n" * 200 + "q Q0 d 1 2.0 r\n")
    assert registry.recognise(path).name == "trec-run"


@pytest.mark.parametrize("text", ["# nothing else\n", "# a\n# b\n"])
def test_a_file_of_comments_has_no_format(text, tmp_path):
    (tmp_path / "comments.run").write_text(text)
    assert registry.candidates(tmp_path / "comments.run") == []
    for read in (read_run, read_qrels):
        with pytest.raises(BadFormat, match="all lines are comments, expected"):
            list(read(tmp_path / "comments.run"))


def test_a_topic_that_reads_as_a_comment_is_not_written(tmp_path):
    with pytest.raises(BadFormat, match="begins with #, which trec_eval 10 skips"):
        write_qrels(tmp_path / "a.qrels", [Qrel("#1", "d1", 1)])
    with pytest.raises(BadFormat, match="begins with #, which trec_eval 10 skips"):
        write_run(tmp_path / "a.run", [Ranking("r", "#1", ("d1",), (1.0,))])


def test_trec_eval_order_is_what_trec_eval_does():
    """Scores that only differ beyond single precision are ties, and ties go by descending id."""
    scores = (1.0, 1.0 + 1e-12, 1.0 + 1e-4, 1.0)
    ranking = Ranking("r", "q", ("d2", "d10", "\u00e9", "d1"), scores)
    order = trec_eval_order(ranking)
    assert order == ("\u00e9", "d2", "d10", "d1")
    run = dict(zip(ranking.doc_ids, ranking.scores, strict=True))
    for position, doc_id in enumerate(order, start=1):
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {doc_id: 1}}, {"recip_rank"})
        assert np.isclose(evaluator.evaluate({"q": run})["q"]["recip_rank"], 1 / position)
