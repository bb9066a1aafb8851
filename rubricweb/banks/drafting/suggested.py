"""Deciding about a suggested importance, once."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from grading.types import Importance
from rubricweb.accounts.models import User
from rubricweb.banks.actions import weigh_item
from rubricweb.banks.drafting.models import Draft, ImportanceSuggestion
from rubricweb.banks.errors import AlreadyDecided
from rubricweb.banks.models import Item
from rubricweb.core import audit

State = ImportanceSuggestion.State


def decide(suggestion: ImportanceSuggestion, state: State, by: User | None) -> None:
    """Raises AlreadyDecided."""
    same = ImportanceSuggestion.objects.filter(pk=suggestion.pk, state=State.WAITING)
    if not same.update(state=state, decided_by=by, decided_at=timezone.now()):
        raise AlreadyDecided
    audit.record(f"importance {state}", suggestion, by=by, detail=str(suggestion)[:200])


@transaction.atomic
def weigh_accepted(draft: Draft, item: Item, *, by: User | None) -> None:
    """An item from a draft gets what was suggested of it, where its words are those of the draft."""
    suggestion = draft.importance_suggestions.filter(state=State.WAITING, text=str(item)).last()
    if suggestion is not None:
        decide(suggestion, State.ACCEPTED, by)
        weigh_item(item, importance=Importance(suggestion.importance), seen=item.version, by=by)
