"""Names of measures in ir_measures' spelling beside ours, and the values that they stand for."""

from dataclasses import replace

import ir_measures
import numpy as np
import pytest
import pytrec_eval

from grading.errors import UnknownMeasure
from grading.measures import NOT_POOLED, registry
from grading.measures.names import MeasureName, in_ir_measures, parse, split

MADE = {
    "judged": {"d1": 0, "d2": 3, "d3": 2, "d4": 4, "d5": 1},
    "runs": [("x1", "d1", "d2", "x2", "d3", "d5"), ("d4", "x1", "d2"), ("x1",), ()],
}


def scores_of(name, judged=MADE["judged"], runs=MADE["runs"]):
    """Return the scores of rankings of doc ids by the measure of that name."""
    named = parse(name)
    ranked = np.full((len(runs), max(map(len, runs))), NOT_POOLED, dtype=np.int16)
    for row, run in enumerate(runs):
        ranked[row, : len(run)] = [judged.get(doc_id, NOT_POOLED) for doc_id in run]
    labels = np.array(list(judged.values()), dtype=np.int16)
    return registry.label_scores(
        ranked,
        labels,
        named.name,
        lengths=np.array([len(run) for run in runs]),
        level=named.relevant or 1,
        is_judged_only=named.is_judged_only,
    ).tolist()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nDCG", MeasureName("ndcg")),
        ("nDCG@10", MeasureName("ndcg_cut_10")),
        ("AP", MeasureName("map", relevant=1)),
        ("AP(rel=4)", MeasureName("map", relevant=4)),
        ("AP(rel=2)@100", MeasureName("map_cut_100", relevant=2)),
        ("P(rel=2)@20", MeasureName("P_20", relevant=2)),
        ("R@100", MeasureName("recall_100", relevant=1)),
        ("RR(rel=3)", MeasureName("recip_rank", relevant=3)),
        ("RR@10", MeasureName("recip_rank_cut_10", relevant=1)),
        ("Rprec(rel=2)", MeasureName("Rprec", relevant=2)),
        ("Bpref(rel=2)", MeasureName("bpref", relevant=2)),
        ("infAP(rel=2)", MeasureName("infAP", relevant=2)),
        ("Success(rel=2)@5", MeasureName("success_5", relevant=2)),
        ("IPrec(rel=2)@.1", MeasureName("iprec_at_recall_0.10", relevant=2)),
        ("SetP", MeasureName("set_P", relevant=1)),
        ("SetR", MeasureName("set_recall", relevant=1)),
        ("SetF(beta=1)", MeasureName("set_F", relevant=1)),
        ("SetAP(rel=2)", MeasureName("set_map", relevant=2)),
        ("Judged@10", MeasureName("judged_10")),
        ("alpha_nDCG(alpha=.5,rel=4)@20", MeasureName("alpha_ndcg", 20, 4, 0)),
        ("StRecall@20", MeasureName("normalised_cover", 20, 1, 0)),
        ("ERR_IA(rel=4)@10", MeasureName("err_ia", 10, 4, 0)),
        ("NRBP(alpha=.5,beta=0.5)", MeasureName("nrbp", 20, 1, 0)),
        ("P(judged_only=True)@5", MeasureName("P_5", relevant=1, is_judged_only=True)),
        ("nDCG(dcg='log2')@5", MeasureName("ndcg_cut_5")),
        ("MRR(cutoff=10)", MeasureName("recip_rank_cut_10", relevant=1)),
    ],
)
def test_names_of_ir_measures(name, expected):
    parsed = parse(name)
    assert parsed == replace(expected, spelling=name)


def test_blanks_are_free_and_commas_between_brackets_part_nothing():
    assert split("P ( rel = 2 , judged_only = True ) @ 20, cover-4 AP") == (
        "P(rel=2,judged_only=True)@20",
        "cover-4",
        "AP",
    )
    assert parse(" P (rel = 2) @ 20 ").spelling == "P(rel=2)@20"
    assert split("nDCG(gains={0:1,1:2})@5 AP(") == ("nDCG(gains={0:1,1:2})@5", "AP(")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nDCG10", "no measure 'nDCG10'; the nearest is nDCG@10; known are"),
        ("P@", "no number after @; the nearest is P@10"),
        ("P", "P needs a cutoff; the nearest is P@10"),
        ("AP(4)", r"4 has no name, expected one such as rel=2; the nearest is AP\(rel=4\)"),
        ("AP(rel=x)", r"rel is x, expected a whole number; the nearest is AP\(rel=1\)"),
        ("AP(rel=)", r"rel is empty, expected a whole number; the nearest is AP\(rel=1\)"),
        ("AP(rel=0)", "rel is 0, expected 1 or more"),
        ("AP(level=2)", "no argument level here, expected of rel, judged_only; the nearest is AP"),
        ("Bpref@10", "Bpref takes no cutoff; the nearest is Bpref"),
        ("ndcg@10", "has its cutoff in its name, as P_20 has; the nearest is nDCG@10"),
        ("precision", "no measure 'precision'; the nearest is P@10"),
        ("P@20:5", "no cutoff 20:5 of P; the nearest is P@10"),
        ("ERR@20", "ERR@20 is not computed here; the nearest is nDCG@20"),
        ("RBP(p=.8)", r"RBP\(p=.8\) is not computed here; the nearest is nDCG"),
        ("nDCG(dcg='exp-log2')@10", "dcg is 'exp-log2', expected log2, the only one .* nearest is nDCG@10"),
        ("nDCG(gains={0:1,1:2})@10", "no argument gains here, .* the nearest is nDCG@10"),
        ("alpha_nDCG(alpha=.9)@10", "alpha is .9, expected 0.5, .* the nearest is alpha_nDCG@10"),
        ("alpha_nDCG(rel=9)@10", "grades count from 1 to 5"),
        ("ERR_IA", "ERR_IA needs a cutoff; the nearest is ERR_IA@10"),
        ("NRBP@10", "NRBP takes no cutoff; the nearest is NRBP"),
        ("NRBP(beta=.8)", "beta is .8, expected 0.5, .* the nearest is NRBP"),
        ("nERR_IA@5", "nERR_IA@5 is not computed here; the nearest is ERR_IA@5"),
        ("nNRBP", "nNRBP is not computed here; the nearest is NRBP"),
        ("NumRet", "is a count, which ranks no runs"),
        ("P(rel=2@10", "is no measure; the nearest is P@10"),
    ],
)
def test_what_is_no_name_offers_the_nearest(name, problem):
    with pytest.raises(UnknownMeasure, match=problem):
        parse(name)


@pytest.mark.parametrize(
    "name",
    ["nDCG@10", "AP", "AP(rel=4)", "P(rel=2)@20", "RR@10", "RR(rel=2)", "Rprec(rel=2)", "IPrec(rel=2)@0.1",
     "SetF", "SetRelP", "Judged@10", "alpha_nDCG(rel=4)@20", "StRecall(rel=3)@20", "P(judged_only=True)@5",
     "ERR_IA(rel=4)@10", "NRBP(rel=3)"],
)  # fmt: skip
def test_a_name_and_the_one_that_files_have_are_the_same(name):
    named = parse(name)
    values = {"cutoff": named.cutoff or 20, "min_grade": named.min_grade or 4, "level": named.relevant or 1}
    assert in_ir_measures(named.name, **values, is_judged_only=named.is_judged_only) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("RR@2", [0, 1, 0, 0]),
        ("RR@3", [1 / 3, 1, 0, 0]),
        ("RR(rel=4)@3", [0, 1, 0, 0]),
        ("Judged@3", [2 / 3, 2 / 3, 0, 0]),
        ("Judged@10", [4 / 6, 2 / 3, 0, 0]),
        ("P(judged_only=True)@2", [1 / 2, 1, 0, 0]),
        ("RR(judged_only=True)@2", [1 / 2, 1, 0, 0]),
        ("SetP(judged_only=True)", [3 / 4, 1, 0, 0]),
    ],
)
def test_hand_worked_scores_of_what_trec_eval_does_not_have(name, expected):
    assert scores_of(name) == pytest.approx(expected)


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "P@3", "R@3", "Rprec", "Success@2", "SetF", "IPrec@0.5"])
def test_judged_only_is_trec_eval_s(measure):
    """pytrec_eval with its flag for judged documents is what ir_measures calls."""
    head, at, cutoff = measure.partition("@")
    name = f"{head}(judged_only=True){at}{cutoff}"
    random = np.random.default_rng(7)
    ids = [f"d{number:02}" for number in range(30)]
    for _ in range(25):
        judged = {d: int(random.integers(0, 4)) for d in random.choice(ids, 15, False)}
        runs = [tuple(random.choice(ids, int(random.integers(1, 20)), False)) for _ in range(3)]
        ours = parse(name).name
        evaluator = pytrec_eval.RelevanceEvaluator({"q": judged}, {ours}, judged_docs_only_flag=1)
        expected = [
            evaluator.evaluate({"q": {d: -float(rank) for rank, d in enumerate(run)}})["q"][ours]
            for run in runs
        ]
        assert scores_of(name, judged, runs) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        *(ir_measures.nDCG @ 3, ir_measures.AP(rel=2), ir_measures.P(rel=2) @ 3, ir_measures.RR @ 2),
        *(ir_measures.RR(rel=2) @ 3, ir_measures.Judged @ 3, ir_measures.Bpref, ir_measures.R(rel=3) @ 2),
    ],
    ids=str,
)
def test_scores_are_those_of_ir_measures(measure):
    """Their parser of names asks `ast` for what newer Pythons lack: measures are given as objects."""
    runs = MADE["runs"][:3]
    for run, ours in zip(runs, scores_of(str(measure), runs=runs), strict=True):
        ranked = {"q": {doc_id: -float(rank) for rank, doc_id in enumerate(run)}}
        theirs = measure.calc_aggregate({"q": MADE["judged"]}, ranked)
        assert ours == pytest.approx(theirs, abs=1e-12)
