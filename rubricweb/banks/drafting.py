"""Drafts and suggestions of importance by a language model: request them, and decide about them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from grading import generation
from grading.errors import UnknownGrader
from grading.generation.models import drafting_backend
from grading.types import Importance, ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import add_item, retire_item, weigh_item
from rubricweb.banks.changes import AlreadyDecided, CannotDraft, DuplicateItem, RequestUnderWay
from rubricweb.banks.draft_models import Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import Bank, Item
from rubricweb.core import audit, events
from rubricweb.corpus import convert
from rubricweb.corpus.models import Topic
from rubricweb.jobs import leases, queue
from rubricweb.jobs.leases import Lease

SuggestionState = ImportanceSuggestion.State
logger = logging.getLogger(__name__)
State = DraftRequest.State


@dataclass(frozen=True, slots=True)
class DraftOptions:
    """The kind of items to draft and the model that drafts; without one, the back-end's default."""

    kind: ItemKind
    backend: str
    llm: str = ""
    facet_id: str = ""


def request_of(row: DraftRequest) -> generation.DraftTask:
    subtopic = row.topic.subtopics.filter(facet_id=row.facet_id).first() if row.facet_id else None
    subtopic_text = (subtopic.text or subtopic.facet_id) if subtopic else row.facet_id
    return generation.DraftTask(convert.topic(row.topic), ItemKind(row.kind), subtopic_text)


def decide(suggestion: ImportanceSuggestion, state: SuggestionState, by: User | None) -> None:
    """Decide about a suggested importance. Raises AlreadyDecided."""
    same = ImportanceSuggestion.objects.filter(pk=suggestion.pk, state=SuggestionState.WAITING)
    if not same.update(state=state, decided_by=by, decided_at=timezone.now()):
        raise AlreadyDecided
    audit.record(f"importance {state}", suggestion, by=by, detail=str(suggestion)[:200])


@transaction.atomic
def weigh_accepted(draft: Draft, item: Item, *, by: User | None) -> None:
    """Give an item from a draft the importance suggested for it, if its text is that of the draft."""
    suggestion = draft.importance_suggestions.filter(state=SuggestionState.WAITING, text=str(item)).last()
    if suggestion is not None:
        decide(suggestion, SuggestionState.ACCEPTED, by)
        weigh_item(item, importance=Importance(suggestion.importance), seen=item.version, by=by)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The result of accepting several drafts; duplicates of items and decided drafts are left."""

    items: tuple[Item, ...]
    left: int


@transaction.atomic
def request_drafts(bank: Bank, topic: Topic, options: DraftOptions, *, by: User | None) -> DraftRequest:
    """Have a worker ask the model. Raises CannotDraft."""
    request = new_request(bank, topic, options, by=by)
    request.prompt_id = request_of(request).prompt.prompt_id
    return send_request(request)


def new_request(bank: Bank, topic: Topic, options: DraftOptions, *, by: User | None) -> DraftRequest:
    """Return a request that is not saved yet. Raises CannotDraft."""
    if not topic.text:
        raise CannotDraft("This topic has no text to draft from; import its query first.")
    try:
        backend = drafting_backend(options.backend)
    except UnknownGrader as error:
        raise CannotDraft(str(error)) from error
    request = DraftRequest(bank=bank, topic=topic, backend=backend.name, by=by)
    request.llm, request.kind = options.llm or backend.default_llm, str(options.kind)
    request.facet_id = options.facet_id
    return request


def send_request(request: DraftRequest) -> DraftRequest:
    """Save it and have a worker answer it. Raises CannotDraft where the same is being asked already."""
    Bank.objects.select_for_update(no_key=True).get(pk=request.bank_id)
    same = ("topic", "asks", "kind", "facet_id", "backend", "llm")
    live = request.bank.draft_requests.filter(state__in=DraftRequest.LIVE)
    if live.filter(**{name: getattr(request, name) for name in same}).exists():
        raise CannotDraft(f"{request.llm} is already being asked for that.")
    request.save()
    detail = f"{request} for topic {request.topic.query_id}"
    audit.record("drafts requested", request, by=request.by, detail=detail)
    queue.enqueue([request])
    announce(request)
    return request


@transaction.atomic
def ask_again(request: DraftRequest, *, by: User | None) -> DraftRequest:
    """Queue a request again that failed or was cancelled. Raises RequestUnderWay."""
    fresh = {
        "state": State.QUEUED,
        "attempts": 0,
        "error": "",
        "reply": "",
        "queued_at": timezone.now(),
        "ended_at": None,
        "is_dismissed": False,
    }
    ended = DraftRequest.objects.filter(pk=request.pk, state__in=(State.FAILED, State.CANCELLED))
    if not ended.update(**fresh):
        raise RequestUnderWay
    request.refresh_from_db()
    audit.record("drafts requested again", request, by=by)
    queue.enqueue([request])
    announce(request)
    return request


@transaction.atomic
def dismiss_request(request: DraftRequest, *, by: User | None) -> None:
    """Take one that failed or was cancelled out of the inbox; its reply is kept."""
    ended = (State.FAILED, State.CANCELLED)
    left = DraftRequest.objects.filter(pk=request.pk, state__in=ended, is_dismissed=False)
    if left.update(is_dismissed=True):
        audit.record("failed drafts dismissed", request, by=by)
        announce(request)


@transaction.atomic
def cancel_request(request: DraftRequest, *, by: User | None) -> None:
    """Stop asking the model; a local one stops writing within a second or so. Nothing happens at its end."""
    if leases.cancel(request):
        audit.record("drafts cancelled", request, by=by)


@transaction.atomic
def keep_drafts(lease: Lease[DraftRequest], drafts: generation.Drafts) -> None:
    """Put what the model wrote into the inbox. Raises LeaseLost: then another worker asks it."""
    leases.finish(lease, reply=drafts.raw, prompt_id=drafts.prompt_id)
    Draft.objects.bulk_create([Draft(request=lease.work, text=text) for text in drafts.texts])


@transaction.atomic
def accept_draft(draft: Draft, *, by: User | None, text: str = "") -> Item:
    """Make an item of the draft, with other words where `text` has some; the draft keeps its own.

    Raises AlreadyDecided, or what `add_item` raises; the draft then waits on.
    """
    _decide(draft, Draft.State.ACCEPTED, by)
    request, wording = draft.request, text.strip() or draft.text
    item = add_item(
        request.bank,
        request.topic,
        kind=ItemKind(request.kind),
        text=wording,
        facet_id=request.facet_id,
        by=by,
    )
    draft.item = item
    draft.save(update_fields=["item"])
    weigh_accepted(draft, item, by=by)
    return item


@transaction.atomic
def reject_draft(draft: Draft, *, by: User | None) -> None:
    """Take the draft out of the inbox. Raises AlreadyDecided."""
    _decide(draft, Draft.State.REJECTED, by)
    announce(draft.request)


def accept_drafts(drafts: Iterable[Draft], *, by: User | None) -> Accepted:
    """Accept each that can be; one that is refused waits on and does not stop the others."""
    items, left = [], 0
    for draft in drafts:
        try:
            items.append(accept_draft(draft, by=by))
        except (DuplicateItem, AlreadyDecided):
            left += 1
    return Accepted(tuple(items), left)


def reject_drafts(drafts: Iterable[Draft], *, by: User | None) -> list[Draft]:
    """Reject each that still waits; returns those."""
    rejected = []
    for draft in drafts:
        try:
            reject_draft(draft, by=by)
        except AlreadyDecided:
            continue
        rejected.append(draft)
    return rejected


@transaction.atomic
def reopen_drafts(drafts: Iterable[Draft], *, by: User | None) -> int:
    """Put each decided draft back into the inbox; returns how many. An item that came from one is retired."""
    reopened = [draft for draft in drafts if _reopen(draft, by)]
    for request in {draft.request for draft in reopened}:
        announce(request)
    return len(reopened)


def _reopen(draft: Draft, by: User | None) -> bool:
    decided = Draft.objects.filter(pk=draft.pk).exclude(state=Draft.State.WAITING)
    if not decided.update(state=Draft.State.WAITING, decided_by=None, decided_at=None, item=None):
        return False
    if draft.item and not draft.item.is_retired:
        retire_item(draft.item, seen=draft.item.version, by=by)
    audit.record("draft reopened", draft, by=by)
    return True


def _decide(draft: Draft, state: Draft.State, by: User | None) -> None:
    now = timezone.now()
    waiting = Draft.objects.filter(pk=draft.pk, state=Draft.State.WAITING)
    if not waiting.update(state=state, decided_by=by, decided_at=now):
        raise AlreadyDecided
    draft.state, draft.decided_by, draft.decided_at = state, by, now
    audit.record(f"draft {state}", draft, by=by)


def announce(request: DraftRequest) -> None:
    events.publish_on_commit(request.bank.collection.channel, "items")


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
    leases.finish(lease, reply=raw, prompt_id=reply.prompt_id)
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
    """Give the item the suggested importance. Raises AlreadyDecided, or EditConflict."""
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
