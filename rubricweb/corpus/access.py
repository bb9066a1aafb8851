"""Fetch and authorise in one call: an outsider gets 404, too little role 403."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Passage, Pooled, Run
from rubricweb.corpus.pools import collection_pool


def collection_for(user: User, slug: str, *, needed: roles.Role = roles.TO_VIEW) -> Collection:
    for collection in _by_slug(slug):
        roles.require(user, collection, needed)
        return collection
    raise Http404("No such collection.")


@compiled_once
def _by_slug(slug: str) -> QuerySet[Collection, Collection]:
    return Collection.objects.filter(slug=slug)


def pooled_passage(collection: Collection, topic_id: int, passage_id: int) -> Passage:
    """Return a passage of the topic's pool, unless only runs bring it that do not count (Http404)."""
    pooled = get_object_or_404(
        Pooled.objects.select_related("passage"),
        topic=topic_id,
        topic__collection=collection,
        passage=passage_id,
    )
    if collection_pool(collection).is_left_out(topic_id, passage_id):
        raise Http404("Only runs that are not accepted bring this passage.")
    return pooled.passage


def run_for_organizer(user: User, slug: str, run_id: int) -> Run:
    """Return a run of the collection, whatever its state."""
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    run: Run = get_object_or_404(collection.runs.select_related("collection"), pk=run_id)
    return run
