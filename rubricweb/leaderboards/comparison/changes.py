"""What differs between two boards: their runs, and every item and cell that one run's scores differ by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan, take_rows
from grading.statistics.influence import BoardSide, Cause, ItemContribution, item_contributions, ranks
from grading.statistics.max_t import ALPHA, adjusted_p
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_intervals import relative_gains
from grading.types import MISSING
from rubricweb.banks.models import Bank, ItemChange as History, ItemRevision, VersionItem
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.scoring import graded_topic, topic_labels
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import NOTHING, TopicItems, parts, secret_wordings
from rubricweb.leaderboards.comparison.opened import TopicSheet

REWORDED = "reworded"
UNTOLD = "a secret item"
"""What a reader is told of an item whose words are secret from them."""
Possible = tuple[int, int] | None
"""The first and the last rank that the topics leave open."""
Floats = NDArray[np.float64]
Worded = dict[int | None, tuple[str, int | None]]
"""By item: its words on a board, and the best grade of the run's first passages; None if it is secret."""


@dataclass(frozen=True, slots=True)
class MovedRow:
    run_tag: str
    rank_before: int
    rank_after: int
    before: float | None
    after: float | None
    possible_before: Possible = None
    possible_after: Possible = None
    p: float | None = None
    """The p-value of the run's gain on the mean of all runs, adjusted for all runs; None if untested."""
    gain: float = 0.0
    """Mean of what the run gains on the mean of all runs, in standard deviations of their means."""

    @property
    def is_sure(self) -> bool:
        """Return whether the run moves clearly, and in the direction of its gain."""
        return self.p is not None and self.p <= ALPHA and self.gain * self.rose > 0

    @property
    def rose(self) -> int:
        return self.rank_before - self.rank_after

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell, or for labels a passage, that made a change; MISSING where there is no rating or label."""

    doc_id: str
    passage_id: int | None
    """None for a passage outside the pool."""
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class ExplainedItem:
    """One item (for labels: one topic) and what it adds to the difference of the run's scores."""

    topic_id: int
    query_id: str
    item_id: int | None
    text: str
    cause: str
    contribution: float
    cells: tuple[CellChange, ...]
    is_secret: bool = False
    text_before: str = ""
    """Its former words, of an item that is reworded."""
    best: tuple[int | None, int | None] = (None, None)
    """The best grades of the run's first passages; None where the item is not on the board."""

    @property
    def is_same_but_its_weight(self) -> bool:
        return not self.text_before and bool(self.text) and self.best[0] == self.best[1]


def moved_rows(before: ScoredBoard, after: ScoredBoard) -> list[MovedRow]:
    """Return every run, the largest moves first."""
    ours, theirs = before.means, after.means
    was, now = ranks(before.mean_merits), ranks(after.mean_merits)
    p, gains = _tested(before, after)
    rows = [
        MovedRow(
            tag,
            int(was[run]),
            int(now[run]),
            none_if_nan(ours[run]),
            none_if_nan(theirs[run]),
            before.ranks.possible(run) if before.ranks else None,
            after.ranks.possible(run) if after.ranks else None,
            none_if_nan(p[run]),
            float(gains[run]),
        )
        for run, tag in enumerate(after.run_tags)
    ]
    return sorted(rows, key=lambda row: (-abs(row.rose), -abs(row.difference or 0), row.rank_after))


def _tested(before: ScoredBoard, after: ScoredBoard) -> tuple[Floats, Floats]:
    """Return the p-value of each run's gain on all runs, NaN if untested, and its mean; shape (runs,)."""
    possible, runs = after.ranks, len(after.run_tags)
    if possible is None or before.table.topic_ids != after.table.topic_ids:
        return np.full(runs, np.nan), np.zeros(runs)
    gains = relative_gains(before.merits, after.merits)
    return adjusted_p(gains, possible.test), np.nan_to_num(mean_and_stderr(gains).mean)


def is_exact(before: ScoredBoard, after: ScoredBoard) -> bool:
    """Return whether both boards are of measures that are sums over items."""
    return all(scored.spec.measure.is_sum_over_items for scored in (before, after))


def explained(before: ScoredBoard, after: ScoredBoard, run_tag: str) -> list[ExplainedItem]:
    """Return what the difference of the run's scores is made of, largest part first. The parts sum to it."""
    run = after.run_tags.index(run_tag)
    rows = _by_items(before, after, run) if is_exact(before, after) else _by_topics(before, after, run)
    return sorted(rows, key=lambda row: (-abs(row.contribution), row.query_id))


def _by_items(before: ScoredBoard, after: ScoredBoard, run: int) -> list[ExplainedItem]:
    item_of = item_keys(after.spec.bank) | item_keys(before.spec.bank)
    ours, theirs = _sides(before, run), _sides(after, run)
    texts, secret = _texts(after), secret_wordings(after.spec.collection.pk)
    parts = []
    for topic in after.base.pool.topics:
        pk, sides = topic.topic_id, (ours[topic.topic_id], theirs[topic.topic_id])
        bests = [TopicSheet.of(scored, pk).grades(run) for scored in (before, after)]
        rows = [
            ExplainedItem(
                pk,
                topic.query_id,
                item_of.get((pk, change.item_id)),
                texts.get((pk, change.item_id), UNTOLD),
                change.cause.value,
                change.contribution,
                _cells(before, after, topic, change) if (pk, change.item_id) in texts else (),
                (pk, change.item_id) in secret,
                best=_both(bests, change.item_id) if (pk, change.item_id) in texts else (None, None),
            )
            for change in item_contributions(*sides)
        ]
        was, now = (
            {
                item_of.get((pk, uid)): (
                    texts.get((pk, uid), UNTOLD),
                    best.get(uid) if (pk, uid) in texts else None,
                )
                for uid in side.item_ids
            }
            for side, best in zip(sides, bests, strict=True)
        )
        parts += _joined(rows, was, now)
    return [row for row in parts if round(row.contribution, 12)]


def _both(bests: list[dict[str, int]], uid: str) -> tuple[int | None, int | None]:
    return bests[0].get(uid), bests[1].get(uid)


def _joined(rows: list[ExplainedItem], was: Worded, now: Worded) -> list[ExplainedItem]:
    """Join the old and the new wording of an item to one row."""
    by_item: dict[object, ExplainedItem] = {}
    for row in rows:
        item_id = row.item_id
        if item_id is None or item_id not in was or item_id not in now or was[item_id][0] == now[item_id][0]:
            by_item[len(by_item), row.text] = row
            continue
        other = by_item.get(item_id)
        cells = row.cells if row.cause == Cause.ADDED or other is None else other.cells
        total = row.contribution + (other.contribution if other else 0.0)
        (before, best_before), (after, best_after) = was[item_id], now[item_id]
        by_item[item_id] = replace(
            row,
            cause=REWORDED,
            text=after,
            text_before=before,
            best=(best_before, best_after),
            contribution=total,
            cells=cells,
        )
    return list(by_item.values())


def _sides(scored: ScoredBoard, run: int) -> dict[int, BoardSide]:
    """Return, by topic id: the run's first passages against the items that count for it."""
    depth, min_grade = scored.spec.measure.depth, scored.spec.measure.min_grade
    worth = _worth_of_items(scored, run)
    by_topic = {}
    for topic in scored.base.pool.topics:
        of_topic = worth.get(topic.topic_id, {})
        doc_ids, uids = topic.ranked_by(run)[:depth], tuple(of_topic)
        ratings = scored.base.grades[topic.topic_id].matrix.columns(uids).ratings
        rows = topic.ranked_rows[run, : len(doc_ids)]
        reached = take_rows(ratings >= min_grade, rows)
        by_topic[topic.topic_id] = BoardSide(uids, doc_ids, reached, np.array([*of_topic.values()]))
    return by_topic


def _worth_of_items(scored: ScoredBoard, run: int) -> dict[int, dict[str, float]]:
    """Return, by topic id and uid: what covering the item adds to the run's score."""
    counted = ~np.isnan(scored.table.scores[run])
    by_topic: dict[int, dict[str, float]] = {}
    for place, (topic, items) in enumerate(scored.base.units()):
        if not counted[place]:
            continue
        of_topic = by_topic.setdefault(topic.topic_id, {})
        for uid, share in _worth(scored, topic, items).items():
            of_topic[uid] = of_topic.get(uid, 0.0) + share / int(counted.sum())
    return by_topic


def _worth(scored: ScoredBoard, topic: TopicPool, items: TopicItems) -> dict[str, float]:
    """Return, by uid, what covering the item adds to the score of the averaged topic or subtopic."""
    measure, matrix = scored.spec.measure, scored.base.grades[topic.topic_id].matrix
    averaged = [TopicItems(matrix.item_ids)] if measure.is_workbench else parts(items, scored.spec)
    averages = [shares for part in averaged if (shares := _shares(scored, topic, part))]
    return {uid: share / len(averages) for shares in averages for uid, share in shares.items()}


def _shares(scored: ScoredBoard, topic: TopicPool, items: TopicItems) -> dict[str, float]:
    """Return, by uid: what covering each adds; nothing where the score is 0 / 0."""
    measure, matrix = scored.spec.measure, scored.base.grades[topic.topic_id].matrix
    worths = measure.formula.worths
    if worths is None:
        return {}
    each = worths(graded_topic(topic, matrix.columns(items.uids), measure, items.weights))
    return {} if np.isnan(each).any() else dict(zip(items.uids, each.tolist(), strict=True))


def _cells(
    before: ScoredBoard, after: ScoredBoard, topic: TopicPool, change: ItemContribution
) -> tuple[CellChange, ...]:
    was, now = (
        scored.base.grades[topic.topic_id].matrix.columns([change.item_id]) for scored in (before, after)
    )
    changes = []
    for doc_id in change.cells:
        row = topic.row_of.get(doc_id)
        if row is not None:
            values = int(was.ratings[row, 0]), int(now.ratings[row, 0])
            changes.append(CellChange(doc_id, topic.passage_pks[row], *values))
    return tuple(changes)


def _by_topics(before: ScoredBoard, after: ScoredBoard, run: int) -> list[ExplainedItem]:
    """Return a part a topic, with the passages whose labels differ.

    This is for measures that are no sums over items.
    """
    was, now = (_parts(scored, run) for scored in (before, after))
    parts = []
    for topic in after.base.pool.topics:
        contribution = now.get(topic.topic_id, 0.0) - was.get(topic.topic_id, 0.0)
        if round(contribution, 12):
            cells = _label_changes(before, after, topic, run)
            row = ExplainedItem(topic.topic_id, topic.query_id, None, "", "labels", contribution, cells)
            parts.append(row)
    return parts


def _parts(scored: ScoredBoard, run: int) -> dict[int, float]:
    """Return, by topic id: what the topic adds to the run's mean."""
    scores = scored.table.scores[run]
    n_topics = int((~np.isnan(scores)).sum())
    by_topic: dict[int, float] = {}
    for topic_id, score in zip(scored.table.topic_ids, scores.tolist(), strict=True):
        if not np.isnan(score):  # a board of one topic may have several subtopics of it
            by_topic[topic_id] = by_topic.get(topic_id, 0.0) + score / n_topics
    return by_topic


def _label_changes(
    before: ScoredBoard, after: ScoredBoard, topic: TopicPool, run: int
) -> tuple[CellChange, ...]:
    """Return the run's first passages whose label differs, or is relevant on one board only, in its order."""
    was, now = (
        topic_labels(
            scored.base.grades[topic.topic_id],
            scored.base.topic_items.get(topic.topic_id, NOTHING).uids,
            scored.spec.measure,
        )
        for scored in (before, after)
    )
    depth = max(before.spec.measure.depth, after.spec.measure.depth)
    changes = []
    for doc_id in topic.ranked_by(run)[:depth]:
        old, new = was.get(doc_id, MISSING), now.get(doc_id, MISSING)
        if old != new or (old >= before.spec.measure.level) != (new >= after.spec.measure.level):
            row = topic.row_of.get(doc_id)
            changes.append(CellChange(doc_id, None if row is None else topic.passage_pks[row], old, new))
    return tuple(changes)


def item_keys(bank: Bank | None) -> dict[tuple[int, str], int]:
    """Return the item by topic and uid, for every wording that an item of the bank ever had."""
    if bank is None:
        return {}
    fields = ("item__topic_id", "revision__uid", "item_id")
    named = VersionItem.objects.filter(version__bank=bank).order_by("pk").values_list(*fields)
    changed = History.objects.filter(item__bank=bank).order_by("pk").values_list(*fields)
    present = bank.items.order_by("pk").values_list("topic_id", "revision__uid", "pk")
    return {(topic_id, uid): item_id for topic_id, uid, item_id in (*named, *changed, *present)}


def _texts(scored: ScoredBoard) -> dict[tuple[int, str], str]:
    """Return texts by topic and uid, without the wordings that are secret from the reader."""
    topics = [topic.topic_id for topic in scored.base.pool.topics]
    rows = ItemRevision.objects.filter(topic__in=topics).values_list("topic_id", "uid", "text")
    return {(topic_id, uid): text or uid for topic_id, uid, text in rows}
