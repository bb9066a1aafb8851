"""Why a draft, or asking for some, is refused."""

from __future__ import annotations

from rubricweb.banks.errors import BankError


class CannotDraft(BankError):
    """What was asked for cannot be drafted; the text says what to choose instead."""


class AlreadyDecided(BankError):
    """Somebody else accepted or rejected the draft first."""

    def __init__(self) -> None:
        super().__init__("Somebody decided about this draft already.")


class NotAskedAgain(BankError):
    """The request is done, or a worker is still at it."""

    def __init__(self) -> None:
        super().__init__("This request is done, or a worker is still at it.")
