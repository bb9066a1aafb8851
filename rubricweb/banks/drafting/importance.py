"""A model says which nuggets are vital and which okay; people accept it, and only then an item changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from grading import generation
from grading.types import Importance, ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import weigh_item
from rubricweb.banks.drafting.actions import (
    DraftOptions,
    SuggestionState,
    announce,
    decide,
    new_request,
    send_request,
)
from rubricweb.banks.drafting.models import Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.errors import AlreadyDecided, CannotDraft
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Topic
from rubricweb.jobs import endings
from rubricweb.jobs.leases import Lease


@dataclass(frozen=True, slots=True)
class Nugget:
    """A nugget of the bank, or a draft of one."""

    text: str
    item: Item | None = None
    draft: Draft | None = None


def nuggets_of(bank: Bank, topic: Topic) -> list[Nugget]:
    """Return the active nuggets of the topic that have text, and then the drafts of some."""
    items = bank.items.for_topic(topic).active().of_kinds([ItemKind.NUGGET]).exclude(revision__text="")
    drafts = Draft.objects.filter(request__bank=bank, request__topic=topic, request__kind=ItemKind.NUGGET)
    return [
        *(Nugget(str(item), item=item) for item in items.select_related("revision")),
        *(Nugget(draft.text, draft=draft) for draft in drafts.filter(state=Draft.State.WAITING)),
    ]


@transaction.atomic
def request_importance(bank: Bank, topic: Topic, *, backend: str, llm: str, by: User | None) -> DraftRequest:
    """Have a worker ask the model about the topic's nuggets and drafts of some. Raises CannotDraft."""
    request = new_request(bank, topic, DraftOptions(ItemKind.NUGGET, backend, llm), by=by)
    if not nuggets_of(bank, topic):
        raise CannotDraft("This topic has no nuggets to weigh; add some, or draft them.")
    request.asks = DraftRequest.Asks.IMPORTANCE
    request.prompt_id = generation.drafting_prompt("NuggetImportance").prompt_id
    return send_request(request)


@transaction.atomic
def keep_suggestions(
    lease: Lease[DraftRequest], nuggets: Sequence[Nugget], reply: generation.Importances, *, raw: str
) -> None:
    """Store the suggestions of a reply in place of earlier ones about the same nuggets.

    Nuggets without a label in the reply get none. Raises LeaseLost.
    """
    request = lease.work
    endings.finish(lease, reply=raw, prompt_id=reply.prompt_id)
    waiting(request.bank, request.topic).update(state=SuggestionState.LEFT, decided_at=timezone.now())
    ImportanceSuggestion.objects.bulk_create(
        _suggestion(request, nugget, label)
        for place, (nugget, label) in enumerate(zip(nuggets, reply.labels, strict=True))
        if place not in reply.unsaid
    )


def waiting(bank: Bank, topic: Topic) -> QuerySet[ImportanceSuggestion]:
    """Return the suggestions of a topic about which nobody has decided."""
    return ImportanceSuggestion.objects.filter(
        request__bank=bank, request__topic=topic, state=SuggestionState.WAITING
    )


def for_items(bank: Bank, topic: Topic) -> list[ImportanceSuggestion]:
    """Return the suggestions about items that still have the text that the model read."""
    return suggested(bank, topic)[0]


def suggested(bank: Bank, topic: Topic) -> tuple[list[ImportanceSuggestion], dict[int, ImportanceSuggestion]]:
    """Return the waiting suggestions: about items, in the bank's order, and about drafts, by draft."""
    rows = list(waiting(bank, topic).select_related("item__revision", "request").order_by("item__position"))
    items = [row for row in rows if row.item and not row.item.is_retired and str(row.item) == row.text]
    return items, {row.draft_id: row for row in rows if row.draft_id}


@transaction.atomic
def accept_suggestion(suggestion: ImportanceSuggestion, *, by: User | None) -> Item:
    """Give the item the suggested importance. Raises AlreadyDecided, or Conflict."""
    item = suggestion.item
    if item is None:
        raise AlreadyDecided
    decide(suggestion, SuggestionState.ACCEPTED, by)
    weigh_item(item, importance=Importance(suggestion.importance), seen=item.version, by=by)
    announce(suggestion.request)
    return item


def accept_suggestions(suggestions: Iterable[ImportanceSuggestion], *, by: User | None) -> int:
    """Accept each suggestion that can be, and return how many."""
    accepted = 0
    for suggestion in suggestions:
        try:
            accept_suggestion(suggestion, by=by)
        except AlreadyDecided:
            continue
        accepted += 1
    return accepted


@transaction.atomic
def leave_suggestion(suggestion: ImportanceSuggestion, *, by: User | None) -> None:
    """Reject a suggestion; the item stays as it is. Raises AlreadyDecided."""
    decide(suggestion, SuggestionState.LEFT, by)
    announce(suggestion.request)


def _suggestion(request: DraftRequest, nugget: Nugget, label: Importance) -> ImportanceSuggestion:
    is_same = nugget.item is not None and nugget.item.importance == label
    return ImportanceSuggestion(
        request=request,
        item=nugget.item,
        draft=nugget.draft,
        text=nugget.text,
        importance=label.value,
        state=SuggestionState.AGREED if is_same else SuggestionState.WAITING,
        decided_at=timezone.now() if is_same else None,
    )
