"""Why a flag or a reply is not saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.review.flags.models import Flag, FlagEvent


class FlagError(Exception):
    """Root of the refusals; its text is for the person who writes."""


class EmptyComment(FlagError):
    """A comment without text."""


class UnfitKind(FlagError):
    """Only an item can be spurious, and only a passage uncovered."""


class UnfitAssignee(FlagError):
    """Somebody who may not answer flags here."""


class MovedMeanwhile(FlagError):
    """The flag changed since the writer saw it; `flag` is its present state, `since` the new events."""

    def __init__(self, flag: Flag, since: list[FlagEvent]) -> None:
        self.flag, self.since = flag, since
        super().__init__("Somebody else changed this flag while you were writing.")
