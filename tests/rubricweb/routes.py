"""Every route of our apps, asked from the resolver, so that tests meet a new one without being told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from django.apps import apps
from django.urls import URLPattern, URLResolver, get_resolver, reverse

APPS = {config.label for config in apps.get_app_configs() if config.name.startswith("rubricweb.")}
LEFT_OUT = {"corpus:events", "api:events", "accounts:login", "accounts:logout", "api:schema"}
"""Streams without an end, what ends the session that asks, and what is the same for all."""


@dataclass(frozen=True, slots=True)
class Route:
    name: str
    parameters: tuple[str, ...]
    has_page: bool = True
    """Whether GET reaches the view: what only takes forms refuses it before, to everybody and always."""

    def address(self, known: Mapping[str, object]) -> str:
        """`known` has a value for each parameter by its name, or by that of the route and the parameter."""
        values = {}
        for name in self.parameters:
            special = f"{self.name} {name}"
            assert special in known or name in known, f"which {name} shall the tests ask {self.name} about?"
            values[name] = known.get(special, known.get(name))
        return reverse(self.name, kwargs=values)


def routes() -> list[Route]:
    return [route for route in _routes(get_resolver(), ()) if route.name not in LEFT_OUT]


def readable_routes() -> list[Route]:
    """The routes that answer GET, for walks that send nothing."""
    return [route for route in routes() if route.has_page]


def _takes_get(view: Callable[..., object] | None) -> bool:
    """Whether none of the decorators of a view leaves GET out of its methods."""
    while view is not None:
        methods = inspect.getclosurevars(view).nonlocals.get("request_method_list", ["GET"])
        if "GET" not in methods:
            return False
        view = getattr(view, "__wrapped__", None)
    return True


def _routes(resolver: URLResolver, spaces: tuple[str, ...]) -> Iterator[Route]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = (*spaces, pattern.namespace) if pattern.namespace else spaces
            if not inner or inner[0] in APPS:
                yield from _routes(pattern, inner)
        elif isinstance(pattern, URLPattern) and pattern.name and spaces:
            named = ":".join([*spaces, pattern.name])
            yield Route(named, tuple(pattern.pattern.regex.groupindex), _takes_get(pattern.callback))
