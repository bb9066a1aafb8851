"""What assessors may not see yet of a cell they shall rate: other people's ratings; if blind, grades too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Exists, OuterRef, Q, QuerySet
from numpy.typing import NDArray

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.models import HumanGrade
from rubricweb.review.queue.models import Campaign, CampaignCell

Places = set[tuple[int, int]]
"""(revision, passage)"""


@dataclass(frozen=True, slots=True)
class Veil:
    """Cells of open campaigns that a person has, or may still be handed, and has not rated.

    Topic developers and organizers see everything but what they have taken or were named for.
    """

    people: Places = field(default_factory=set)
    """What others say of these is hidden from the person wherever it is shown."""
    graders: Places = field(default_factory=set)
    """What graders say of these as well: their campaigns are blind, or it goes by lot."""


def veiled(person: User, topic: Topic) -> Veil:
    """Over one topic."""
    return _veils(person, topic.collection, CampaignCell.objects.filter(topic=topic))[topic.pk]


def veiled_cell(person: User, topic: Topic, revision_id: int, passage_id: int) -> Veil:
    """Over one cell of the topic: it is under the veil, or nothing is."""
    cells = CampaignCell.objects.filter(revision=revision_id, passage=passage_id)
    return _veils(person, topic.collection, cells)[topic.pk]


def veiled_in(person: User, collection: Collection) -> Mapping[int, Veil]:
    """Over every topic, by its id; nothing is hidden where there is none."""
    cells = CampaignCell.objects.filter(campaign__collection=collection)
    return _veils(person, collection, cells)


def veil_mask(hidden: Places, passages: Sequence[int], revisions: Sequence[int]) -> NDArray[np.bool_]:
    """Shape (passages, revisions): which cells of a topic's sheet are hidden."""
    mask = np.zeros((len(passages), len(revisions)), dtype=np.bool_)
    if hidden:
        by_revision: dict[int, set[int]] = defaultdict(set)
        for revision, passage in hidden:
            by_revision[revision].add(passage)
        for column, revision in enumerate(revisions):
            mask[:, column] = [passage in by_revision[revision] for passage in passages]
    return mask


def _veils(person: User, collection: Collection, cells: QuerySet[CampaignCell]) -> dict[int, Veil]:
    rated = HumanGrade.objects.filter(
        by=person, revision=OuterRef("revision"), passage=OuterRef("passage"), is_withdrawn=False
    )
    theirs = Q(turns__person=person) | Q(campaign__people=person)
    if roles.role_of(person, collection) == Role.ASSESSOR:
        theirs |= Q(campaign__people=None, campaign__is_standing=False)
    rows = cells.filter(theirs, ~Exists(rated), campaign__closed_at=None)
    found: dict[int, Veil] = defaultdict(Veil)
    for topic, mode, *place in rows.values_list("topic_id", "campaign__mode", "revision_id", "passage_id"):
        found[topic].people.add((place[0], place[1]))
        if mode != Campaign.Mode.ASSISTED:
            found[topic].graders.add((place[0], place[1]))
    return found
