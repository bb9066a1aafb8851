"""One board on each slice of its topics by an attribute, and its table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from numpy.typing import NDArray

from grading.arrays import best_first, none_if_nan
from grading.formats.tables import DataTable, Mark, PrintedTable, TextCell, from_mappings, number
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_correlation import Correlation, kendall
from grading.topic_attributes import Attribute, TopicSlice, attributes, slices
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.scoring import RankIntervals, rank_intervals
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard

Floats = NDArray[np.float64]
ALL = "all topics"
NOTE = (
    "in brackets: topics in the mean; \N{PLUS-MINUS SIGN}: one standard error; last line: Kendall's tau of "
    "the order of the runs with that on all topics"
)
BOLD = "not clearly behind the first run on the topics of the slice"


@dataclass(frozen=True, slots=True)
class SliceColumn:
    """The board on one slice; arrays have shape (runs,)."""

    topics: TopicSlice | None
    """None for all topics of the board."""
    n_topics: int
    """Topics in the mean; others of the slice have no items or, for labels, no labels."""
    means: Floats
    stderrs: Floats
    ranks: RankIntervals | None
    """None with fewer than two topics or two runs."""
    order_kept: Correlation
    """Kendall's tau with the order of the runs on all topics."""

    @property
    def not_behind(self) -> list[int]:
        """Return the runs that are not clearly behind the first; none where topics are too few to tell."""
        can_tell = self.ranks is not None and self.ranks.can_tell
        return np.flatnonzero(self.ranks.order.not_behind_first).tolist() if self.ranks and can_tell else []


@dataclass(frozen=True, slots=True)
class BoardByAttribute:
    """The runs of a board, best first by all its topics, on each slice by one attribute."""

    attribute: Attribute
    run_tags: tuple[str, ...]
    whole: SliceColumn
    columns: tuple[SliceColumn, ...]
    n_without: int
    """Topics of the board that lack the attribute."""
    is_overlapping: bool
    """Some topic is in several slices."""


KEPT = 64
"""Collections whose slices a process keeps."""


def sliceable(collection: Collection) -> dict[str, list[TopicSlice]]:
    """Return the slices by attribute."""
    return _slices(tuple(_attribute_values(collection.pk)))


@lru_cache(maxsize=KEPT)
def _slices(values: tuple[tuple[str, str], ...]) -> dict[str, list[TopicSlice]]:
    """Return the slices of topics with these attributes, which are JSON, by query id."""
    topics = {query_id: json.loads(own) for query_id, own in values}
    return {name: slices(attribute, len(topics)) for name, attribute in attributes(topics).items()}


@compiled_once
def _attribute_values(collection: int) -> QuerySet[Topic, tuple[str, str]]:
    topics = Topic.objects.filter(collection=collection).order_by("position")
    own = topics.annotate(own=Cast("attributes", TextField()))
    values: QuerySet[Topic, tuple[str, str]] = own.values_list("query_id", "own")
    return values


def board_by_attribute(scored: ScoredBoard, name: str) -> BoardByAttribute:
    """Return the board on each slice by the attribute of that name, which `sliceable` has."""
    topics = scored.spec.collection.topics.attribute_values()
    attribute = attributes(topics)[name]
    query_ids = [topic.query_id for topic, _ in scored.base.units()]
    order = best_first(scored.mean_merits)
    scores, tags = scored.table.scores[order], tuple(scored.run_tags[run] for run in order)
    whole = _column(scored, tags, scores, None)
    columns = []
    for row in slices(attribute, len(topics)):
        places = [place for place, query_id in enumerate(query_ids) if query_id in row.query_ids]
        columns.append(_column(scored, tags, scores[:, places], row, whole))
    return BoardByAttribute(
        attribute=attribute,
        run_tags=tags,
        whole=whole,
        columns=tuple(columns),
        n_without=sum(query_id not in attribute.query_ids for query_id in set(query_ids)),
        is_overlapping=any(len(names) > 1 for names in attribute.categories.values()),
    )


def _column(
    scored: ScoredBoard,
    tags: Sequence[str],
    scores: Floats,
    topics: TopicSlice | None,
    whole: SliceColumn | None = None,
) -> SliceColumn:
    summary = mean_and_stderr(scores)
    means = np.round(summary.mean, TIED_DECIMALS)
    ranks = None
    if scored.spec.measure.bootstraps_by_topic:
        merits = scored.spec.measure.merits(np.ascontiguousarray(scores))
        ranks = rank_intervals(merits, scored.spec.test)
    ours = dict(zip(tags, means.tolist(), strict=True))
    theirs = dict(zip(tags, (means if whole is None else whole.means).tolist(), strict=True))
    return SliceColumn(
        topics=topics,
        n_topics=int((~np.isnan(scores)).any(axis=0).sum()),
        means=means,
        stderrs=summary.stderr,
        ranks=ranks,
        order_kept=kendall(ours, theirs),
    )


def score_sheet(board: BoardByAttribute, scored: ScoredBoard) -> PrintedTable:
    """Return each run's mean on each slice with its standard error."""
    columns = (board.whole, *board.columns)
    tops = [set(column.not_behind) for column in columns]
    rows = [
        (
            TextCell(tag),
            *(
                TextCell(_score(column, run), Mark.TIED if run in top else Mark.NONE)
                for column, top in zip(columns, tops, strict=True)
            ),
        )
        for run, tag in enumerate(board.run_tags)
    ]
    kept = (TextCell(number(row.order_kept.value), title=row.order_kept.reason) for row in columns)
    rows.append((TextCell(f"\N{GREEK SMALL LETTER TAU} with {ALL}"), *kept))
    heads = ("Run", *(f"{_short_name(column, board.attribute)} ({column.n_topics})" for column in columns))
    return PrintedTable(
        f"{provenance.measure_name(scored.spec)} by {board.attribute.name}",
        heads,
        tuple(rows),
        comments=(NOTE,),
        legend=((Mark.TIED, BOLD),),
        data=_data(board, scored),
    )


def _data(board: BoardByAttribute, scored: ScoredBoard) -> DataTable:
    lines = [
        {
            "slice": column.topics.token if column.topics else "",
            "n_topics": column.n_topics,
            "tau": column.order_kept.value,
            "run_tag": tag,
            "score": none_if_nan(column.means[run]),
            "stderr": none_if_nan(column.stderrs[run]),
        }
        for column in (board.whole, *board.columns)
        for run, tag in enumerate(board.run_tags)
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def _short_name(column: SliceColumn, attribute: Attribute) -> str:
    """Return the name of a slice where the attribute is known."""
    if column.topics is None:
        return ALL
    return f"{column.topics.value} third" if attribute.is_scored else column.topics.value


def _score(column: SliceColumn, run: int) -> str:
    stderr = column.stderrs[run]
    error = "" if stderr != stderr else f" \N{PLUS-MINUS SIGN}{stderr:z.2f}"
    return f"{number(float(column.means[run]))}{error}"
