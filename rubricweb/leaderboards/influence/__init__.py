"""Each item: how hard it is, whether it tells good from bad, and what the board would be without it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.formats.tables import Mark, PrintedTable, TextCell
from grading.measures.cover import covered_items
from grading.statistics.diagnostics import as_answers, difficulty, discrimination, redundant_pairs, rest_means
from grading.statistics.influence import (
    TIED_DECIMALS,
    Influence,
    dependents,
    influences,
    means_without,
    ranks,
)
from rubricweb.banks.models import ItemRevision
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.scoring import passage_labels
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard, keep_items
from rubricweb.leaderboards.board.scores import (
    NOTHING,
    Basis,
    TopicItems,
    answered,
    parts,
    secret_wordings,
    unit_scores,
)
from rubricweb.leaderboards.sheets import SheetColumn, possible_ranks, sheet

Floats = NDArray[np.float64]

Texts = Mapping[tuple[int, str], str]
"""By topic id and uid."""
Link = Callable[[int], str]
"""From a topic id to the address of its grid."""
POSSIBLE = "possible: ranks that the topics leave open, by the max-T test of all pairs"
KEPT_BOARDS = 4
"""Boards whose influences are kept, with their matrices."""
SHOWN_ITEMS = 50
"""Rows of the table on a page; files have all."""


@dataclass(frozen=True, slots=True)
class InfluenceRow:
    """One item of one topic. Numbers are None where they are undefined."""

    topic_id: int
    query_id: str
    uid: str
    by_runs: float | None
    """Share of the runs that cover it."""
    by_passages: float | None
    """Share of its rated passages that reach the threshold."""
    tells_runs: float | None
    """Corrected item-total correlation over runs."""
    tells_passages: float | None
    """The same over the passages of the pool."""
    influence: Influence
    n_beyond: int
    """Runs whose rank without it is none of the ranks that the topics leave open with it."""
    loses: tuple[str, float]
    """The run whose score falls most without it, and by how much: at most 0. "" without runs."""
    gains: tuple[str, float]
    """The run whose score rises most without it, and by how much: at least 0."""

    @property
    def span(self) -> float:
        return self.gains[1] - self.loses[1]


@dataclass(frozen=True, slots=True)
class DependentRow:
    """A run whose place changes with one item."""

    run_tag: str
    row: InfluenceRow
    before: int
    after: int
    possible: tuple[int, int] | None
    """The ranks that the topics leave open on the board."""

    @property
    def is_beyond(self) -> bool:
        return self.possible is not None and not self.possible[0] <= self.after <= self.possible[1]


@dataclass(frozen=True, slots=True)
class LikeItems:
    """Two items of a topic that nearly the same passages answer."""

    topic_id: int
    query_id: str
    first: str
    second: str
    overlap: float
    n_both: int
    n_either: int


@dataclass(frozen=True, slots=True)
class Influences:
    rows: list[InfluenceRow]
    dependents: list[DependentRow]


@dataclass(frozen=True, slots=True)
class _Scored:
    """A scored board, equal to another of the same scores, which are kept with the grades they are of."""

    spec: BoardSpec
    state: Hashable
    board: ScoredBoard = field(compare=False)


def item_influences(scored: ScoredBoard, *, topic_id: int | None = None) -> Influences:
    """Return the influence of all items, or of one topic's."""
    return _influences(_Scored(scored.spec, scored.base.state, scored), topic_id)


@lru_cache(maxsize=KEPT_BOARDS)
def _influences(of: _Scored, topic_id: int | None) -> Influences:
    scored = of.board
    rows: list[InfluenceRow] = []
    boards: list[Floats] = []
    for place, (topic, items) in enumerate(scored.base.units()):
        if not items.uids or (topic_id is not None and topic.topic_id != topic_id):
            continue
        scores = _scores_without(scored, topic, items, scored.table.scores[:, place])
        without = np.round(means_without(scored.table.scores, place, scores), TIED_DECIMALS)
        boards.append(without)
        rows += _rows(scored, topic, items, without)
    if not rows:
        return Influences([], [])
    merits = scored.spec.measure.merits(np.concatenate(boards))
    moving = [
        DependentRow(
            scored.run_tags[row.run],
            rows[row.item],
            row.before,
            row.after,
            scored.ranks.possible(row.run) if scored.ranks else None,
        )
        for row in dependents(scored.mean_merits, merits)
    ]
    return Influences(rows, moving)


def pairs(scored: ScoredBoard) -> list[LikeItems]:
    """Return redundant pairs of all topics, across subtopics too; most alike first."""
    rows = []
    for topic in scored.base.pool.topics:
        uids = scored.base.items.get(topic.topic_id, ())
        ratings = scored.base.grades[topic.topic_id].matrix.columns(uids).ratings
        for pair in redundant_pairs(ratings, min_grade=scored.spec.measure.min_grade):
            first, second = uids[pair.first], uids[pair.second]
            rows.append(
                LikeItems(
                    topic.topic_id, topic.query_id, first, second, pair.overlap, pair.n_both, pair.n_either
                )
            )
    return sorted(rows, key=lambda pair: (-pair.overlap, -pair.n_both))


def _scores_without(scored: ScoredBoard, topic: TopicPool, items: TopicItems, whole: Floats) -> Floats:
    """Return, shape (items, runs), the unit's scores without each item; NaN where no item is left."""
    grades, spec = scored.base.grades[topic.topic_id], scored.spec
    is_labelled = spec.measure.uses_labels and len(parts(items, spec)) == 1
    defined = passage_labels(grades, items.uids, spec.measure) if is_labelled else None
    by_item = []
    for uid in items.uids:
        rest = keep_items(items, [other for other in items.uids if other != uid])
        if not rest.uids:
            by_item.append(np.full(len(whole), np.nan))
        elif defined is not None and np.array_equal(passage_labels(grades, rest.uids, spec.measure), defined):
            by_item.append(whole)  # no label hangs on this item
        else:
            by_item.append(unit_scores(grades, rest, spec))
    scores = np.array(by_item)
    return np.where(_counts(scored, topic), scores, np.nan)


def _counts(scored: ScoredBoard, topic: TopicPool) -> NDArray[np.bool_]:
    """Return an array of shape (runs,): whether the topic counts for the run."""
    if scored.spec.skips_missing:
        return np.asarray(answered([topic])[:, 0])
    return np.ones(len(scored.run_tags), dtype=np.bool_)


def _rows(scored: ScoredBoard, topic: TopicPool, items: TopicItems, without: Floats) -> list[InfluenceRow]:
    measure = scored.spec.measure
    ratings = scored.base.grades[topic.topic_id].matrix.columns(items.uids).ratings
    by_run = covered_items(ratings, topic.ranked_rows, cutoff=measure.cutoff, min_grade=measure.min_grade)
    runs = np.where(_counts(scored, topic)[:, np.newaxis], by_run.astype(np.float64), np.nan)
    passages = as_answers(ratings, measure.min_grade)
    easy_runs, easy_passages = difficulty(runs), difficulty(passages)
    tells_runs = discrimination(runs, without.T)
    tells_passages = discrimination(passages, rest_means(passages))
    effects, beyond = influences(scored.means, without), _beyond(scored, without)
    changes, tags = np.nan_to_num(without - scored.means), scored.run_tags
    if not tags:
        changes, tags = np.zeros((len(without), 1)), ("",)
    lowest, highest = changes.argmin(axis=1), changes.argmax(axis=1)
    return [
        InfluenceRow(
            topic_id=topic.topic_id,
            query_id=topic.query_id,
            uid=uid,
            by_runs=none_if_nan(easy_runs[item]),
            by_passages=none_if_nan(easy_passages[item]),
            tells_runs=none_if_nan(tells_runs[item]),
            tells_passages=none_if_nan(tells_passages[item]),
            influence=effects[item],
            n_beyond=int(beyond[item]),
            loses=(tags[lowest[item]], min(0.0, float(changes[item, lowest[item]]))),
            gains=(tags[highest[item]], max(0.0, float(changes[item, highest[item]]))),
        )
        for item, uid in enumerate(items.uids)
    ]


def _beyond(scored: ScoredBoard, without: Floats) -> NDArray[np.int64]:
    """Return an array of shape (items,): how many runs leave the ranks that the topics leave open."""
    if scored.ranks is None:
        return np.zeros(len(without), dtype=np.int64)
    order, changed = scored.ranks.order, ranks(scored.spec.measure.merits(without))
    leaves = (changed < order.first_possible) | (changed > order.last_possible)
    return np.asarray(leaves.sum(axis=1))


def item_texts(base: Basis) -> dict[tuple[int, str], str]:
    """Return texts by topic id and uid, without secret items; an item without a text has its uid."""
    topics = {topic.topic_id for topic, items in base.units() if items != NOTHING}
    rows = _open_texts(base.spec.collection.pk)
    if secret_wordings(base.spec.collection.pk):  # of which some readers may see some
        secret = ItemRevision.objects.filter(topic__in=topics, is_secret=True)
        rows = [*rows, *secret.values_list("topic_id", "uid", "text")]
    return {(topic_id, uid): text or uid for topic_id, uid, text in rows if topic_id in topics}


@compiled_once
def _open_texts(collection: int) -> QuerySet[ItemRevision, Any]:
    """Return topic, uid and text of the wordings that are secret from nobody."""
    rows = ItemRevision.including_secret.filter(topic__collection=collection, is_secret=False)
    return rows.values_list("topic_id", "uid", "text")


def items_table(
    scored: ScoredBoard, rows: Sequence[InfluenceRow], texts: Texts, public: Texts, link: Link
) -> PrintedTable:
    """Return the items as rows; `public` are the texts that a file may have."""
    columns: list[SheetColumn[InfluenceRow]] = [
        SheetColumn("Item", "", lambda row: row.uid, lambda row: _item(row, row.uid, texts, link)),
        SheetColumn("Topic", "topic", lambda row: row.query_id),
        SheetColumn("", "item", lambda row: row.uid),
        SheetColumn("", "text", lambda row: public[row.topic_id, row.uid]),
        SheetColumn("Runs", "share_of_runs", lambda row: row.by_runs),
        SheetColumn("Passages", "share_of_passages", lambda row: row.by_passages),
        SheetColumn("r over runs", "r_over_runs", lambda row: row.tells_runs),
        SheetColumn("r over passages", "r_over_passages", lambda row: row.tells_passages),
        SheetColumn("\N{GREEK SMALL LETTER TAU} without", "tau_without", lambda row: row.influence.tau),
        SheetColumn("Swaps", "swapped_pairs", lambda row: row.influence.n_swapped),
        SheetColumn("Largest move", "largest_move", lambda row: row.influence.largest_move),
        SheetColumn("Beyond possible", "runs_beyond", lambda row: row.n_beyond),
        SheetColumn(
            "Mean change",
            "mean_change",
            lambda row: row.influence.mean_change,
            lambda row: TextCell(signed(row.influence.mean_change)),
        ),
    ]
    return sheet(
        "Items",
        columns,
        rows[:SHOWN_ITEMS],
        provenance.scored_statements(scored),
        in_files=[row for row in rows if (row.topic_id, row.uid) in public],
        n_labels=2,
        comments=(
            "runs, passages: share that covers the item; r: corrected item-total correlation",
            "without: the board without this item, against the board",
            "beyond possible: runs whose rank without it is none that the topics leave open with it",
        ),
    )


def runs_table(
    scored: ScoredBoard, rows: Sequence[DependentRow], texts: Texts, public: Texts, link: Link
) -> PrintedTable:
    columns: list[SheetColumn[DependentRow]] = [
        SheetColumn("Run", "run_tag", lambda row: row.run_tag),
        SheetColumn("Rank", "rank", lambda row: row.before),
        *possible_ranks("Possible ranks", "rank", lambda row: row.possible),
        SheetColumn(
            "Without it",
            "rank_without",
            lambda row: row.after,
            lambda row: TextCell(str(row.after), Mark.TIED if row.is_beyond else Mark.NONE),
        ),
        SheetColumn("", "is_beyond", lambda row: int(row.is_beyond)),
        SheetColumn(
            "The item", "", lambda row: row.row.uid, lambda row: _item(row.row, row.row.uid, texts, link)
        ),
        SheetColumn("Topic", "topic", lambda row: row.row.query_id),
        SheetColumn("", "item", lambda row: row.row.uid),
        SheetColumn("", "text", lambda row: public[row.row.topic_id, row.row.uid]),
    ]
    return sheet(
        "Runs whose rank hangs on one item",
        columns,
        rows,
        provenance.scored_statements(scored),
        in_files=[row for row in rows if (row.row.topic_id, row.row.uid) in public],
        comments=(POSSIBLE,),
        n_notes=2,
        legend=((Mark.TIED, "outside of the possible ranks"),),
    )


def pairs_table(
    scored: ScoredBoard, rows: Sequence[LikeItems], texts: Texts, public: Texts, link: Link
) -> PrintedTable:
    columns: list[SheetColumn[LikeItems]] = [
        SheetColumn("Item", "", lambda row: row.first, lambda row: _item(row, row.first, texts, link)),
        SheetColumn("is answered with", "", lambda row: texts.get((row.topic_id, row.second), row.second)),
        SheetColumn("Topic", "topic", lambda row: row.query_id),
        SheetColumn("", "item", lambda row: row.first),
        SheetColumn("", "text", lambda row: public[row.topic_id, row.first]),
        SheetColumn("", "other_item", lambda row: row.second),
        SheetColumn("", "other_text", lambda row: public[row.topic_id, row.second]),
        SheetColumn("Overlap", "overlap", lambda row: row.overlap),
        SheetColumn("Both", "both", lambda row: row.n_both),
        SheetColumn("Either", "either", lambda row: row.n_either),
    ]
    return sheet(
        "Redundant pairs",
        columns,
        rows,
        provenance.scored_statements(scored),
        in_files=[
            row for row in rows if {(row.topic_id, row.first), (row.topic_id, row.second)} <= public.keys()
        ],
        n_labels=3,
        comments=("passages that count for both / for at least one; from 0.7 and three passages on",),
    )


def _item(row: InfluenceRow | LikeItems, uid: str, texts: Texts, link: Link) -> TextCell:
    return TextCell(texts.get((row.topic_id, uid), uid), href=link(row.topic_id))


def signed(value: float | None) -> str:
    """Return four decimals with their sign; 0 has none, and what is undefined is a dash."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:+z.4f}".replace("+0.0000", "0.0000")
