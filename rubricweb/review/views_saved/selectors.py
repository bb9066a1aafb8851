"""What a grid asks of named views."""

from __future__ import annotations

from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from rubricweb.review.views_saved.models import SavedView


def views_of(person: User, collection: Collection) -> list[SavedView]:
    """By name."""
    return list(SavedView.objects.filter(user=person, collection=collection))
