"""Name a view, and forget it."""

from __future__ import annotations

from django.db import transaction
from django.http import QueryDict

from rubricweb.accounts.models import User
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.review.forms import GridForm
from rubricweb.review.views_saved.models import SavedView

OF_ONE_TOPIC = {"page", "columns", "at"}
"""What a view of all topics cannot keep."""


@transaction.atomic
def save_view(collection: Collection, *, name: str, address: str, by: User) -> SavedView:
    """Keep what `address`, the query part of a grid's, chooses; a view of the same name gives way."""
    said, kept = QueryDict(address), QueryDict(mutable=True)
    for field in GridForm.base_fields:
        if field not in OF_ONE_TOPIC and said.get(field):
            kept[field] = said[field]
    view, _ = SavedView.objects.update_or_create(
        user=by, collection=collection, name=name, defaults={"address": kept.urlencode()}
    )
    audit.record("view saved", view, by=by, detail=name)
    return view


@transaction.atomic
def drop_view(view: SavedView, *, by: User) -> None:
    audit.record("view dropped", view, by=by, detail=view.name)
    view.delete()
