"""The product as browser tests serve it: it also says how many requests it works on."""

from __future__ import annotations

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from django.conf import settings

from rubricweb.asgi import application as product
from tests.browser import WORKED_ON

_open = 0


async def application(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Count a request whose browser has gone as long as its thread runs."""
    global _open  # noqa: PLW0603 - of one event loop
    if scope["type"] == "http" and scope["path"] == WORKED_ON:
        in_threads = settings.REQUESTS_AT_ONCE - product._slots._value
        await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": False})
        body = str(_open + in_threads).encode()
        await send({"type": "http.response.body", "body": body, "more_body": False})
        return
    _open += 1
    try:
        await product(scope, receive, send)
    finally:
        _open -= 1
