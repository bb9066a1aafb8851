"""What boards are compared with: official leaderboards, and the human judgments of the collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import TIED_DECIMALS
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import Official, official_boards
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
    """Return the board to compare one of `measure` with; `min_relevant` is the first judgment that is
    relevant. Judgments are those of the topics that the board is of.
    """
    if name == JUDGMENTS:
        return _judged(base.pool, measure, min_relevant)
    boards = {f"{OFFICIAL}{board.name}": board for board in official_boards(base.spec.collection)}
    return official_reference(boards[name])


def official_reference(board: Official) -> Reference:
    return Reference(f"{board.name} ({board.kind})", board.scores)


def _judged(pool: CollectionPool, measure: MeasureSpec, min_relevant: int) -> Reference:
    """Return the board of the same measure by judgments; nDCG@10 beside a measure of items."""
    measure = of_judgments(measure)
    table = judgment_table(pool, measure, level=min_relevant)
    means = np.round(table.means(), TIED_DECIMALS).tolist()
    values = dict(zip(table.run_tags, means, strict=True))
    label = f"human judgments ({judged_by(measure, min_relevant)})"
    return Reference(label, values, table.scores, table.run_tags)
