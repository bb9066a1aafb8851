"""Ways to label LLMJudge's passages beside people's judgments: what each costs, and whether it orders runs.

    OPENBLAS_NUM_THREADS=1 python bench/llmjudge_panels.py FOLDER

FOLDER has the files of LLMJudge: `graded.jsonl.gz` (grades by FLAN-T5-large) and `runs/`. The members of the
panels are three ways to label a passage with that model: its highest grade over ten questions, and over ten
nuggets, one call each, and one call for a direct label. *Escalated* takes the direct label, and asks about
the questions only where it says 1 or 2 of 0 to 3. Weights are learned from judgments of topics in other
folds.

Printed of each: calls and input tokens a passage (a word is WORD_TOKENS, a prompt PROMPT_TOKENS, a passage at
most MOST_WORDS words), kappa with people on *relevant* (judged 2 or 3), Kendall's tau with the board by
judgments for nDCG@20 and P@20, and the pairs of runs that are clear by P@20 (`max_t.pairwise_p` over topics)
in the right direction and in the wrong one. The first line is of people. Then the effective number of judges.
"""
# ruff: noqa: E402 - the project is found before it is imported

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from bench.calibrated_labels import order_scores
from bench.human_minutes import DIRECT_LABELS, MIN_GRADE, Topic, llmjudge, outcome
from grading.statistics.agreement import cohen_kappa
from grading.statistics.panel import (
    PanelRule,
    cross_fitted_weights,
    effective_judges,
    fold_of,
    panel_rating,
)
from grading.statistics.rank_correlation import kendall

WORD_TOKENS, PROMPT_TOKENS, MOST_WORDS, ITEMS = 1.3, 100, 300, 10
MEMBERS = ("questions", "nuggets", "direct label")
UNSURE = DIRECT_LABELS[[1, 2]]
Labels = NDArray[np.int16]


class Way(NamedTuple):
    """A way to label passages."""

    name: str
    labels: Labels
    """Of all passages, 0 to 5."""
    calls: float
    """Calls a passage, on average."""


def main() -> None:
    folder = Path(sys.argv[1])
    topics, direct = llmjudge(folder)
    nuggets = nugget_labels(folder / "graded.jsonl.gz")
    query_ids = list(nuggets)
    place = np.repeat(np.arange(len(topics)), [len(topic.words) for topic in topics])
    people = DIRECT_LABELS[np.concatenate([topic.judged for topic in topics])].astype(np.int16)
    votes = np.column_stack(
        [
            np.concatenate([topic.ratings.max(axis=1).clip(0) for topic in topics]),
            np.concatenate(list(nuggets.values())),
            np.concatenate([topic.ratings[:, 0] for topic in direct]),
        ]
    ).astype(np.int16)
    errors = (votes - people[:, np.newaxis]).astype(np.float64)
    folds = np.array([fold_of(query_ids[topic]) for topic in place])
    weights = cross_fitted_weights(errors, folds)[folds]
    is_unsure = np.isin(votes[:, 2], UNSURE)
    ways = [
        Way("people", people, 0),
        Way(MEMBERS[0], votes[:, 0], ITEMS),
        Way(MEMBERS[1], votes[:, 1], ITEMS),
        Way(MEMBERS[2], votes[:, 2], 1),
        *(Way(f"panel, {rule}", panel(rule, votes, weights), 2 * ITEMS + 1) for rule in list(PanelRule)[:3]),
        Way("escalated", np.where(is_unsure, votes[:, 0], votes[:, 2]), 1 + ITEMS * float(is_unsure.mean())),
    ]
    words = np.concatenate([np.minimum(topic.words, MOST_WORDS) for topic in topics])
    tokens = PROMPT_TOKENS + WORD_TOKENS * float(words.mean())
    print(f"{len(people)} passages, {len(topics)} topics, {len(topics[0].ranked)} runs")
    print("way: calls, tokens a passage; kappa; tau of nDCG@20, of P@20; clear pairs right, wrong")
    for way in ways:
        kappa = agreement(way.labels, people)
        boards = [
            np.nan_to_num(order_scores(*by_topic(topics, place, of), measure, MIN_GRADE))
            for measure in ("ndcg_cut_20", "P_20")
            for of in (way.labels, people)
        ]
        tau = [kendall(boards[n].mean(axis=1), boards[n + 1].mean(axis=1)).value or 0.0 for n in (0, 2)]
        pairs = outcome(boards[2], boards[3])
        print(
            f"{way.name}: {way.calls:.1f}, {way.calls * tokens:.0f}; {kappa:.2f}; "
            f"{tau[0]:.2f}, {tau[1]:.2f}; {pairs.right:.0f}, {pairs.wrong:.0f}",
            flush=True,
        )
    worth = effective_judges(errors, place)
    low, high = worth.interval.low, worth.interval.high
    print(f"effective judges of {worth.judges}: {worth.effective:.2f} ({low:.2f} to {high:.2f})")


def nugget_labels(path: Path) -> dict[str, Labels]:
    """Return by topic the highest rating of each passage over the nuggets."""
    labels = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, passages = json.loads(line)
            labels[query_id] = np.array(
                [
                    max(
                        rating["self_rating"]
                        for grades in passage["exam_grades"]
                        if grades["prompt_info"]["prompt_class"] == "NuggetSelfRatedPrompt"
                        for rating in grades["self_ratings"]
                    )
                    for passage in passages
                ],
                dtype=np.int16,
            )
    return labels


def panel(rule: PanelRule, votes: Labels, weights: NDArray[np.float64]) -> Labels:
    """Return what a panel of the members says, one rating a passage."""
    rows = zip(votes.tolist(), weights.tolist(), strict=True)
    ratings = (panel_rating(rule, row, of_row) for row, of_row in rows)
    return np.array([rating.rating for rating in ratings if rating], dtype=np.int16)


def by_topic(
    topics: tuple[Topic, ...], place: NDArray[np.int64], labels: Labels
) -> tuple[list[NDArray[np.int32]], list[Labels]]:
    return [topic.ranked for topic in topics], [labels[place == number] for number in range(len(topics))]


def agreement(labels: Labels, people: Labels) -> float:
    """Return Cohen's kappa on whether a passage is relevant."""
    first, second = (of >= MIN_GRADE for of in (labels, people))
    table = np.array([[(first == a) & (second == b) for b in (False, True)] for a in (False, True)])
    return float(cohen_kappa(table.sum(axis=-1).astype(np.int64)))


if __name__ == "__main__":
    main()
