"""ERR-IA, NRBP and D#-nDCG: by hand, and the first two beside ndeval (pyndeval) on random topics."""

from math import log2

import numpy as np
import pyndeval
import pytest

from grading.measures.intents import d_sharp_ndcg, err_ia, nrbp
from grading.measures.names import in_ir_measures
from grading.types import FAILED

MEASURES = err_ia, nrbp, d_sharp_ndcg


def matrix(*passages):
    return np.array(passages, dtype=np.int8)


def rows(*rankings):
    return np.array(rankings, dtype=np.int32)


WORKED = matrix([4, 0, 5, 0], [4, 3, 0, 0], [0, 4, 0, 0])
"""Passages that cover items 1 and 3, item 1, and item 2 at grade 4; nothing covers item 4."""
RANKED = rows([0, 1, 2], [2, -1, 1])


def test_err_ia_by_hand():
    """Gains 2, 1/2, 1 and 1, 0, 1; the most of three passages on three items is 3 + 3/4 + 3/12."""
    found = err_ia(WORKED, RANKED, cutoff=3)
    assert found.tolist() == pytest.approx([(2 + 1 / 4 + 1 / 3) / 4, (1 + 1 / 3) / 4])
    assert err_ia(WORKED, RANKED, cutoff=1).tolist() == pytest.approx([2 / 3, 1 / 3])


def test_nrbp_by_hand():
    """The same gains at 1, 1/2 and 1/4; the most is 3 / (1 - 1/4) = 4."""
    found = nrbp(WORKED, RANKED)
    assert found.tolist() == pytest.approx([(2 + 1 / 4 + 1 / 4) / 4, (1 + 1 / 4) / 4])


def test_d_sharp_ndcg_by_hand():
    """Gains 9, 4 and 4 (a rating of 3 gains nothing); 2 of 3, and 1 of 3, items within two passages."""
    found = d_sharp_ndcg(WORKED, RANKED, cutoff=2)
    ideal = 9 + 4 / log2(3)
    assert found.tolist() == pytest.approx([(2 / 3 + 1) / 2, (1 / 3 + 4 / ideal) / 2])


def test_d_sharp_ndcg_sees_how_well_an_item_is_covered():
    ratings = matrix([3], [5])
    found = d_sharp_ndcg(ratings, rows([0, 1], [1, 0]), min_grade=1)
    assert found.tolist() == pytest.approx([(1 + (3 + 5 / log2(3)) / (5 + 3 / log2(3))) / 2, 1])


@pytest.mark.parametrize("seed", range(4))
def test_random_topics_agree_with_ndeval(seed):
    random = np.random.default_rng(seed)
    passages, items, runs = 40, 8, 5
    ratings = random.choice(
        [FAILED, -1, 0, 3, 4, 5], p=[0.05, 0.05, 0.5, 0.15, 0.15, 0.1], size=(passages, items)
    ).astype(np.int8)
    ratings[:, 0] = 0  # an item that nothing covers
    ranked = np.array([random.permutation(passages + 10)[:25] for _ in range(runs)], dtype=np.int32)
    ranked[ranked >= passages] = -1
    qrels = [
        ("q", str(item), f"d{passage}", int(ratings[passage, item] >= 4))
        for passage in range(passages)
        for item in range(items)
    ]
    ours = {f"ERR-IA@{k}": err_ia(ratings, ranked, cutoff=k) for k in (5, 10, 20)} | {
        "NRBP": nrbp(ratings, ranked)
    }
    evaluator = pyndeval.RelevanceEvaluator(qrels, list(ours), alpha=0.5, beta=0.5)
    for run, ranking in enumerate(ranked.tolist()):
        names = [f"d{row}" if row >= 0 else f"outside{rank}" for rank, row in enumerate(ranking)]
        theirs = evaluator.evaluate([("q", name, float(100 - rank)) for rank, name in enumerate(names)])["q"]
        assert {name: scores[run] for name, scores in ours.items()} == pytest.approx(theirs, abs=2e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_undefined_without_anything_to_cover(measure):
    assert np.isnan(measure(matrix([3, 0]), rows([0]))).all()
    assert np.isnan(measure(np.zeros((2, 0), np.int8), rows([0], [1]))).all()
    with pytest.raises(ValueError, match="expected 1 or more"):
        measure(matrix([4]), rows([0]), cutoff=0)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_run_that_covers_nothing_scores_zero_and_the_best_one_one(measure):
    assert measure(matrix([4], [0]), rows([1, -1], [-1, -1])).tolist() == [0.0, 0.0]
    whole = measure(matrix(*[[5, 5]] * 30), rows(range(30)))
    assert whole.tolist() == pytest.approx([1.0], abs=1e-6)


def test_nrbp_of_a_few_passages_has_no_name_in_ir_measures():
    assert in_ir_measures("nrbp", cutoff=5, min_grade=1, level=1) == ""
    assert in_ir_measures("nrbp", cutoff=20, min_grade=1, level=1) == "NRBP"
