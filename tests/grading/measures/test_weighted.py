"""Weighted and Workbench cover, nugget scores: hand-worked tables and the tables of the papers."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from grading.measures.cover import (
    LabelMode,
    NuggetScore,
    cover,
    labels,
    nugget_score,
    support,
    weighted_cover,
    workbench_cover,
)
from grading.types import FAILED, MISSING, Importance

VITAL, OKAY, AVOID = Importance.VITAL, Importance.OKAY, Importance.AVOID

# TREMA-UNH at TREC RAG, Table 10: ten questions on one passage, by two models.
TABLE_10 = {"llama": [5, 5, 3, 5, 5, 5, 5, 5, 5, 4], "t5": [5, 5, 2, 4, 0, 0, 0, 4, 0, 2]}
# Table 11: a negative example, FLAN-T5, both attempts alike.
TABLE_11 = [0, 0, 2, 2, 0, 0, 0, 0, 0, 2]
# Table 12: what 19 sentences of "pilot-competitor" cover of ten questions, all with grade 4.
TABLE_12 = [(), (1,), (3, 5, 10), (), (), (10,), (), (), (3,), (), (), (), (), (), (), (1, 5), (), (), (3,)]


def matrix(*passages):
    return np.array(passages, dtype=np.int8)


def rows(*rankings):
    return np.array(rankings, dtype=np.int32)


@pytest.mark.parametrize(("model", "t1", "t4", "t5", "label"), [("llama", 10, 9, 8, 5), ("t5", 6, 4, 2, 5)])
def test_table_10(model, t1, t4, t5, label):
    ratings = matrix(TABLE_10[model])
    found = [cover(ratings, rows([0]), min_grade=t)[0] for t in (1, 4, 5)]
    assert found == [t1 / 10, t4 / 10, t5 / 10]
    assert labels(ratings).tolist() == [label]
    assert labels(ratings, mode=LabelMode.COUNT).tolist() == [t4]


def test_table_11_reaches_no_grade_of_4():
    ratings = matrix(TABLE_11)
    assert cover(ratings, rows([0])).tolist() == [0.0]
    assert cover(ratings, rows([0]), min_grade=1).tolist() == [0.3]
    assert labels(ratings).tolist() == [2]


def test_table_12_covers_four_of_ten():
    """Questions 1, 3, 5 and 10: the paper's 4/10."""
    ratings = matrix(*([4 if n in found else 0 for n in range(1, 11)] for found in TABLE_12))
    assert cover(ratings, rows(range(len(TABLE_12)))).tolist() == [0.4]
    assert int((labels(ratings, mode=LabelMode.BINARY) == 1).sum()) == 6, "six relevant passages, as it says"


def test_items_to_avoid_cost():
    """Weights 1, 0.5, -1: of 1.5 to gain, the second run covers 1 and pays 1."""
    ratings = matrix([4, 0, 0], [0, 5, 0], [0, 0, 4])
    ranked = rows([0, 1, -1], [0, 2, -1], [2, -1, -1])
    assert weighted_cover(ratings, ranked, [1, 0.5, -1]).tolist() == pytest.approx([1, 0, -1 / 1.5])


@given(arrays(np.int8, (4, 3), elements=st.integers(FAILED, 5)))
def test_equal_weights_are_plain_cover(ratings):
    ranked = rows([0, 1], [2, 3])
    assert weighted_cover(ratings, ranked, [0.5] * 3).tolist() == pytest.approx(
        cover(ratings, ranked).tolist()
    )


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, -0.5]])
def test_without_a_weight_above_zero_it_is_undefined(weights):
    assert np.isnan(weighted_cover(matrix([4, 4]), rows([0]), weights)).all()


def test_workbench_divides_by_the_rated_items():
    ratings = matrix([4, 0, MISSING, FAILED], [0, 3, MISSING, MISSING])
    assert cover(ratings, rows([0, 1])).tolist() == [0.25]
    assert workbench_cover(ratings, rows([0, 1])).tolist() == [0.5]
    assert workbench_cover(matrix([MISSING]), rows([0])).tolist() == [0.0], "no grades count 0"


def test_nugget_scores_by_hand():
    """Vital: support, partial, not. Okay: support, failed. To avoid: support."""
    nuggets = [(VITAL, 1.0), (VITAL, 1.0), (VITAL, 1.0), (OKAY, 0.5), (OKAY, 0.5), (AVOID, -1.0)]
    ratings = matrix([2, 1, 0, 0, FAILED, 0], [0, 0, 0, 2, FAILED, 2])
    supported = support(ratings, rows([0, 1]))
    found = {score: nugget_score(supported, nuggets, score).item() for score in NuggetScore}

    assert found == pytest.approx(
        {
            "strict_vital": 1 / 3,
            "strict_all": 2 / 5,
            "vital": 1.5 / 3,
            "all": 2.5 / 5,
            "weighted": (1 + 0.5 + 0.5 - 1) / 4,
            "strict_weighted": (1 + 0.5 - 1) / 4,
        }
    )


def test_the_weighted_score_of_the_paper():
    """W = (sum_V c + 0.5 sum_O c) / (|V| + 0.5 |O|)."""
    random = np.random.default_rng(3)
    given_credit = random.choice([0.0, 0.5, 1.0], size=(7, 12))
    vital = random.random(12) < 0.4
    nuggets = [(VITAL, 1.0) if is_vital else (OKAY, 0.5) for is_vital in vital]
    expected = [
        (credit[vital].sum() + 0.5 * credit[~vital].sum()) / (vital.sum() + 0.5 * (~vital).sum())
        for credit in given_credit
    ]
    assert nugget_score(given_credit, nuggets, NuggetScore.WEIGHTED).tolist() == pytest.approx(expected)


def test_an_empty_denominator_scores_zero():
    supported = np.ones((2, 1))
    assert nugget_score(supported, [(OKAY, 0.5)], NuggetScore.STRICT_VITAL).tolist() == [0, 0]
    assert nugget_score(np.ones((2, 0)), [], NuggetScore.ALL).tolist() == [0, 0]


def test_an_answer_supports_what_its_best_passage_does():
    ratings = matrix([1, 0], [2, MISSING], [0, FAILED])
    assert support(ratings, rows([0, 1], [0, 2], [-1, -1])).tolist() == [[1, 0], [0.5, 0], [0, 0]]
    assert support(ratings, rows([0, 1]), cutoff=1).tolist() == [[0.5, 0]]
    assert support(ratings, np.zeros((1, 0), np.int32)).tolist() == [[0, 0]]
