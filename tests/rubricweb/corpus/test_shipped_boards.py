"""Official leaderboards that come with the product: what each says of itself, and its numbers."""

from pathlib import Path

import pytest

from grading.formats.official import read_official
from grading.statistics.rank_intervals import competition_ranks
from rubricweb.corpus.official import FOLDER, board_file, shipped_at, shipped_boards

RUNS = {
    "car-y3": (16, "dangnt-nlp", 1),
    "dl19-documents": (38, "idst_bert_v3", 0.7257),
    "dl19-passages": (37, "idst_bert_p1", 0.7645),
    "dl20-documents": (64, "d_d2q_duo", 0.6934),
    "dl20-passages": (59, "pash_r3", 0.8031),
    "rag24-support-precision": (45, "IITD-IRL.ag_rag_gpt35_expansion_rrf_20", 0.793074),
    "rag24-support-recall": (45, "IITD-IRL.ag_rag_gpt35_expansion_rrf_20", 0.793074),
}
PRINTED = {
    "pash_f3": 3,
    "bigIR-T5xp-T5-F": 27,
    "TUW-TK-2Layer": 34,
    "terrier-InL2": 44,
    "terrier-BM25": 45,
    "indri-lmds": 47,
    "p_bm25rm3": 49,
    "terrier-DPH": 52,
    "TF_IDF_d_2_t_50": 53,
    "DoRA_Large": 59,
}
"""Official ranks of DL 2020 in Table 4 of the Workbench's paper and of RUBRIC's."""


@pytest.mark.parametrize("slug", RUNS)
def test_each_board_has_its_runs_with_a_source(slug):
    board = shipped_boards()[slug]
    read, (n_runs, best, value) = read_official(board.path), RUNS[slug]
    values, first = read.values, min if read.kind == "ranks" else max
    assert (len(values), first(values, key=values.__getitem__)) == (n_runs, best)
    assert values[best] == value
    assert board.run_tags == values.keys()
    assert len(board.name) <= 80
    assert "NIST" in board.source
    assert " at " in board.source


def test_there_are_no_others():
    assert list(shipped_boards()) == list(RUNS)


@pytest.mark.parametrize("slug", [slug for slug in RUNS if slug != "car-y3"])
def test_the_ranks_in_a_file_are_those_of_its_scores(slug):
    lines = [line.split("\t") for line in shipped_boards()[slug].path.read_text().splitlines()[4:]]
    ranks = {run_tag: float(rank) for run_tag, _, rank in lines}
    assert ranks == competition_ranks({run_tag: float(score) for run_tag, score, _ in lines})


def test_tied_runs_of_a_board_without_scores_have_their_mean_rank():
    ranks = read_official(shipped_boards()["car-y3"].path).values
    assert sorted(ranks.values()) == [1, 2, 3, 5, 5, 5, 7.5, 7.5, *range(9, 17)]


def test_ranks_are_those_that_papers_print():
    ranks = competition_ranks(read_official(shipped_boards()["dl20-passages"].path).values)
    assert {run_tag: ranks[run_tag] for run_tag in PRINTED} == PRINTED


def test_a_slug_names_a_file_unless_there_is_one_of_that_name(tmp_path, monkeypatch):
    assert board_file("dl20-passages") == FOLDER / "dl20-passages.tsv"
    assert board_file("mine.tsv") == Path("mine.tsv")
    assert shipped_at(Path("dl20-passages.tsv")) is None
    monkeypatch.chdir(tmp_path)
    Path("dl20-passages").write_text("run_tag\tscore\nbm25\t1\n")
    assert board_file("dl20-passages") == Path("dl20-passages")
