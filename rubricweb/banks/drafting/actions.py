"""Request drafts and decide about them, each change with its audit entry and event."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from grading import generation
from grading.errors import UnknownGrader
from grading.generation.models import drafting_backend
from grading.types import Importance, ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import add_item, retire_item, weigh_item
from rubricweb.banks.drafting.models import Draft, DraftRequest, ImportanceSuggestion
from rubricweb.banks.errors import AlreadyDecided, CannotDraft, DuplicateItem, RequestUnderWay
from rubricweb.banks.models import Bank, Item
from rubricweb.core import audit, events
from rubricweb.corpus import convert
from rubricweb.corpus.models import Topic
from rubricweb.jobs import dispatch, endings
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
    dispatch.enqueue([request])
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
    dispatch.enqueue([request])
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
    if endings.cancel(request):
        audit.record("drafts cancelled", request, by=by)


@transaction.atomic
def keep_drafts(lease: Lease[DraftRequest], drafts: generation.Drafts) -> None:
    """Put what the model wrote into the inbox. Raises LeaseLost: then another worker asks it."""
    endings.finish(lease, reply=drafts.raw, prompt_id=drafts.prompt_id)
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
