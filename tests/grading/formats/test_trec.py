"""Qrels and runs."""

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from grading.errors import BadFormat
from grading.formats import registry
from grading.formats.trec import read_qrels, read_run, trec_eval_order, write_qrels, write_run
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


def test_equal_ranks_keep_the_file_s_order(tmp_path):
    path = tmp_path / "ties.run"
    path.write_text("q 0 b 1 1 r\nq 0 a 1 2 r\nq 0 c 0 3 r\n")
    assert next(read_run(path)).doc_ids == ("c", "b", "a")


def test_runs_round_trip(tmp_path):
    first, second = tmp_path / "first.run", tmp_path / "second.run.gz"
    rankings = [Ranking("r", "q1", ("b", "a"), (0.1 + 0.2, -1e-30)), Ranking("r", "q2", ("c",), (5.0,))]
    write_run(first, rankings)
    assert list(read_run(first)) == rankings
    write_run(second, read_run(first))
    assert list(read_run(second)) == rankings


@pytest.mark.parametrize("name", ["bm25.run", "judgments.qrels"])
def test_comments_are_skipped_as_trec_eval_10_does(name, tmp_path):
    (one,), rows = registry.candidates(FORMATS / name), (FORMATS / name).read_bytes().splitlines()
    commented = tmp_path / name
    commented.write_bytes(b"\n".join([b"# one", b"#" * 99, *rows, b"#t1 Q0 d2 9 1 bm25", b"#t1 0 d2 9", b""]))
    assert registry.candidates(commented) == [one]
    assert list(one.read(commented)) == list(one.read(FORMATS / name))


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
