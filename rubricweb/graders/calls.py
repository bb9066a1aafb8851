"""Graders that ask about several items in one call, beside those of the same model that ask about one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Q, QuerySet

from grading import prompts
from grading.statistics.agreement import cohen_kappa, contingency
from grading.types import MIN_RATING, Outcome, Purpose
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import selectors
from rubricweb.grades.configs import scale_of, spec_of
from rubricweb.grades.engine.missing import asked_cells, prompt_of
from rubricweb.grades.engine.price import price
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, GradeQuerySet, GraderConfig
from rubricweb.jobs.progress import Price


@dataclass(frozen=True, slots=True)
class CallsRow:
    """One grader of a comparison."""

    config: GraderConfig
    grades: int
    failed: int
    price: Price
    """What all pairs of the collection take."""
    by_place: float | None = None
    """Correlation (-1 to 1) of the ratings with their place in the call.

    About 0 unless the model rates by place, since the order is shuffled; None where each place, or each
    rating, is the same.
    """
    agreement: SameRatings | None = None
    """With the grader of the first row; None in it, and where no pair has a rating of both."""


@dataclass(frozen=True, slots=True)
class SameRatings:
    pairs: int
    """Pairs that both rated."""
    same: float
    """Share of the pairs with the same rating."""
    kappa: float | None
    """None where a rating is the only one."""


def calls_compared(collection: Collection) -> list[list[CallsRow]]:
    """Return for each grader by calls its row, and those of its counterparts with one item a call."""
    several = [each.prompt_class for each in prompts.published() if each.items_a_call > 1]
    if not (configs := _graded_by(collection.pk, tuple(several))):
        return []
    graders = [row.config for row in selectors.graders(collection)]
    return [
        [_row(collection, config, None), *(_row(collection, other, config) for other in others)]
        for config in configs
        if (others := list(_counterparts(config, graders)))
    ]


@compiled_once
def _graded_by(collection: int, prompt_classes: tuple[str, ...]) -> QuerySet[GraderConfig, GraderConfig]:
    graders = GraderConfig.objects.filter(stamps__topic__collection=collection)
    return graders.filter(prompt_class__in=prompt_classes).distinct()


def _counterparts(config: GraderConfig, graders: list[GraderConfig]) -> Iterator[GraderConfig]:
    kinds = spec_of(config).prompt.kinds
    for other in graders:
        prompt = prompt_of(other)
        if prompt is None or other.purpose != Purpose.RATE or prompt.items_a_call > 1:
            continue
        same = (other.backend, other.llm, scale_of(other)) == (config.backend, config.llm, scale_of(config))
        if same and kinds <= prompt.kinds:
            yield other


def _row(collection: Collection, config: GraderConfig, first: GraderConfig | None) -> CallsRow:
    rows = Grade.objects.by(config).filter(topic__collection=collection)
    failed = Count("pk", filter=Q(outcome=Outcome.FAILED))
    counts = rows.aggregate(grades=Count("pk"), failed=failed)
    every = asked_cells(collection, [config])
    agreement = _agreement(collection, first, config) if first else None
    takes = price(collection, every, [])
    return CallsRow(config, counts["grades"], counts["failed"], takes, _by_place(config, rows), agreement)


def _by_place(config: GraderConfig, grades: GradeQuerySet) -> float | None:
    """Return `CallsRow.by_place`, counted by the database."""
    rated = grades.filter(call_place__isnull=False, rating__gte=MIN_RATING).order_by()
    counts = rated.values_list("call_place", "rating").annotate(number=Count("pk"))
    table = np.array(list(counts), dtype=np.float64).reshape(-1, 3)
    places, ratings, weights = (
        (table[:, 0] - 1) % spec_of(config).prompt.items_a_call,
        table[:, 1],
        table[:, 2],
    )
    if len(set(places)) < 2 or len(set(ratings)) < 2:
        return None
    covariance = np.cov(places, ratings, fweights=weights.astype(np.int64))
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


def _agreement(collection: Collection, first: GraderConfig, second: GraderConfig) -> SameRatings | None:
    pool = collection_pool(collection)
    both = [matrices(config, pool) for config in (first, second)]
    ratings: list[list[int]] = [[], []]
    for topic in pool.topics:
        of_topic = [graded[topic.topic_id].matrix for graded in both]
        items = of_topic[0].item_ids
        values = [matrix.columns(items).ratings for matrix in of_topic]
        rated = np.logical_and(*(each >= MIN_RATING for each in values))
        for number, each in enumerate(values):
            ratings[number] += each[rated].tolist()
    if not ratings[0]:
        return None
    levels = range(max(map(max, ratings)) + 1)
    kappa = float(cohen_kappa(contingency(*ratings, rows=levels, columns=levels)))
    same = float(np.mean(np.equal(ratings[0], ratings[1])))
    return SameRatings(len(ratings[0]), same, None if np.isnan(kappa) else kappa)
