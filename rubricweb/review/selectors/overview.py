"""What waits for a person in a collection's review screens."""

from __future__ import annotations

from dataclasses import dataclass

from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank
from rubricweb.campaigns.adjudication import selectors as adjudication
from rubricweb.campaigns.queue.progress import CampaignRow, campaign_rows
from rubricweb.corpus.models import Collection
from rubricweb.review.flags.selectors import InboxCounts, inbox_counts


@dataclass(frozen=True, slots=True)
class Overview:
    campaigns: tuple[CampaignRow, ...]
    """Open ones that need ratings which the person may still give."""
    flags: InboxCounts
    conflicts: int
    unanimous: int
    """Cells that their assessors rated alike and nobody has decided."""
    banks: tuple[Bank, ...]


def overview(collection: Collection, person: User) -> Overview:
    conflicts = adjudication.conflicts(collection, adjudication.Query(), person)
    rows = campaign_rows(collection, person)
    return Overview(
        campaigns=tuple(row for row in rows if row.campaign.is_open and row.is_mine and row.left_for_reader),
        flags=inbox_counts(collection, person),
        conflicts=conflicts.open,
        unanimous=conflicts.unanimous,
        banks=tuple(collection.banks.all()),
    )
