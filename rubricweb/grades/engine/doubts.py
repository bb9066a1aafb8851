"""Where a grader is unsure, so that a dearer one is asked about these cells only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db.models import Q

from grading.types import Outcome
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, collection_pool
from rubricweb.grades.configs import default_min_grade
from rubricweb.grades.engine.gaps import TopicGap, gaps_of
from rubricweb.grades.models import Grade, GraderConfig, Pair
from rubricweb.grades.panels import all_member_matrices, is_panel
from rubricweb.grades.raters import graded_raters

UNSURE_BELOW = 0.6
"""A grade with a lower confidence is unsure, where nobody says another limit."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """The cells of which a grader is unsure.

    Its grade failed, or has a confidence below the limit. Of a panel without a limit: some of its members
    cover the item, and others do not.
    """

    configs: tuple[GraderConfig, ...]
    """Of one grader, one or more by kind of item."""
    below: float | None = None
    """The limit; None for the members of a panel, or UNSURE_BELOW for another grader."""

    @property
    def asks_members(self) -> bool:
        return self.below is None and is_panel(self.configs[0])

    @property
    def limit(self) -> float:
        return UNSURE_BELOW if self.below is None else self.below

    def __str__(self) -> str:
        grader = self.configs[0].llm
        if self.asks_members:
            return f"on which the members of {grader} disagree"
        return f"of which {grader} is less than {self.limit:.0%} sure, or which it failed to grade"


def doubt_by(collection: Collection, pk: int, below: float | None = None) -> Doubt | None:
    """Return the doubt of the rater with this config here; None without one."""
    named = (rater for rater in graded_raters(collection) if pk in {config.pk for config in rater.configs})
    rater = next(named, None)
    return Doubt(rater.configs, below) if rater else None


def doubtful_cells(collection: Collection, doubt: Doubt) -> tuple[TopicGap, ...]:
    """Return the cells of the doubt, whoever may see the ratings: a plan tells of none."""
    cells: dict[int, list[Pair]] = defaultdict(list)
    for config in doubt.configs:
        unsure = (
            _split(config, collection_pool(collection))
            if doubt.asks_members
            else _unsure(collection, config, doubt.limit)
        )
        for topic_id, cell in unsure:
            cells[topic_id].append(cell)
    return gaps_of(cells)


def _unsure(collection: Collection, config: GraderConfig, limit: float) -> Iterator[tuple[int, Pair]]:
    rows = Grade.objects.by(config).filter(topic__collection=collection)
    unsure = rows.filter(Q(confidence__lt=limit) | Q(outcome__in=(Outcome.FAILED, Outcome.DEFAULTED)))
    fields = unsure.order_by("topic", "passage", "revision").values_list("topic", "revision", "passage")
    for topic_id, revision, passage in fields.iterator(chunk_size=10_000):
        yield topic_id, (revision, passage)


def _split(config: GraderConfig, pool: CollectionPool) -> Iterator[tuple[int, Pair]]:
    """Yield the cells that some members of the panel cover, and others do not."""
    revisions: dict[int, dict[str, int]] = defaultdict(dict)
    rows = ItemRevision.including_secret.filter(topic__in=list(pool.by_topic))
    for topic_id, uid, pk in rows.values_list("topic_id", "uid", "pk").iterator(chunk_size=10_000):
        revisions[topic_id][uid] = pk
    by_member, least = all_member_matrices(config, pool), default_min_grade(config)
    for topic in pool.topics:
        uids = list(revisions[topic.topic_id])
        votes = by_member.votes(topic.topic_id, uids, len(topic.doc_ids))
        for row, column in np.argwhere(votes.split(least)).tolist():
            yield topic.topic_id, (revisions[topic.topic_id][uids[column]], topic.passage_pks[row])
