"""Which wordings the reader may see: the one gate for items that are kept secret.

A wording is secret, and with it every row that has it: the item, its history and answer keys, versions,
drafts, flags, ratings. The default managers of most of these models are `ReadableManager`s: whatever lists
rows lacks the secret ones for readers below topic developer (`core.reader`) without asking. What computes
scores, or changes a bank, names the other manager: `Item.including_secret`, `Bank.all_items`. Rows of
ratings go through `grades.visibility`, campaigns hand out no secret cell to anybody, and files take what is
`public`. Workers and commands say `everything()`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from django.db.models import Manager, Q, QuerySet

from rubricweb.accounts import roles
from rubricweb.core.compiled import compiled_once
from rubricweb.core.reader import reader

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

Keys = ParamSpec("Keys")
Rows = TypeVar("Rows", bound=QuerySet[Any])


def readable(rows: Rows, *wordings: str) -> Rows:
    """Leave out rows with a wording that is secret from the reader.

    `wordings` are the paths to it from the rows' model, "" if it is `ItemRevision` itself; a row without
    wording stays.
    """
    now = reader()
    if now.sees_everything:
        return rows
    return rows.filter(reduce(and_, (_visible_to(now.user, path) for path in wordings or ("revision",))))


def public(rows: Rows) -> Rows:
    """Leave out rows with a secret wording, whoever reads: for files, public pages and releases."""
    return rows.filter(~Q(revision__is_secret=True))


def _visible_to(user: User | None, path: str) -> Q:
    if user is not None and user.is_superuser:
        return Q()
    steps = f"{path}__" if path else ""
    is_open = ~Q(**{f"{steps}is_secret": True})
    if user is None:
        return is_open
    collections = roles.collections_with(user, roles.TO_SEE_SECRETS)
    return is_open | Q(**{f"{steps}topic__collection__in": collections}) if collections else is_open


def sees_secrets(collection_id: int) -> bool:
    """Return whether the reader may see the collection's secret items."""
    now = reader()
    if now.sees_everything:
        return True
    held = roles.role_in(now.user, collection_id) if now.user else None
    return held is not None and held.includes(roles.TO_SEE_SECRETS)


def compiled_readable(build: Callable[Keys, Any]) -> Callable[Concatenate[int, Keys], list[Any]]:
    """Return what `compiled_once` does, for rows of one collection that may have secret wordings.

    `build` returns the secret ones too; readers who may not see them get what is `public`. The collection's
    key is the first argument of the returned function.
    """

    def build_public(*keys: Keys.args, **named: Keys.kwargs) -> Any:  # Any: a QuerySet of any rows
        return public(build(*keys, **named))

    all_rows, public_rows = compiled_once(build), compiled_once(build_public)

    def rows(collection_id: int, /, *keys: Keys.args, **named: Keys.kwargs) -> list[Any]:
        return (all_rows if sees_secrets(collection_id) else public_rows)(*keys, **named)

    return rows


class CompleteManager(Manager[Any]):
    """All rows, for whatever computes scores or changes a bank."""


class ReadableManager(Manager[Any]):
    """The rows that the reader may see, by the wording that each has."""

    wordings: tuple[str, ...] = ("revision",)

    def get_queryset(self) -> QuerySet[Any]:
        return readable(super().get_queryset(), *self.wordings)
