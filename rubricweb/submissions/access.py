"""Fetch and authorise in one call: teams reach their own submissions, organizers all of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection
from rubricweb.submissions.models import Call, Submission


@dataclass(frozen=True, slots=True)
class Desk:
    """A collection as somebody who may submit reaches it."""

    collection: Collection
    team: str
    """Empty for organizers, who act for any team."""

    @property
    def is_organizer(self) -> bool:
        return not self.team


def desk_for(user: User, slug: str) -> Desk:
    """Return the desk for participants and organizers. Raises 403 for the roles between."""
    collection = collection_for(user, slug, needed=roles.TO_SUBMIT)
    held = roles.require(user, collection, roles.TO_SUBMIT)
    if held is roles.Role.PARTICIPANT:
        return Desk(collection, collection.memberships.get(user=user).team)
    if not held.includes(roles.TO_ORGANIZE):
        raise PermissionDenied(f"Only participants and organizers submit runs. Your role here: {held.label}.")
    return Desk(collection, "")


def collection_with_topics(user: User, slug: str) -> Collection:
    """Return the collection to members, and to participants once one of its calls has opened."""
    collection = collection_for(user, slug, needed=roles.TO_SUBMIT)
    held = roles.require(user, collection, roles.TO_SUBMIT)
    if held is roles.Role.PARTICIPANT and not any(call.has_opened for call in collection.calls.all()):
        raise Http404("No call has opened yet.")
    return collection


def call_to_submit(user: User, slug: str, call_id: int) -> tuple[Desk, Call]:
    desk = desk_for(user, slug)
    call: Call = get_object_or_404(desk.collection.calls.select_related("collection"), pk=call_id)
    return desk, call


def call_for_organizer(user: User, slug: str, call_id: int) -> Call:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    call: Call = get_object_or_404(collection.calls.select_related("collection"), pk=call_id)
    return call


def submission_for(user: User, slug: str, submission_id: int) -> tuple[Desk, Submission]:
    """Return a submission of the user's team, or for an organizer any; 404 for those of other teams."""
    desk = desk_for(user, slug)
    rows = Submission.objects.filter(call__collection=desk.collection)
    if not desk.is_organizer:
        rows = rows.filter(team=desk.team)
    related = ("call__collection", "by", "run", "let_in_by", "replaces")
    submission: Submission = get_object_or_404(rows.select_related(*related), pk=submission_id)
    return desk, submission


def submission_for_organizer(user: User, slug: str, submission_id: int) -> Submission:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    rows = Submission.objects.filter(call__collection=collection).select_related("call__collection", "by")
    submission: Submission = get_object_or_404(rows, pk=submission_id)
    return submission
