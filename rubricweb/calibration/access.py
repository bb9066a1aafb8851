"""Fetch cards through their collection."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from rubricweb.accounts.models import User
from rubricweb.calibration.cards import hides_numbers
from rubricweb.calibration.models import CalibrationCard
from rubricweb.corpus.access import collection_for
from rubricweb.grades.visibility import Refused


def card_for(user: User, slug: str, card_id: int) -> CalibrationCard:
    """Return the card. Raises Refused for readers from whom cells are hidden, which a card counts."""
    collection = collection_for(user, slug)
    cards = CalibrationCard.objects.select_related("bank__collection", "config", "by")
    card: CalibrationCard = get_object_or_404(cards, pk=card_id, bank__collection=collection)
    if hides_numbers(card.bank):
        raise Refused("Calibration cards open for you once you have rated your blind pairs.")
    return card
