"""What assessors may not see yet of a cell they shall rate: other people's ratings; if blind, grades too."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet
from numpy.typing import NDArray

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.models import HumanGrade
from rubricweb.review.queue.models import Campaign, CampaignCell

Veiled = frozenset[tuple[int, int]]
"""(revision, passage)"""
BLIND = ~Q(campaign__mode=Campaign.Mode.ASSISTED)
"""Blind, or blind by lot."""


def veiled(person: User, topic: Topic) -> Veiled:
    """Cells of the topic whose ratings by others are hidden from `person` wherever they are shown.

    Those are the cells of open campaigns that the person has, or may still be handed, and has not rated.
    Topic developers and organizers see everything but what they have taken or were named for.
    """
    return _veiled(person, topic.collection, CampaignCell.objects.filter(topic=topic))


def is_veiled(person: User, topic: Topic, revision_id: int, passage_id: int) -> bool:
    """Whether this cell is one of them."""
    return bool(_veiled(person, topic.collection, _of_cell(revision_id, passage_id)))


def blind_cells(person: User, topic: Topic) -> Veiled:
    """Those of them whose grades are hidden as well: of campaigns that are blind, or where it goes by lot."""
    return _veiled(person, topic.collection, CampaignCell.objects.filter(BLIND, topic=topic))


def is_blind(person: User, topic: Topic, revision_id: int, passage_id: int) -> bool:
    """Whether this cell is one of these."""
    return bool(_veiled(person, topic.collection, _of_cell(revision_id, passage_id).filter(BLIND)))


def veil_mask(
    person: User, topic: Topic, passages: Sequence[int], revisions: Sequence[int]
) -> NDArray[np.bool_]:
    """Shape (passages, revisions): which cells of a sheet are among them."""
    mask = np.zeros((len(passages), len(revisions)), dtype=np.bool_)
    if hidden := veiled(person, topic):
        row_of = {pk: row for row, pk in enumerate(passages)}
        for column, revision in enumerate(revisions):
            mask[[row_of[p] for r, p in hidden if r == revision and p in row_of], column] = True
    return mask


def veiled_in(person: User, collection: Collection) -> Veiled:
    """The same for all topics."""
    return _veiled(person, collection, CampaignCell.objects.filter(campaign__collection=collection))


def _of_cell(revision_id: int, passage_id: int) -> QuerySet[CampaignCell]:
    return CampaignCell.objects.filter(revision=revision_id, passage=passage_id)


def _veiled(person: User, collection: Collection, cells: QuerySet[CampaignCell]) -> Veiled:
    rated = HumanGrade.objects.filter(
        by=person, revision=OuterRef("revision"), passage=OuterRef("passage"), is_withdrawn=False
    )
    theirs = Q(turns__person=person) | Q(campaign__people=person)
    if roles.role_of(person, collection) == Role.ASSESSOR:
        theirs |= Q(campaign__people=None, campaign__is_standing=False)
    rows = cells.filter(theirs, ~Exists(rated), campaign__closed_at=None)
    return frozenset(rows.values_list("revision_id", "passage_id"))
