"""The measures for all runs at once, beside trec_eval itself."""

import numpy as np
import pytest

from grading.measures.ranked_labels import is_known, label_scores
from grading.measures.trec_eval import topic_scores

MEASURES = (
    "P_1", "P_5", "P_20", "P_100", "recall_5", "recall_100", "success_1", "success_5", "ndcg_cut_1",
    "ndcg_cut_10", "ndcg_cut_100", "ndcg", "map", "map_cut_5", "recip_rank",
    "Rprec", "bpref",
)  # fmt: skip


@pytest.mark.parametrize("level", [1, 2, 4])
@pytest.mark.parametrize("measure", MEASURES)
def test_they_are_trec_eval_s(measure, level):
    random = np.random.default_rng(level)
    for _ in range(20):
        ids = [f"d{number:02}" for number in range(40)]
        labels = {d: int(random.choice([-2, 0, 0, 1, 3, 5])) for d in random.choice(ids, 25, False)}
        rankings = [list(random.choice(ids, int(random.integers(0, 30)), False)) for _ in range(4)]
        runs = [{d: -float(rank) for rank, d in enumerate(ranking)} for ranking in rankings]
        ranked = np.full((4, 30), -1)
        for run, ranking in enumerate(rankings):
            ranked[run, : len(ranking)] = [labels.get(d, -1) for d in ranking]
        found = label_scores(ranked, np.array(list(labels.values())), measure, level=level)
        assert found.tolist() == pytest.approx(topic_scores(labels, runs, measure, level=level).tolist())


@pytest.mark.parametrize("labels", [{"d1": 4, "d2": 5}, {"d1": 0, "d2": 1}, {"d1": 4, "d2": 0, "d3": 0}])
def test_bpref_where_all_or_none_are_relevant(labels):
    ids = ["d3", "d0", "d2", "d1"]
    ranked = np.array([[labels.get(d, -1) for d in ids]])
    found = label_scores(ranked, np.array(list(labels.values())), "bpref", level=4)
    expected = topic_scores(labels, [{d: -float(rank) for rank, d in enumerate(ids)}], "bpref", level=4)
    assert found.tolist() == pytest.approx(expected.tolist())


def test_others_are_not_known():
    assert not is_known("infAP")
    assert not is_known("P_5x")
    with pytest.raises(ValueError, match="infAP is none"):
        label_scores(np.zeros((1, 1), int), np.zeros(1, int), "infAP")


@pytest.mark.parametrize("measure", MEASURES)
def test_runs_without_passages_score_zero(measure):
    assert label_scores(np.zeros((2, 0), int), np.array([1, 0]), measure).tolist() == [0, 0]
    assert label_scores(np.array([[0]]), np.array([0]), measure).tolist() == [0]
