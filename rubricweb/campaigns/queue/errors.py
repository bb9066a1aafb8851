"""Why a campaign, or what an assessor sends, is refused."""

from __future__ import annotations


class QueueError(Exception):
    """Root of the refusals; its text is for the person."""


class UnfitCampaign(QueueError):
    """A choice that leaves nothing to rate, or too much."""


class NothingToUndo(QueueError):
    """This person did nothing in this campaign that could be undone."""


class NotYours(QueueError):
    """The cell was handed to somebody else, or to nobody."""
