"""Why a change to a bank is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.banks.models import Item


class BankError(Exception):
    """Root of the refusals; its text is for the person who edits."""


class EmptyWording(BankError):
    """An item without words."""


class NoAnswerKey(BankError):
    """An item that answers cannot be compared with: a nugget, or a question whose words are unknown."""


class UnfitAnswerKey(BankError):
    """Too many accepted answers, or one that is too long."""


class UnfitWeight(BankError):
    """A weight out of its range."""


class UnfitVersion(BankError):
    """A version that cannot be named so, or that holds nothing."""


class UnfitSpan(BankError):
    """Words that are said to stand in a passage, and do not."""


class UnfitMerge(BankError):
    """Two items that cannot stand for each other."""


class BankMoved(BankError):
    """Somebody changed the bank since the writer saw it, so the whole change is refused."""

    def __init__(self) -> None:
        super().__init__("Somebody changed this bank meanwhile, so nothing was changed. Look again.")


class AlreadyAsked(BankError):
    """The bank already holds an active item with these words."""

    def __init__(self, twin: Item) -> None:
        self.twin = twin
        super().__init__("This topic already asks exactly this.")


class Conflict(BankError):
    """Somebody else changed the item since the writer saw it; `item` is as it is now."""

    def __init__(self, item: Item, seen: int) -> None:
        self.item, self.seen = item, seen
        super().__init__("Somebody changed this item while you were editing it.")


class WrongText(BankError):
    """These are not the words that the id was made from."""

    def __init__(self, uid: str) -> None:
        self.uid = uid
        super().__init__(
            "These are not the words behind this id: their md5 is another. "
            "Spelling, case and inner spaces count."
        )
