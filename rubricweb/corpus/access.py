"""Fetch and authorise in one call: an outsider gets 404, too little role 403."""

from __future__ import annotations

from django.http import Http404
from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Topic


def collection_for(user: User, slug: str, *, needed: Role = roles.TO_VIEW) -> Collection:
    collection = Collection.objects.filter(slug=slug).first()
    if collection is None:
        raise Http404("No such collection.")
    roles.require(user, collection, needed)
    return collection


def topic_for(user: User, slug: str, topic_id: int, *, needed: Role = roles.TO_VIEW) -> Topic:
    collection = collection_for(user, slug, needed=needed)
    topic: Topic = get_object_or_404(collection.topics, pk=topic_id)
    return topic
