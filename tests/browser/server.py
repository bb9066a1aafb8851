"""The product as browser tests serve it, which also says what it works on, and forgets when told to."""

from __future__ import annotations

import sys
from collections import Counter

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from rubricweb.asgi import application as product
from rubricweb.grades.matrices import StampedCache
from rubricweb.systems import retrieval
from tests.browser import FORGET, WORKED_ON

_open: Counter[str] = Counter()


def forget() -> None:
    """Empty all caches of the rooms, as a start would."""
    rooms = [
        module
        for name, module in sys.modules.items()
        if name.startswith("rubricweb.") and ".core." not in name
    ]
    for kept in [value for module in rooms for value in vars(module).values()]:
        if isinstance(kept, StampedCache):
            kept.clear()
        elif hasattr(kept, "cache_clear"):
            kept.cache_clear()
    retrieval._opened.clear()


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Count a request whose browser has gone as long as its thread runs."""
    path = scope.get("path", scope["type"])
    if path in {WORKED_ON, FORGET}:
        if path == FORGET:
            forget()
        await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": False})
        body = "\n".join(_open.elements()).encode()
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return
    _open[path] += 1
    try:
        await product(scope, receive, send)
    finally:
        _open[path] -= 1
