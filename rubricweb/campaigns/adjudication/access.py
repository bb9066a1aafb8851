"""Fetch and authorise in one call, always through the collection."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.models import ItemRevision
from rubricweb.campaigns.adjudication.models import Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey
from rubricweb.corpus.access import collection_for, pooled_passage
from rubricweb.corpus.models import Collection
from rubricweb.grades.visibility import hidden_of_cell

TO_ADJUDICATE = roles.TO_EDIT_BANK


def place_for(user: User, slug: str, revision_id: int, passage_id: int) -> tuple[Collection, CellKey]:
    collection = collection_for(user, slug, needed=TO_ADJUDICATE)
    revisions = ItemRevision.objects.filter(topic__collection=collection).select_related("topic")
    revision = get_object_or_404(revisions, pk=revision_id)
    pooled_passage(collection, revision.topic_id, passage_id)
    if hidden_of_cell(user, revision.topic, revision.pk, passage_id).people:
        raise PermissionDenied("Rate this pair before you see other people's ratings.")
    return collection, CellKey(revision.topic_id, revision.pk, passage_id)


def decision_for(user: User, slug: str, decision_id: int) -> tuple[Collection, Decision]:
    collection = collection_for(user, slug, needed=TO_ADJUDICATE)
    return collection, get_object_or_404(Decision, pk=decision_id, topic__collection=collection)
