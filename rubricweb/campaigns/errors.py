"""Why a campaign, a rating in one, or a decision is refused; the texts are for the person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.campaigns.models import Decision


class QueueError(Exception):
    """Root of the queue's refusals."""


class UnfitCampaign(QueueError):
    """A choice that leaves nothing to rate, or too much."""


class UnknownNames(QueueError):
    """Topics or people that the collection does not have; `field` is where they were named."""

    def __init__(self, field: str, names: Iterable[str]) -> None:
        self.field = field
        super().__init__(f"Not in the collection: {', '.join(names)}.")


class NothingToUndo(QueueError):
    """This person did nothing in this campaign that could be undone."""


class NotYours(QueueError):
    """The cell was handed to somebody else, or to nobody."""


class AdjudicationError(Exception):
    """Root of the refusals of adjudication."""


class DecidedMeanwhile(AdjudicationError):
    """Another adjudicator decided the cell in the meantime; `now` is their decision."""

    def __init__(self, now: Decision) -> None:
        self.now = now
        super().__init__("Another adjudicator decided this pair meanwhile.")


class NotYourDecision(AdjudicationError):
    """Somebody else made the decision: only they can withdraw it; others decide anew."""


class NeedsReason(AdjudicationError):
    """Who rated a cell themselves decides it only with a reason, which the log keeps."""
