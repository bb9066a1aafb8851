"""Fetch and authorise in one call: releases are a collection's organizers' business."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.releases.models import Release


def release_for(user: User, slug: str, release_id: int) -> Release:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    release: Release = get_object_or_404(collection.releases.select_related("by"), pk=release_id)
    release.collection = collection
    return release
