"""The reader of a request: what may be shown depends on them, wherever in the code it is looked up.

Like Django's active language and time zone, it is set once around a request. Workers and commands have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


@dataclass(slots=True)
class Reader:
    """The reader, and what this request has looked up about them."""

    request: Any = None
    """Its user is looked up lazily; None for a public link."""
    known: dict[int, Any] = field(default_factory=dict)  # what `grades.visibility` found, by collection
    salts: dict[int, str] = field(default_factory=dict)
    """By collection: the salt of `corpus.pseudonyms`; empty where names are shown."""
    run_names: Mapping[str, str] = field(default_factory=dict)
    """By run tag: the name by which it goes in a release; empty where tags are shown."""

    @property
    def user(self) -> User | None:
        user = getattr(self.request, "user", None)
        return user if user is not None and user.is_authenticated else None


_reader: ContextVar[Reader | None] = ContextVar("reader", default=None)


def reader() -> Reader | None:
    """Return the reader; None if nothing is hidden."""
    return _reader.get()


@contextmanager
def reading_as(someone: Reader | None) -> Iterator[None]:
    """Read everything as `someone` inside the block; as None, nothing is hidden."""
    token = _reader.set(someone)
    try:
        yield
    finally:
        _reader.reset(token)
