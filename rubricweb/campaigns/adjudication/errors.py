"""Why a decision is not saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.campaigns.adjudication.models import Decision


class AdjudicationError(Exception):
    """Root of the refusals; its text is for the adjudicator."""


class DecidedMeanwhile(AdjudicationError):
    """Another adjudicator decided the cell since; `now` is what they decided."""

    def __init__(self, now: Decision) -> None:
        self.now = now
        super().__init__("Another adjudicator decided this cell meanwhile.")


class NotYourDecision(AdjudicationError):
    """Only who decided can take the decision back; others decide anew."""
