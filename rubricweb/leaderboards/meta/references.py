"""What boards are compared with: official leaderboards, and the human judgments of the collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import TIED_DECIMALS
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards, with_topics
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades.scoring import MeasureSpec, judgment_table
from rubricweb.leaderboards.board.selectors import judged_by, of_judgments
from rubricweb.leaderboards.board.tables import Basis

JUDGMENTS = "judgments"
"""The name, in addresses, of the boards that human judgments make."""
OFFICIAL = "official:"
"""Comes before the name of an official leaderboard there."""


@dataclass(frozen=True, slots=True)
class Reference:
    label: str
    values: Mapping[str, float]
    """Run tag -> higher is better."""
    by_topic: NDArray[np.float64] | None = None
    """Shape (runs, topics), where its scores are of topics: they are resampled together with ours."""
    run_tags: tuple[str, ...] = ()
    """Of `by_topic`."""


def reference_choices(collection: Collection) -> list[tuple[str, str]]:
    """Return pairs of name and label; official boards first."""
    choices = [(f"{OFFICIAL}{board.name}", board.name) for board in official_boards(collection)]
    if any(topic.judgments for topic in collection_pool(collection).topics):
        choices.append((JUDGMENTS, "human judgments"))
    return choices


def reference(base: Basis, name: str, measure: MeasureSpec, min_relevant: int) -> Reference:
    """Return the board of that name in addresses to compare one of `measure` with."""
    board = official_named(base.spec.collection, name)
    return official_reference(board, base) if board else judged_reference(base.pool, measure, min_relevant)


def official_named(collection: Collection, name: str) -> Official | None:
    """Return the official board of that name in addresses, with its scores of topics; None for judgments."""
    if name == JUDGMENTS:
        return None
    boards = {f"{OFFICIAL}{board.name}": board for board in official_boards(collection)}
    return with_topics(collection, boards[name])


def official_reference(board: Official, base: Basis) -> Reference:
    """Return the board on the topics that `base` is of; on all of its own if it has no scores of topics."""
    query_ids = [topic.query_id for topic in base.pool.topics]
    on_topics, over = board.scores_on(query_ids), ""
    values = board.scores
    if not base.spec.is_of_all_topics:
        values, over = on_topics or values, "" if on_topics else ", over all its topics"
    label = f"{board.name} ({board.kind}{over})"
    if not on_topics:
        return Reference(label, values)
    return Reference(label, values, _by_topic(board, values, query_ids), tuple(values))


def judged_reference(pool: CollectionPool, measure: MeasureSpec, min_relevant: int) -> Reference:
    """Return the board of the same measure by judgments of these topics; nDCG@10 beside a measure of items.

    `min_relevant` is the first judgment that is relevant.
    """
    measure = of_judgments(measure)
    table = judgment_table(pool, measure, level=min_relevant)
    means = np.round(table.means(), TIED_DECIMALS).tolist()
    values = dict(zip(table.run_tags, means, strict=True))
    label = f"human judgments ({judged_by(measure, min_relevant)})"
    return Reference(label, values, table.scores, table.run_tags)


def _by_topic(board: Official, run_tags: Iterable[str], query_ids: Sequence[str]) -> NDArray[np.float64]:
    """Return an array of shape (runs, topics); NaN where the board has no score."""
    topics = [board.by_topic.get(query_id, {}) for query_id in query_ids]
    return np.array([[scores.get(run_tag, np.nan) for scores in topics] for run_tag in run_tags])
