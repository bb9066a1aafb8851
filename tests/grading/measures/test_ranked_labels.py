"""Measures of labels: hand-worked values, and trec_eval's own C code beside them, by pytrec_eval."""

import subprocess
import sys
from math import log2
from textwrap import dedent

import numpy as np
import pytest
import pytrec_eval

from grading.errors import UnknownMeasure
from grading.measures import CUTOFF, NOT_POOLED, LabelMeasure, registry
from grading.measures.registry import label_scores, validate

LABELS = {"d1": 0, "d2": 3, "d3": 2, "d4": 4}
RUN = ("d1", "d2", "d3", "d5")
IDEAL = 4 + 3 / log2(3) + 2 / log2(4)
NUMBERS = {
    "K": ("1", "2", "5", "20", "100"),
    "X": ("0.00", "0.10", "0.25", "0.50", "0.75", "1.00"),
}
NAMES = [
    name
    for measure in registry.MEASURES
    if isinstance(measure, LabelMeasure) and measure.name not in ("recip_rank_cut", "judged")
    for name in (
        [
            f"{measure.name}_{number}"
            for number in NUMBERS[measure.number.symbol]
            if measure.number.spelled(number)
        ]
        if measure.number
        else [measure.name]
    )
]
"""Every measure of trec_eval, with several numbers where it takes one."""


def scores(labels, rankings, measure, *, level=1):
    """Ours, of rankings of doc ids."""
    depth = max(map(len, rankings), default=0)
    ranked = np.full((len(rankings), depth), NOT_POOLED, dtype=np.int16)
    for run, ranking in enumerate(rankings):
        ranked[run, : len(ranking)] = [labels.get(d, NOT_POOLED) for d in ranking]
    judged = np.array(list(labels.values()), dtype=np.int16)
    lengths = np.array([len(ranking) for ranking in rankings])
    return label_scores(ranked, judged, measure, lengths=lengths, level=level).tolist()


def trec_eval(labels, rankings, measure, *, level=1):
    """trec_eval's, which must not be asked about a topic without a label of 0 or more."""
    evaluator = pytrec_eval.RelevanceEvaluator({"q": labels}, {measure}, relevance_level=level)
    runs = [{d: -float(rank) for rank, d in enumerate(ranking)} for ranking in rankings]
    return [evaluator.evaluate({"q": run})["q"][measure] if run else 0.0 for run in runs]


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
        ("set_P", 1, 2 / 4),
        ("utility", 1, 0.0),
        ("iprec_at_recall_0.50", 1, 2 / 3),
    ],
)
def test_hand_worked_scores(measure, level, expected):
    assert scores(LABELS, [RUN], measure, level=level) == pytest.approx([expected])


@pytest.mark.parametrize("level", [1, 2, 4])
@pytest.mark.parametrize("measure", NAMES)
def test_every_measure_of_labels_is_trec_eval_s(measure, level):
    random = np.random.default_rng([level, *measure.encode()])
    ids = [f"d{number:02}" for number in range(40)]
    for _ in range(40):
        chosen = random.choice(ids, int(random.integers(1, 30)), False)
        labels = {d: int(random.choice([-2, -1, 0, 0, 1, 3, 5])) for d in chosen} | {"d00": 0}
        rankings = [list(random.choice(ids, int(random.integers(0, 31)), False)) for _ in range(4)]
        expected = trec_eval(labels, rankings, measure, level=level)
        assert scores(labels, rankings, measure, level=level) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", [{"d1": 4, "d2": 5}, {"d1": 0, "d2": 1}, {"d1": 4, "d2": 0, "d3": 0}])
@pytest.mark.parametrize("measure", NAMES)
def test_scores_where_all_or_none_are_relevant(measure, labels):
    rankings = [["d3", "d0", "d2", "d1"], ["d1", "d2"], ["d2"]]
    assert scores(labels, rankings, measure, level=4) == pytest.approx(
        trec_eval(labels, rankings, measure, level=4)
    )


@pytest.mark.parametrize("measure", NAMES)
def test_runs_without_passages_and_topics_without_relevant_ones_score_zero(measure):
    assert scores({"d1": 1, "d2": 0}, [(), ()], measure) == [0, 0]
    assert scores({"d1": 1}, [(), ("d1",)], measure)[0] == 0
    if measure != "utility":
        for labels in ({"d1": 0, "d2": 0}, {"d1": -1}, {"d1": -2, "d2": -1}, {}):
            assert scores(labels, [RUN], measure) == [0]


def test_utility_counts_passages_without_a_label_as_not_relevant():
    assert scores({"d1": -1, "d2": -2}, [RUN, ()], "utility") == [-4, 0]


EVERY_LABEL_SET = """
    import itertools, json, sys
    import numpy as np
    from grading.measures import registry
    from grading.measures import NOT_POOLED, GradedTopic, ItemMeasure, LabelMeasure
    from grading.measures.registry import label_scores
    from grading.types import Importance

    LABELS = (-2, -1, 0, 1, 3)
    sets = [labels for n in range(4) for labels in itertools.product(LABELS, repeat=n)]
    sets += [(32_767,), (-32_767,), (32_767, 1), (-32_767, -1), (3,) * 20_000, (-1,) * 20_000]
    counted = 0
    for measure in registry.MEASURES:
        if isinstance(measure, ItemMeasure):
            for rows, items in itertools.product((0, 1, 5), (0, 1, 3)):
                for rating in (-1, 0, 5):
                    ratings = np.full((rows, items), rating, dtype=np.int8)
                    ranked = np.full((2, rows), -1, dtype=np.int32)
                    ranked[0] = np.arange(rows)
                    topic = GradedTopic(ratings, ranked, ((Importance.VITAL, 1.0),) * items)
                    assert measure.scores(topic).shape == (2,)
            continue
        name = measure.name
        numbers = {None: [""], "K": ["_1", "_100000"], "X": ["_0.01", "_1.00"]}
        for suffix in numbers[measure.number.symbol if measure.number else None]:
            for labels in sets:
                judged = np.array(labels, dtype=np.int16)
                ranked = np.full((3, len(labels) + 1), NOT_POOLED, dtype=np.int16)
                ranked[0, 1:], ranked[1, :-1] = judged, judged
                lengths = np.array([len(labels) + 1, len(labels), 0])
                scores = label_scores(ranked, judged, name + suffix, lengths=lengths)
                assert scores.shape == (3,) and np.isfinite(scores).all() and scores[2] == 0, (name, labels)
                if name != "utility":
                    assert (scores >= 0).all() and (scores <= 1 + 1e-9).all(), (name, labels)
                counted += 1
    assert not [name for name in sys.modules if "pytrec_eval" in name]  # C code
    print(json.dumps(counted))
"""


def test_every_measure_ends_on_every_set_of_labels():
    """In a process of its own: what hangs in C or ends the interpreter would take the tests along."""
    script = dedent(EVERY_LABEL_SET)
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 3000


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
    assert scores({"d": 1}, [("d",)], name)[0] > 0


@pytest.mark.parametrize(
    "name",
    ["", "P", "P_0", "P_", "P_2.5", "P_20,30", "ndcg_cut", "ndcg@10", "MAP", "num_rel", "runid", "gm_map",
     "iprec_at_recall_2", "iprec_at_recall_1.5", f"P_{CUTOFF.highest + 1}", "P_" + "9" * 5000],
)  # fmt: skip
def test_unknown_measures_list_the_known_ones(name):
    with pytest.raises(UnknownMeasure, match=r"known are 11pt_avg, .*ndcg_cut_K.*iprec_at_recall_X"):
        validate(name)


def test_measures_of_items_are_no_measures_of_labels():
    with pytest.raises(UnknownMeasure, match="measure of items"):
        validate("rubric_cover")
    with pytest.raises(UnknownMeasure, match="measure of items"):
        scores({"d": 1}, [("d",)], "rubric_cover")
