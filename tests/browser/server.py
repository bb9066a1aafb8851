"""The product as browser tests serve it: it also says which requests it works on."""

from __future__ import annotations

from collections import Counter

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope

from rubricweb.asgi import application as product
from tests.browser import WORKED_ON

_open: Counter[str] = Counter()


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Count a request whose browser has gone as long as its thread runs."""
    path = scope.get("path", scope["type"])
    if path == WORKED_ON:
        await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": False})
        body = "\n".join(_open.elements()).encode()
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return
    _open[path] += 1
    try:
        await product(scope, receive, send)
    finally:
        _open[path] -= 1
