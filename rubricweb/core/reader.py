"""The reader, who determines what may be shown.

Like Django's active language and time zone, the reader is set once around a piece of work: `ReaderMiddleware`
sets the user of a request, `jobs.worker` and `OperatorCommand` use `everything()`. Code without a reader
reads nothing: `reader` raises NoReader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from django.core.exceptions import PermissionDenied
from django.core.management.base import BaseCommand, CommandError

from rubricweb import __version__
from rubricweb.core.formatting import counted, number

if TYPE_CHECKING:
    from rubricweb.accounts.models import User


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
SAFE = ("GET", "HEAD")
"""Methods of requests that change nothing that pages show."""


class NoReader(RuntimeError):
    """Raised where hideable content is read and no reader was set."""

    def __str__(self) -> str:
        return (
            "Nobody said who reads here. Run it inside `everything()` if its result is shown to nobody or to "
            "people who may see all of it, else inside `reading_as(...)` (rubricweb.core.reader)."
        )


@dataclass(slots=True)
class Reader:
    """The reader, with what this request has looked up about them."""

    request: Any = None
    """Request whose user is looked up lazily; None for a public link."""
    sees_everything: bool = False
    hidden: dict[int, Any] = field(default_factory=dict)  # what `grades.visibility` found, by collection
    cells: dict[int, set[tuple[int, int, int]]] = field(default_factory=dict)
    """Hidden cells among those read, as (topic, revision, passage), by collection."""
    ratings: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Number of hidden ratings and of all, by collection whose human ratings were listed."""
    salts: dict[int, str] = field(default_factory=dict)
    """Salt of `corpus.pseudonyms` by collection; empty where names are shown."""
    run_names: Mapping[str, str] = field(default_factory=dict)
    """Names of runs in a release, by run tag; empty where tags are shown."""
    read: dict[Any, Any] = field(default_factory=dict)
    """What functions that are `read_once` returned."""

    @property
    def user(self) -> User | None:
        user = getattr(self.request, "user", None)
        return user if user is not None and user.is_authenticated else None

    @property
    def sentence(self) -> str:
        """Return how much is hidden of what was read; empty if nothing is."""
        return hidden_sentence(sum(map(len, self.cells.values())), ratings=self._ratings)

    @property
    def headers(self) -> dict[str, str]:
        """Return how much is hidden as headers of the response, for programs."""
        headers = {}
        if cells := sum(map(len, self.cells.values())):
            headers["X-Hidden-Cells"] = str(cells)
        hidden, total = self._ratings
        if hidden:
            headers["X-Hidden-Ratings"] = f"{hidden} of {total}"
        return headers

    @property
    def _ratings(self) -> tuple[int, int]:
        counts = self.ratings.values()
        return sum(hidden for hidden, _ in counts), sum(total for _, total in counts)


def hidden_sentence(hidden: int, things: str = "pair", *, ratings: tuple[int, int] = (0, 0)) -> str:
    """Return a sentence on what is hidden; empty for 0.

    "6 pairs with 9 of 57 ratings are hidden from you until you have rated what is in your queue." All pages
    use it. `ratings`: how many of how many, where human ratings are listed.
    """
    if not hidden:
        return ""
    what, (missing, total) = counted(hidden, things), ratings
    if missing:
        what = f"{what} with {number(missing)} of {counted(total, 'rating')}"
    verb = "is" if hidden == 1 else "are"
    return f"{what} {verb} hidden from you until you have rated what is in your queue."


_reader: ContextVar[Reader] = ContextVar("reader")


def reader() -> Reader:
    """Return the reader. Raises NoReader where none was set."""
    try:
        return _reader.get()
    except LookupError:
        raise NoReader from None


@contextmanager
def reading_as(someone: Reader) -> Iterator[None]:
    """Read as `someone` inside the block."""
    token = _reader.set(someone)
    try:
        yield
    finally:
        _reader.reset(token)


def read_once(read: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Keep what a function returns for the rest of a request that changes nothing (GET or HEAD).

    It is kept with the reader, so that no other one gets it. Its arguments are hashable, and nobody changes
    what it returns.
    """

    @wraps(read)
    def once(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        now = _reader.get(None)
        if now is None or getattr(now.request, "method", "") not in SAFE:
            return read(*args, **kwargs)
        key = (read, args, tuple(kwargs.items()))
        if key not in now.read:
            now.read[key] = read(*args, **kwargs)
        result: Result = now.read[key]
        return result

    return once


def everything() -> AbstractContextManager[None]:
    """Hide nothing inside the block: for work whose result is checked again before it is shown."""
    return reading_as(Reader(sees_everything=True))


def see_everything() -> None:
    """Hide nothing from now on, for scripts that run by themselves."""
    _reader.set(Reader(sees_everything=True))


class OperatorCommand(BaseCommand):
    """A management command of the server's operator, from whom nothing is hidden."""

    suppressed_base_arguments = {
        *("--version", "--settings", "--pythonpath", "--traceback", "--no-color", "--force-color")
    }
    """They work, and `--help` is about what the command does."""

    def get_version(self) -> str:
        return __version__

    def execute(self, *args: Any, **options: Any) -> str | None:  # Any: as Django calls it
        with everything():
            try:
                return super().execute(*args, **options)
            except PermissionDenied as refusal:
                raise CommandError(str(refusal)) from refusal
