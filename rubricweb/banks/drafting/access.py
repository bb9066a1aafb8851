"""Fetch and authorise in one call, always through the bank."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_for
from rubricweb.banks.drafting.models import Draft, DraftRequest, ImportanceSuggestion


def draft_for_editor(user: User, bank_id: int, draft_id: int) -> Draft:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    drafts = Draft.objects.select_related("request__bank__collection", "request__topic__collection")
    draft: Draft = get_object_or_404(drafts, pk=draft_id, request__bank=bank)
    return draft


def request_for_editor(user: User, bank_id: int, request_id: int) -> DraftRequest:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    requests = DraftRequest.objects.select_related("bank__collection", "topic__collection")
    return get_object_or_404(requests, pk=request_id, bank=bank)


def suggestion_for_editor(user: User, bank_id: int, suggestion_id: int) -> ImportanceSuggestion:
    bank = bank_for(user, bank_id, needed=roles.TO_EDIT_BANK)
    rows = ImportanceSuggestion.objects.select_related(
        "request__bank__collection", "request__topic__collection", "item__bank__collection", "item__revision"
    )
    suggestion: ImportanceSuggestion = get_object_or_404(
        rows, pk=suggestion_id, request__bank=bank, item__isnull=False
    )
    return suggestion
