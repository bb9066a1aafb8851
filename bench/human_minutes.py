"""What minutes of people's work buy, by the order in which they rate: clear pairs of runs, and Kendall's tau.

A rating takes SECONDS, and each passage is read once, at WORDS_A_MINUTE, up to MOST_WORDS of it (some of
LLMJudge have 20,000). Cells are taken in an order until the minutes are over. The board of what was rated is
compared with that of all judgments: tau between the orders of runs, and how many pairs of runs are clear
(`max_t.pairwise_p` over topics, at most ALPHA), in the right direction or in the wrong one.

What is rated follows from the judgments 0 to 3 of passages:

- cells, an item and a passage each, for a board of Rubric-Cover. LLMJudge has no ratings of cells by people,
  so they are drawn: people reach the threshold with a chance of REACHED, by the passage's judgment, where the
  grader does, and of MISSED elsewhere. The board of all judgments has all ratings so drawn.
- cells without misses: people reach the threshold where the grader does and the passage is judged relevant.
- passages, for a board of P@20: the judgment itself is the rating, from MIN_RELEVANT on, and the grader's is
  its direct label.

Two boards are compared: of people only, where what nobody rated counts as 0; and of the grader corrected by
people, where it keeps the grader's rating. The orders:

- random: all cells of the pool by lot;
- pools: passages by their best rank in any run, all their cells together;
- uncertainty: by `ordering.flip_chances`, as this grader reports no confidence;
- expected change: `ordering.by_leaderboard`, with a fifth by lot as in campaigns;
- sample: `cover_sample`, the cells for estimates of people's scores;
- default: `ordering.by_rank`, with a fifth by lot.

    python bench/human_minutes.py [FOLDER [--write]] [--seeds 10]

FOLDER has the files of LLMJudge: `graded.jsonl.gz` (Workbench, judgments, texts) and `runs/`. Without it a
collection of the same shape is made up. `--write` rewrites a section of docs/certainty.md and its figure.
"""
# ruff: noqa: E402 - Django comes up before its models are imported

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rubricweb.settings")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import django
import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

django.setup()

from bench._certainty import Row, report
from bench._curves import curves_svg
from bench.estimated_cover import PROMPT, made_up
from grading.formats.trec import read_run
from grading.measures.cover import covered_items
from grading.statistics.cover_sample import Ranked, cover_sample
from grading.statistics.max_t import ALPHA, pairwise_p
from rubricweb.campaigns import ordering
from rubricweb.campaigns.ordering import Cells

SECONDS, WORDS_A_MINUTE, MOST_WORDS = 15, 240, 480
MINUTES = (15, 30, 60, 120, 240, 480)
REPORTED, REQUIRED = 120, 1.5
REACHED, MISSED = np.array([[0.35, 0.6, 0.8, 0.9], [0.003, 0.01, 0.04, 0.1]])
CUTOFF, MIN_GRADE, MIN_RELEVANT = 20, 4, 2
RANDOM_SHARE = 0.2
SAMPLED = 2_500  # more cells than a day has time for
DIRECT_LABELS = np.array([0, 3, 4, 5], dtype=np.int8)
"""A direct label 0 to 3 as a rating that reaches MIN_GRADE where it reaches MIN_RELEVANT."""
FIGURE = ROOT / "docs" / "img" / "human-minutes.svg"

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class Topic:
    """Ratings of shape (passages, items) by the grader; `ranked` has the runs' passages as rows, or -1."""

    ratings: NDArray[np.int8]
    ranked: NDArray[np.int32]
    judged: NDArray[np.int16]
    words: NDArray[np.int64]

    @property
    def high(self) -> Mask:
        return np.asarray(self.ratings >= MIN_GRADE)

    @property
    def top(self) -> NDArray[np.int32]:
        return self.ranked[:, :CUTOFF]


@dataclass(frozen=True, eq=False)
class Work:
    """What people rate. Cells have one number each, topic after topic, passage after passage."""

    name: str
    topics: tuple[Topic, ...]
    rated: Callable[[Topic, Random], Mask]
    """Whether people reach the threshold, by passage and item."""
    scored: Callable[[Mask, Topic], Floats]
    """The score of each run."""

    @cached_property
    def starts(self) -> list[int]:
        """The number of each topic's first cell, and how many cells there are."""
        return np.cumsum([0, *(topic.ratings.size for topic in self.topics)]).tolist()

    @cached_property
    def passages(self) -> Places:
        """By cell: the number of its passage."""
        sizes = [np.full(len(topic.words), topic.ratings.shape[1]) for topic in self.topics]
        repeats = np.concatenate(sizes)
        return np.repeat(np.arange(len(repeats)), repeats)

    @cached_property
    def reading(self) -> Floats:
        """By passage: seconds."""
        words = np.concatenate([topic.words for topic in self.topics])
        return np.asarray(np.minimum(words, MOST_WORDS) * 60 / WORDS_A_MINUTE)

    def all_cells(self, of_topic: Callable[[Topic], NDArray[np.generic]]) -> NDArray[np.generic]:
        """Join arrays of shape (passages, items), or that broadcast to it, in the order of the cells."""
        return np.concatenate([np.broadcast_to(of_topic(t), t.ratings.shape).ravel() for t in self.topics])

    def scores(self, reached: Mask) -> Floats:
        """Return an array of shape (runs, topics) from cells that reach the threshold."""
        parts = [
            reached[start : start + topic.ratings.size].reshape(topic.ratings.shape)
            for topic, start in zip(self.topics, self.starts, strict=False)
        ]
        return np.stack([self.scored(p, t) for p, t in zip(parts, self.topics, strict=True)], axis=1)

    def within(self, order: Places, minutes: float) -> Places:
        """Return the beginning of the order that takes so many minutes."""
        passages = self.passages[order]
        is_first = np.zeros(len(order), dtype=np.bool_)
        is_first[np.unique(passages, return_index=True)[1]] = True
        spent = np.cumsum(SECONDS + is_first * self.reading[passages])
        return order[: np.searchsorted(spent, minutes * 60, side="right")]


def by_lot(work: Work, seed: int) -> Places:
    return np.random.default_rng(seed).permutation(work.starts[-1])


def pools(work: Work, seed: int) -> Places:
    lot = np.random.default_rng(seed).permutation(len(work.reading))
    return np.asarray(np.lexsort((work.passages, lot[work.passages], work.all_cells(_best_ranks))))


def _best_ranks(topic: Topic) -> NDArray[np.int64]:
    depth = topic.ranked.shape[1]
    best = np.full(len(topic.words) + 1, depth)
    np.minimum.at(best, topic.ranked, np.broadcast_to(np.arange(depth), topic.ranked.shape))
    return best[:-1, np.newaxis]


def uncertainty(work: Work, seed: int) -> Places:
    return _drawn(work, work.all_cells(_flip_chances), seed, random_share=0.0)


def expected_change(work: Work, seed: int) -> Places:
    means = work.scores(work.all_cells(lambda topic: topic.high)).mean(axis=1)

    def scores(topic: Topic) -> Floats:
        return ordering.by_leaderboard(_cells(topic), _flip_chances(topic), means, len(work.topics)).scores

    return _drawn(work, work.all_cells(scores), seed)


def default(work: Work, seed: int) -> Places:
    return _drawn(work, work.all_cells(lambda topic: ordering.by_rank(_cells(topic), topic.top)), seed)


def sample(work: Work, seed: int) -> Places:
    ranked = [Ranked(topic.high, topic.top) for topic in work.topics]
    drawn = cover_sample(ranked, size=SAMPLED, seed=seed)
    width = [topic.ratings.shape[1] for topic in work.topics]
    return np.array([work.starts[c.topic] + c.row * width[c.topic] + c.column for c in drawn])


def _drawn(work: Work, scores: Floats, seed: int, *, random_share: float = RANDOM_SHARE) -> Places:
    return ordering.draw(scores, size=work.starts[-1], random_share=random_share, seed=seed).places


def _cells(topic: Topic) -> Cells:
    in_top = np.zeros((len(topic.ranked), len(topic.words) + 1), dtype=np.bool_)
    np.put_along_axis(in_top, topic.top.astype(np.int64), True, axis=1)
    confidence = np.full(topic.ratings.shape, np.nan)
    return Cells(topic.ratings, confidence, (), topic.judged, in_top[:, :-1], MIN_RELEVANT, MIN_GRADE)


def _flip_chances(topic: Topic) -> Floats:
    return ordering.flip_chances(_cells(topic), np.zeros((2, 6)))


ORDERS: dict[str, Callable[[Work, int], Places]] = {
    "random": by_lot,
    "pools": pools,
    "uncertainty": uncertainty,
    "expected change": expected_change,
    "sample": sample,
    "default": default,
}
FOR_PRECISION = ("random", "pools", "uncertainty", "default")  # the others are made for Rubric-Cover


def by_judgment(topic: Topic, random: Random) -> Mask:
    chances = np.where(topic.high, *(by[topic.judged][:, np.newaxis] for by in (REACHED, MISSED)))
    return random.random(chances.shape) < chances


def without_misses(topic: Topic, _: Random) -> Mask:
    return topic.high & is_relevant(topic, _)


def cover(reached: Mask, topic: Topic) -> Floats:
    return covered_items(reached.astype(np.int8), topic.ranked, cutoff=CUTOFF, min_grade=1).mean(axis=1)


def is_relevant(topic: Topic, _: Random) -> Mask:
    return np.asarray(topic.judged >= MIN_RELEVANT)[:, np.newaxis]


def precision(reached: Mask, topic: Topic) -> Floats:
    padded = np.append(reached[:, 0], False)
    return np.asarray(padded[topic.top].mean(axis=1))


class Outcome(NamedTuple):
    tau: float
    right: float
    wrong: float


def outcome(scores: Floats, truth: Floats) -> Outcome:
    """Compare a board (runs, topics) with that of all judgments; pairs are counted if clear."""
    first, second = np.triu_indices(len(scores), k=1)
    means, true_means = scores.mean(axis=1), truth.mean(axis=1)
    is_clear = pairwise_p(scores)[first, second] <= ALPHA
    is_right = (means[first] - means[second]) * (true_means[first] - true_means[second]) > 0
    tau = float(kendalltau(means, true_means).statistic)
    return Outcome(np.nan_to_num(tau), int((is_clear & is_right).sum()), int((is_clear & ~is_right).sum()))


BOARDS = ("people only", "the grader corrected by people")


def judgments(work: Work, seed: int) -> Mask:
    """Return by cell whether people reach the threshold."""
    random = np.random.default_rng([seed, 1])
    return np.concatenate([work.rated(topic, random).ravel() for topic in work.topics])


def outcomes(work: Work, order: str, seed: int) -> dict[str, Floats]:
    """Return by board an array of shape (1 + MINUTES, 3): the fields of `Outcome`, first of no rating."""
    people = judgments(work, seed)
    graded = work.all_cells(lambda topic: topic.high)
    truth, cells = work.scores(people), ORDERS[order](work, seed)
    results: dict[str, list[Outcome]] = {board: [] for board in BOARDS}
    for budget in (0, *MINUTES):
        rated = work.within(cells, budget)
        for board, reached in zip(BOARDS, (np.zeros_like(people), graded.copy()), strict=True):
            reached[rated] = people[rated]
            results[board].append(outcome(work.scores(reached), truth))
    return {board: np.array(rows, dtype=np.float64) for board, rows in results.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="rewrite docs/certainty.md and its figure")
    options = parser.parse_args()
    if options.write and not options.folder:
        parser.error(
            "--write needs FOLDER: docs/certainty.md has the numbers of LLMJudge, not of made-up topics"
        )
    cells, passages = llmjudge(options.folder) if options.folder else made_up_topics()
    works = (
        Work("Rubric-Cover", cells, by_judgment, cover),
        Work("Rubric-Cover without misses", cells, without_misses, cover),
        Work("P@20", passages, is_relevant, precision),
    )
    rows: list[Row] = []
    panels: dict[str, dict[str, list[float]]] = {}
    for work in works:
        rows.append(_all_judgments(work, options.seeds))
        print(
            f"{len(work.topics)} topics, {len(work.reading)} passages, {len(work.topics[0].ranked)} runs, ",
            end="",
        )
        print(f"{work.starts[-1]} cells, {options.seeds} seeds. {rows[-1].setting}: {rows[-1].found:.1f}")
        print("minutes: tau, clear and right (sd over seeds), clear and wrong")
        for order in ORDERS if work.scored is cover else FOR_PRECISION:
            by_seed = [outcomes(work, order, seed) for seed in range(options.seeds)]
            for board in BOARDS:
                results = np.stack([result[board] for result in by_seed])
                print(f"{board[:11]:11} {order:15} " + _line(results), flush=True)
                if order == "random" and board == BOARDS[1]:
                    rows.append(_row(f"{work.name}, the grader alone", results[:, 0]))
                after = results[:, 1 + MINUTES.index(REPORTED)]
                is_claim = (order, board) == ("default", BOARDS[0])
                nominal = f"\u2265 {REQUIRED} × random" if is_claim else ""
                rows.append(_row(f"{work.name}, {board}, {order}", after, nominal))
                panel = panels.setdefault(f"{work.name}, {board}", {})
                panel[order] = results[:, 1:, 1].mean(axis=0).tolist()
    report("minutes", rows)
    if options.write:
        title = "Pairs of runs that are clear and right, by minutes of people's work"
        FIGURE.write_text(curves_svg(panels, list(map(str, MINUTES)), title=title, label="minutes"))


def _line(results: Floats) -> str:
    """Return means and spreads over the seeds of results, of shape (seeds, minutes, 3)."""
    means, spreads = results.mean(axis=0), results.std(axis=0)
    return " | ".join(
        f"{minutes}: {mean[0]:.2f}, {mean[1]:5.1f} ({spread[1]:4.1f}), {mean[2]:4.1f}"
        for minutes, mean, spread in zip((0, *MINUTES), means, spreads, strict=True)
    )


def _row(setting: str, results: Floats, nominal: str = "") -> Row:
    """Return the row of results at one time, of shape (seeds, 3)."""
    tau, right, wrong = results.mean(axis=0)
    error = results[:, 1].std() / np.sqrt(max(len(results) - 1, 1))
    return Row(f"{setting}: tau {tau:.2f}, {wrong:.1f} wrong", nominal, float(right), error, 0)


def _all_judgments(work: Work, seeds: int) -> Row:
    boards = [work.scores(judgments(work, seed)) for seed in range(seeds)]
    return _row(f"{work.name}, all judgments", np.array([outcome(board, board) for board in boards]))


def llmjudge(folder: Path) -> tuple[tuple[Topic, ...], tuple[Topic, ...]]:
    """Return the topics with cells of PROMPT, and with the direct label as their only item."""
    ranked: dict[str, list[list[str]]] = {}
    for path in sorted((folder / "runs").glob("*.run")):
        for ranking in read_run(path):
            ranked.setdefault(ranking.query_id, []).append(list(ranking.doc_ids))
    pairs = list(_topics(folder / "graded.jsonl.gz", ranked))
    return tuple(cells for cells, _ in pairs), tuple(labels for _, labels in pairs)


def _topics(path: Path, ranked: dict[str, list[list[str]]]) -> Iterator[tuple[Topic, Topic]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            query_id, passages = json.loads(line)
            row_of = {passage["paragraph_id"]: row for row, passage in enumerate(passages)}
            depth = max(map(len, ranked[query_id]))
            rows = [[row_of.get(i, -1) for i in ids] + [-1] * (depth - len(ids)) for ids in ranked[query_id]]
            judged = [passage["paragraph_data"]["judgments"][0]["relevance"] for passage in passages]
            common = (
                np.array(rows, dtype=np.int32),
                np.array(judged, dtype=np.int16),
                np.array([len(passage["text"].split()) for passage in passages]),
            )
            labels = [max(passage["grades"][0]["self_ratings"], 0) for passage in passages]
            yield Topic(_ratings(passages), *common), Topic(DIRECT_LABELS[labels][:, np.newaxis], *common)


def _ratings(passages: Sequence[dict[str, list[dict[str, object]]]]) -> NDArray[np.int8]:
    columns: dict[str, NDArray[np.int8]] = {}
    for row, passage in enumerate(passages):
        for grades in passage["exam_grades"]:
            if grades["prompt_info"]["prompt_class"] == PROMPT:  # type: ignore[index]
                for rating in grades["self_ratings"]:  # type: ignore[attr-defined]
                    empty = np.full(len(passages), -1, dtype=np.int8)
                    columns.setdefault(rating["question_id"], empty)[row] = rating["self_rating"]
    return np.stack(list(columns.values()), axis=1)


def made_up_topics() -> tuple[tuple[Topic, ...], tuple[Topic, ...]]:
    """Make topics as `estimated_cover` does; passages that reach more items are judged more relevant."""
    random, cells, labels = np.random.default_rng(12), [], []
    for topic in made_up():
        share = topic.reached.mean(axis=1)
        judged = np.digitize(share + random.normal(0, 0.15, len(share)), [0.25, 0.45, 0.65]).astype(np.int16)
        direct = np.digitize(share + random.normal(0, 0.15, len(share)), [0.25, 0.45, 0.65])
        ratings = np.where(topic.reached, random.integers(4, 6, topic.reached.shape), 0).astype(np.int8)
        common = (topic.ranked, judged, random.integers(30, 90, len(share)))
        cells.append(Topic(ratings, *common))
        labels.append(Topic(DIRECT_LABELS[direct][:, np.newaxis], *common))
    return tuple(cells), tuple(labels)


if __name__ == "__main__":
    main()
