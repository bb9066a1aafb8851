"""trec_eval's measures: hand-worked values, and pytrec_eval called directly on whole qrels and runs."""

from math import log2

import numpy as np
import pytest
import pytrec_eval

from grading.errors import UnknownMeasure
from grading.measures.base import CUTOFF
from grading.measures.trec_eval import topic_scores, validate

LABELS = {"d1": 0, "d2": 3, "d3": 2, "d4": 4}
RUN = {"d1": 4.0, "d2": 3.0, "d3": 2.0, "d5": 1.0}
IDEAL = 4 + 3 / log2(3) + 2 / log2(4)
WHOLE = (
    "ndcg_cut_10",
    "ndcg",
    "P_20",
    "map",
    "recip_rank",
    "Rprec",
    "recall_100",
    "bpref",
    "success_5",
    "11pt_avg",
    "iprec_at_recall_0.10",
    "set_F",
    "infAP",
    "G",
    "binG",
    "ndcg_rel",
    "set_relative_P",
    "utility",
    "Rprec_mult_0.50",
)


@pytest.mark.parametrize(
    ("measure", "level", "expected"),
    [
        ("P_4", 1, 2 / 4),
        ("P_4", 3, 1 / 4),
        ("P_20", 1, 2 / 20),
        ("map", 1, (1 / 2 + 2 / 3) / 3),
        ("map", 3, (1 / 2) / 2),
        ("recip_rank", 1, 1 / 2),
        ("recip_rank", 4, 0.0),
        ("Rprec", 1, 2 / 3),
        ("Rprec", 3, 1 / 2),
        ("recall_2", 1, 1 / 3),
        ("ndcg_cut_3", 1, (3 / log2(3) + 2 / log2(4)) / IDEAL),
        ("ndcg_cut_3", 4, (3 / log2(3) + 2 / log2(4)) / IDEAL),
        ("ndcg_cut_1", 1, 0.0),
        ("success_1", 1, 0.0),
    ],
)
def test_hand_worked(measure, level, expected):
    assert topic_scores(LABELS, [RUN], measure, level=level).tolist() == pytest.approx([expected])


def test_a_run_without_the_topic_scores_zero():
    assert topic_scores(LABELS, [None, {}, RUN], "P_4").tolist() == [0.0, 0.0, 0.5]
    assert topic_scores({}, [RUN], "map").tolist() == [0.0]


@pytest.mark.parametrize("measure", [name for name in WHOLE if name != "utility"])
def test_a_topic_without_relevant_passages_scores_zero(measure):
    assert topic_scores({"d1": 0, "d2": 0}, [RUN], measure).tolist() == [0.0]


def test_trec_eval_breaks_ties_by_descending_id():
    assert topic_scores({"a": 1}, [{"a": 1.0, "b": 1.0}], "recip_rank").tolist() == [0.5]
    assert topic_scores({"b": 1}, [{"a": 1.0, "b": 1.0}], "recip_rank").tolist() == [1.0]


@pytest.mark.parametrize("level", [1, 2, 4])
def test_whole_collections_agree_with_pytrec_eval(level):
    random = np.random.default_rng(7)
    ids = [f"d{number}" for number in range(60)]
    qrels = {
        f"q{n}": {d: int(random.choice([0, 0, 1, 3, 5])) for d in random.choice(ids, 40, False)}
        for n in range(6)
    }
    runs = [
        {
            q: {d: float(random.integers(0, 9)) for d in random.choice(ids, 30, False)}
            for q in list(qrels)[:-1]
        }
        for _ in range(4)
    ]
    for measure in WHOLE:
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {measure}, relevance_level=level)
        ours = {q: topic_scores(qrels[q], [run.get(q) for run in runs], measure, level=level) for q in qrels}
        for number, run in enumerate(runs):
            theirs = evaluator.evaluate(run)
            expected = [theirs[q][measure] if q in run else 0.0 for q in qrels]
            assert [ours[q][number] for q in qrels] == pytest.approx(expected), measure


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("ndcg_cut_10", "ndcg_cut_10"),
        ("ndcg_cut.10", "ndcg_cut_10"),
        ("P.20", "P_20"),
        ("P_05", "P_5"),
        ("map", "map"),
        ("map_cut_100", "map_cut_100"),
        ("iprec_at_recall.0.1", "iprec_at_recall_0.10"),
        ("iprec_at_recall_1", "iprec_at_recall_1.00"),
        ("Rprec_mult.0.5", "Rprec_mult_0.50"),
        (f"P_{CUTOFF.highest}", f"P_{CUTOFF.highest}"),
    ],
)
def test_both_spellings_of_a_measure(name, canonical):
    assert validate(name) == canonical
    assert topic_scores({"d": 1}, [{"d": 1.0}], name)[0] > 0


@pytest.mark.parametrize(
    "name",
    ["", "P", "P_0", "P_", "P_2.5", "P_20,30", "ndcg_cut", "ndcg@10", "MAP", "num_rel", "runid", "gm_map",
     "iprec_at_recall_2", "iprec_at_recall_1.5", f"P_{CUTOFF.highest + 1}", "P_" + "9" * 5000],
)  # fmt: skip
def test_unknown_measures_list_the_known_ones(name):
    with pytest.raises(UnknownMeasure, match=r"known are 11pt_avg, .*ndcg_cut_K.*iprec_at_recall_X"):
        validate(name)
