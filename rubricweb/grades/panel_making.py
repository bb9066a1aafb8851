"""Make a panel of graders, and what people's ratings say of its members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet
from numpy.typing import NDArray

from grading.graders.backend_options import ATTEMPT
from grading.graders.panel import PANEL
from grading.statistics.agreement import contingency, weighted_kappa
from grading.statistics.panel import (
    LEAST_CELLS,
    EffectiveJudges,
    PanelRule,
    cross_fitted_weights,
    effective_judges,
    fold_of,
)
from grading.types import MISSING, USUAL_MIN_GRADE, ItemKind, Purpose
from rubricweb.accounts.models import User
from rubricweb.banks.models import DIRECT_UID
from rubricweb.core import audit
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades import actions
from rubricweb.grades.configs import WHOLE_SCALE, default_min_grade, kinds_of, scale_of
from rubricweb.grades.exemplars import exemplar_cells, without_exemplars
from rubricweb.grades.human_matrices import HumanGrades, human_matrices
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import GraderConfig, GradingJob
from rubricweb.grades.panels import CannotForm, MemberMatrices, PanelChoice, panel_config, require_alike
from rubricweb.grades.topic_ratings import UNJUDGED, judged

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RatedVotes:
    """The cells that people and all members of a panel rated; shapes (cells, members) and (cells,)."""

    votes: Ints
    human: Ints
    """People's ratings; for graders that label passages, the judgments."""
    topics: Ints
    folds: Ints

    @property
    def errors(self) -> NDArray[np.float64]:
        return (self.votes - self.human[:, np.newaxis]).astype(np.float64)

    @property
    def effective(self) -> EffectiveJudges:
        return effective_judges(self.errors, self.topics)

    def weights(self) -> NDArray[np.float64]:
        """Return cross-fitted weights. Raises CannotForm."""
        if len(self.human) < LEAST_CELLS:
            raise CannotForm(
                f"Weights need {LEAST_CELLS} pairs that people and all members have rated; there are "
                f"{len(self.human)}."
            )
        return cross_fitted_weights(self.errors, self.folds)

    def same(self, member: int) -> float:
        """Return the share of the cells that the member rates as people do; NaN without cells."""
        return float((self.votes[:, member] == self.human).mean()) if len(self.human) else float("nan")

    def kappa(self, member: int) -> float:
        """Return the member's kappa with people, with squared weights; NaN where it is undefined."""
        values = sorted({*self.votes[:, member].tolist(), *self.human.tolist()})
        if len(values) < 2:
            return float("nan")
        levels = range(values[0], values[-1] + 1)
        return float(
            weighted_kappa(contingency(self.votes[:, member], self.human, rows=levels, columns=levels))
        )


def rated_votes(collection: Collection, voters: Sequence[GraderConfig | None]) -> RatedVotes:
    """Return the votes of these members on cells that people rated, without those hidden from the reader.

    Cells that one of them was shown, as exemplars, are left out.

    On a scale other than people's, both say 1 where the item is covered, else 0.
    """
    pool = collection_pool(collection)
    by_member = MemberMatrices(voters, pool)
    is_direct = any(voter and voter.purpose == Purpose.DIRECT for voter in voters)
    human = {} if is_direct else human_matrices(pool)
    votes, rated, topics, folds = [], [], [], []
    exemplars = exemplar_cells(voters)
    for topic in pool.topics:
        uids, truth = _judgments(topic, voters) if is_direct else _ratings(human[topic.topic_id])
        cast = by_member.votes(topic.topic_id, uids, len(topic.doc_ids))
        truth = without_exemplars(truth, topic, uids, exemplars)
        both = cast.voted.all(axis=0) & (truth >= 0)
        votes.append(cast.ratings[:, both].T.astype(np.int64))
        rated.append(truth[both].astype(np.int64))
        topics.append(np.full(int(both.sum()), topic.topic_id, dtype=np.int64))
        folds.append(np.full(int(both.sum()), fold_of(topic.query_id), dtype=np.int64))
    none = np.zeros(0, dtype=np.int64)
    cast_votes = np.concatenate([np.zeros((0, len(voters)), dtype=np.int64), *votes])
    truths, of_topics, in_folds = (np.concatenate([none, *parts]) for parts in (rated, topics, folds))
    present = next((voter for voter in voters if voter), None)
    if present and not is_direct and scale_of(present) != WHOLE_SCALE:
        cast_votes = (cast_votes >= default_min_grade(present)).astype(np.int64)
        truths = (truths >= USUAL_MIN_GRADE).astype(np.int64)
    return RatedVotes(cast_votes, truths, of_topics, in_folds)


def _ratings(human: HumanGrades) -> tuple[tuple[str, ...], NDArray[np.int8]]:
    return human.matrix.item_ids, human.matrix.ratings


def _judgments(
    topic: TopicPool, voters: Sequence[GraderConfig | None]
) -> tuple[tuple[str, ...], NDArray[np.int16]]:
    """Return the judgments on the scale of the labels, as one column."""
    highest = max(scale_of(voter)[1] for voter in voters if voter)
    labels = judged(topic)
    return (DIRECT_UID,), np.where(labels == UNJUDGED, MISSING, labels.clip(0, highest))[:, np.newaxis]


def form_panel(
    collection: Collection, groups: Sequence[Sequence[GraderConfig]], choice: PanelChoice, *, by: User | None
) -> list[GradingJob]:
    """Make a panel of these graders, and start the jobs that combine what they have graded.

    A grader is given by its configs, of which each kind of item takes one; there is a config of the panel for
    each choice of them. Raises CannotForm.
    """
    with transaction.atomic():
        formed = [
            panel_config(voters, _with_weights(collection, voters, choice)) for voters in member_sets(groups)
        ]
        jobs = actions.start_grading(collection, by=by, configs=formed)
        if not jobs and not any(config.stamps.filter(topic__collection=collection) for config in formed):
            raise CannotForm("No pair has been graded by enough of these graders.")
        for config in formed:
            audit.record("panel formed", collection, by=by, detail=str(config)[:200])
    return jobs


def member_sets(groups: Sequence[Sequence[GraderConfig]]) -> list[list[GraderConfig]]:
    """Return the members of each config of a panel: one of every grader, for the kinds that all grade."""
    sets: dict[tuple[int, ...], list[GraderConfig]] = {}
    for kind in ItemKind:
        fitting = [next((each for each in group if kind in kinds_of(each)), None) for group in groups]
        voters = [voter for voter in fitting if voter]
        if len(voters) == len(groups):
            sets.setdefault(tuple(voter.pk for voter in voters), voters)
    if not sets:
        raise CannotForm("These graders do not grade the same kind of item.")
    for voters in sets.values():
        require_alike(voters)
    return list(sets.values())


def _with_weights(collection: Collection, voters: Sequence[GraderConfig], choice: PanelChoice) -> PanelChoice:
    if choice.rule is not PanelRule.WEIGHTS:
        return choice
    return replace(choice, weights=rated_votes(collection, voters).weights().tolist())


def panels_of(collection: Collection) -> list[GraderConfig]:
    """Return the panels that have grades or jobs in the collection, the newest first."""
    return _panels(collection.pk)


@compiled_once
def _panels(collection: int) -> QuerySet[GraderConfig, GraderConfig]:
    here = Q(jobs__collection=collection) | Q(stamps__topic__collection=collection)
    return GraderConfig.objects.filter(here, backend=PANEL).distinct().order_by("-pk")


@dataclass(frozen=True, slots=True)
class RepeatedGrader:
    """How far a grader agrees with another attempt of itself."""

    config: GraderConfig
    """The other attempt."""
    cells: int
    same: float
    """The share of equal ratings."""


def repeated(collection: Collection, config: GraderConfig) -> list[RepeatedGrader]:
    """Return the other attempts of this model, prompt and options that have graded the same cells."""
    settled = {name: value for name, value in config.options.items() if name != ATTEMPT}
    alike = GraderConfig.objects.filter(
        backend=config.backend, llm=config.llm, prompt_class=config.prompt_class, purpose=config.purpose
    ).exclude(pk=config.pk)
    attempts = [
        other
        for other in alike.order_by("pk")
        if {name: value for name, value in other.options.items() if name != ATTEMPT} == settled
    ]
    pool = collection_pool(collection) if attempts else None
    compared = [_repeated(config, other, pool) for other in attempts if pool]
    return [each for each in compared if each.cells]


def _repeated(config: GraderConfig, other: GraderConfig, pool: CollectionPool) -> RepeatedGrader:
    first, second = matrices(config, pool), matrices(other, pool)
    cells = same = 0
    for topic_id, grades in first.items():
        ratings = grades.matrix.ratings
        again = second[topic_id].matrix.columns(grades.matrix.item_ids).ratings
        both = (ratings >= 0) & (again >= 0)
        cells += int(both.sum())
        same += int((both & (ratings == again)).sum())
    return RepeatedGrader(other, cells, same / cells if cells else float("nan"))
