"""One board on each slice of its topics by an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.paired_tests import PairedTest, topics_needed
from grading.statistics.rank_correlation import Correlation, kendall
from grading.statistics.uncertainty import mean_and_stderr
from grading.topic_attributes import Attribute, TopicSlice, attributes, slices
from rubricweb.corpus.models import Collection
from rubricweb.grades.rank_intervals import RankIntervals, rank_intervals
from rubricweb.leaderboards.board.scored import ScoredBoard

Floats = NDArray[np.float64]


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
    topics_needed: int | None
    """From how many topics on the test could tell runs apart; None if it can with those of the slice."""
    order_kept: Correlation
    """Kendall's tau with the order of the runs on all topics."""

    @property
    def top_group(self) -> list[int]:
        """The runs that no other is better than; none where the test cannot tell runs apart."""
        return self.ranks.order.top_group if self.ranks and self.ranks.can_tell else []


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


def sliceable(collection: Collection) -> dict[str, list[TopicSlice]]:
    """Return the slices by attribute."""
    topics = collection.topics.attribute_values()
    return {name: slices(attribute, len(topics)) for name, attribute in attributes(topics).items()}


def offered_slices(collection: Collection) -> list[TopicSlice]:
    """Return the slices of all attributes, which a board's controls suggest."""
    return [one for listed in sliceable(collection).values() for one in listed]


def board_by_attribute(scored: ScoredBoard, name: str) -> BoardByAttribute:
    """Return the board on each slice by the attribute of that name, which `sliceable` has."""
    topics = scored.spec.collection.topics.attribute_values()
    attribute = attributes(topics)[name]
    query_ids = [topic.query_id for topic, _ in scored.base.units()]
    order = np.argsort(-np.nan_to_num(scored.means, nan=-1.0), kind="stable")
    scores, tags = scored.table.scores[order], tuple(scored.run_tags[run] for run in order)
    whole = _column(scored, tags, scores, None)
    columns = []
    for one in slices(attribute, len(topics)):
        places = [place for place, query_id in enumerate(query_ids) if query_id in one.query_ids]
        columns.append(_column(scored, tags, scores[:, places], one, whole))
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
    is_tested = scored.spec.measure.bootstraps_by_topic
    ranks = rank_intervals(np.ascontiguousarray(scores), scored.spec.test) if is_tested else None
    ours = dict(zip(tags, means.tolist(), strict=True))
    theirs = dict(zip(tags, (means if whole is None else whole.means).tolist(), strict=True))
    return SliceColumn(
        topics=topics,
        n_topics=int((~np.isnan(scores)).any(axis=0).sum()),
        means=means,
        stderrs=summary.stderr,
        ranks=ranks,
        topics_needed=_needed(len(tags), scored.spec.test, ranks) if is_tested else None,
        order_kept=kendall(ours, theirs),
    )


def _needed(runs: int, test: PairedTest, ranks: RankIntervals | None) -> int | None:
    if runs < 2 or (ranks is not None and ranks.can_tell):
        return None
    return 2 if test is PairedTest.T else topics_needed(runs * (runs - 1) // 2)
