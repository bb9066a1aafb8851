"""What assessors may not see yet: other people's ratings of a cell that is theirs to rate independently."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Topic
from rubricweb.grades.models import HumanGrade
from rubricweb.review.queue.models import CampaignCell

Veiled = frozenset[tuple[int, int]]
"""(revision, passage)"""


def veiled(person: User, topic: Topic) -> Veiled:
    """Cells of the topic whose ratings by others are hidden from `person` wherever they are shown.

    Those are the cells of open campaigns that the person has, or may still be handed, and has not rated.
    Topic developers and organizers see everything but what they have taken or were named for.
    """
    return _veiled(person, topic.collection, CampaignCell.objects.filter(topic=topic))


def veiled_in(person: User, collection: Collection) -> Veiled:
    """The same for all topics."""
    return _veiled(person, collection, CampaignCell.objects.filter(campaign__collection=collection))


def _veiled(person: User, collection: Collection, cells: QuerySet[CampaignCell]) -> Veiled:
    rated = HumanGrade.objects.filter(
        by=person, revision=OuterRef("revision"), passage=OuterRef("passage"), is_withdrawn=False
    )
    theirs = Q(turns__person=person) | Q(campaign__people=person)
    if roles.role_of(person, collection) == Role.ASSESSOR:
        theirs |= Q(campaign__people=None, campaign__is_standing=False)
    rows = cells.filter(theirs, ~Exists(rated), campaign__closed_at=None)
    return frozenset(rows.values_list("revision_id", "passage_id"))
