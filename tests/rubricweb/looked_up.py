"""Which parameters of its address a view looks at, so that walks leave out queries that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl

from django.core.handlers import wsgi
from django.http import QueryDict

WHOLE = ("__iter__", "__len__", "__eq__", "copy", "dict", "items", "keys", "lists", "urlencode", "values")
"""Methods with which a view may take all parameters."""


@contextmanager
def looking_up() -> Iterator[Callable[[str], bool]]:
    """Yield `may_change(query)`: whether the requests of the block, which have none, looked for any of it."""
    names = set[str]()
    taken_whole = list[str]()

    class Parameters(QueryDict):
        def __getitem__(self, key: str) -> Any:
            names.add(key)
            return super().__getitem__(key)

        def __contains__(self, key: object) -> bool:
            names.add(str(key))
            return super().__contains__(key)

        def getlist(self, key: str, default: Any = None) -> Any:
            names.add(key)
            return super().getlist(key, default)

    def noting(method: str) -> Callable[..., Any]:
        def called(self: Parameters, *arguments: Any, **named: Any) -> Any:
            taken_whole.append(method)
            return getattr(super(Parameters, self), method)(*arguments, **named)

        return called

    for method in WHOLE:
        setattr(Parameters, method, noting(method))
    with mock.patch.object(wsgi, "QueryDict", Parameters):
        yield lambda query: bool(taken_whole) or not names.isdisjoint(dict(parse_qsl(query, True)))
