"""alpha-nDCG: the tables of its paper by hand, and ndeval (pyndeval) on random topics."""

from math import log2

import numpy as np
import pyndeval
import pytest

from grading.measures.gain import alpha_ndcg
from grading.types import FAILED


def matrix(*passages):
    return np.array(passages, dtype=np.int8)


def rows(*rankings):
    return np.array(rankings, dtype=np.int32)


def test_the_example_of_the_paper():
    """Clarke et al. 2008, Tables 1 to 3: ten documents on six nuggets of question 85.

    The gain vector of a...j is 2, 1/2, 1/4, 0, 2, 1/2, 1, 1/4, 0, 0 and the ideal order is a-e-g-b-f-c-h-i-j.
    """
    nuggets = {
        "a": (2, 5), "b": (2,), "c": (2,), "d": (), "e": (1, 6),
        "f": (6,), "g": (3,), "h": (2,), "i": (), "j": (),
    }  # fmt: skip
    ratings = matrix(*([5 if n in found else 0 for n in range(1, 7)] for found in nuggets.values()))
    gains = [2, 1 / 2, 1 / 4, 0, 2, 1 / 2, 1, 1 / 8, 0, 0]
    ideal = [2, 2, 1, 1 / 2, 1 / 2, 1 / 4, 1 / 8, 0, 0, 0]

    for k in (1, 3, 5, 10):
        expected = discounted(gains[:k]) / discounted(ideal[:k])
        assert alpha_ndcg(ratings, rows(range(10)), cutoff=k).tolist() == pytest.approx([expected])


def discounted(gains):
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


@pytest.mark.parametrize("seed", range(6))
def test_random_topics_agree_with_ndeval(seed):
    random = np.random.default_rng(seed)
    passages, items, runs = 40, 8, 5
    ratings = random.choice(
        [FAILED, -1, 0, 3, 4, 5], p=[0.05, 0.05, 0.5, 0.15, 0.15, 0.1], size=(passages, items)
    )
    ranked = np.array([random.permutation(passages + 10)[:25] for _ in range(runs)])
    ranked[ranked >= passages] = -1
    qrels = [
        ("q", str(item), f"d{passage}", int(ratings[passage, item] >= 4))
        for passage in range(passages)
        for item in range(items)
    ]
    doc_ids = [f"d{passage}" for passage in range(passages)]
    for k in (5, 10, 20):
        found = alpha_ndcg(ratings.astype(np.int8), ranked.astype(np.int32), cutoff=k, doc_ids=doc_ids)
        evaluator = pyndeval.RelevanceEvaluator(qrels, [f"alpha-nDCG@{k}"], alpha=0.5)
        for run, ranking in enumerate(ranked.tolist()):
            names = [f"d{row}" if row >= 0 else f"outside{rank}" for rank, row in enumerate(ranking)]
            scored = [("q", name, float(100 - rank)) for rank, name in enumerate(names)]
            theirs = evaluator.evaluate(scored)["q"][f"alpha-nDCG@{k}"]
            assert found[run] == pytest.approx(theirs, abs=1e-5), k


def test_a_repeated_item_counts_half_each_time():
    ratings = matrix([4], [4], [4])

    expected = [1.0, (1 + 0.5 / log2(3)) / (1 + 0.5 / log2(3) + 0.25 / log2(4))]
    assert alpha_ndcg(ratings, rows([0, 1, 2], [0, 1, -1])).tolist() == pytest.approx(expected)


def test_undefined_without_anything_to_cover():
    assert np.isnan(alpha_ndcg(matrix([3, 0]), rows([0]))).all()
    assert np.isnan(alpha_ndcg(np.zeros((2, 0), np.int8), rows([0], [1]))).all()
    with pytest.raises(ValueError, match="expected 1 or more"):
        alpha_ndcg(matrix([4]), rows([0]), cutoff=0)


def test_a_run_that_covers_nothing_scores_zero():
    assert alpha_ndcg(matrix([4], [0]), rows([1, -1], [-1, -1])).tolist() == [0.0, 0.0]
