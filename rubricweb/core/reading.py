"""For whom this request reads: what may be shown depends on it, wherever in the code it is looked up.

Like Django's active language and time zone, it is set once around a request. Workers and commands read for
nobody in particular.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


@dataclass(slots=True)
class Reader:
    """Who reads, and what was found out about that person during this request."""

    request: Any = None
    """Its user is looked up only where somebody asks; None for whoever has a public link."""
    known: dict[int, Any] = field(default_factory=dict)  # what `grades.visibility` found, by collection
    salts: dict[int, str] = field(default_factory=dict)
    """By collection: with what `corpus.pseudonyms` makes pseudonyms; empty where names are shown."""

    @property
    def user(self) -> User | None:
        user = getattr(self.request, "user", None)
        return user if user is not None and user.is_authenticated else None


_reader: ContextVar[Reader | None] = ContextVar("reader", default=None)


def reader() -> Reader | None:
    """Who reads now; None where nothing is hidden."""
    return _reader.get()


@contextmanager
def reading_as(someone: Reader | None) -> Iterator[None]:
    """Inside, everything is read for `someone`; for None, nothing is hidden."""
    token = _reader.set(someone)
    try:
        yield
    finally:
        _reader.reset(token)
