"""Fetch and authorise in one call: prompts for their organizers, calibration cards for members."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import OwnPrompt
from rubricweb.graders.calibration_cards import hides_numbers
from rubricweb.graders.models import CalibrationCard, DryRun
from rubricweb.grades.visibility import Refused


def prompt_for(user: User, slug: str, prompt_id: int) -> OwnPrompt:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    row: OwnPrompt = get_object_or_404(collection.prompts.select_related("collection"), pk=prompt_id)
    return row


def dry_run_for(user: User, slug: str, dry_run_id: int) -> DryRun:
    collection = collection_for(user, slug, needed=roles.TO_ORGANIZE)
    related = collection.dry_runs.select_related("collection", "topic", "revision")
    dry_run: DryRun = get_object_or_404(related, pk=dry_run_id)
    return dry_run


def card_for(user: User, slug: str, card_id: int) -> CalibrationCard:
    """Return the card. Raises Refused for readers from whom cells that it counts are hidden."""
    collection = collection_for(user, slug)
    cards = CalibrationCard.objects.select_related("bank__collection", "config", "by")
    card: CalibrationCard = get_object_or_404(cards, pk=card_id, bank__collection=collection)
    if hides_numbers(card.bank):
        raise Refused("Calibration cards open for you once you have rated your blind pairs.")
    return card
