"""The HTTP connections of a client that has many calls under way.

The pool of httpcore 1.0 goes through all of its connections several times a call: with 256 of them a call
takes 15 ms of processor time. Here each connection is a pool of its own, and a call takes 3 ms.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from typing import cast
from urllib.request import getproxies

import httpx

ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1)


class SeparateConnections(httpx.AsyncBaseTransport):
    """Each request takes a connection that is free, the one used last, or opens a new one.

    Whoever sends requests limits how many are under way; all are for the same server.
    """

    def __init__(self) -> None:
        self._certificates = httpx.create_ssl_context()
        self._free: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        connection = self._free.pop() if self._free else _connection(self._certificates)

        def give_back() -> None:
            self._free.append(connection)

        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            give_back()  # it has closed itself, and opens again
            raise
        response.stream = _Body(cast("httpx.AsyncByteStream", response.stream), give_back)
        return response

    async def aclose(self) -> None:
        while self._free:
            await self._free.pop().aclose()


class _Body(httpx.AsyncByteStream):
    """A response's body, after which its connection is free."""

    def __init__(self, body: httpx.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._body, self._give_back = body, give_back

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._body:
            yield part

    async def aclose(self) -> None:
        await self._body.aclose()
        self._give_back()


def _connection(certificates: ssl.SSLContext) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=certificates, limits=ONE)


def transport() -> httpx.AsyncBaseTransport | None:
    """None where the environment names a proxy: httpx reads that only for a transport of its own."""
    return None if getproxies() else SeparateConnections()
