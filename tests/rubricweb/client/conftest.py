"""The Python client against the real application, in process."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import httpx
import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections

from rubricweb.api.models import Token
from rubricweb.api.tokens import make_token
from rubricweb.client import AsyncClient, Client
from tests.factories import gradable, grade, lexical_config, ranked

URL = "http://testserver"


class InProcess(httpx.AsyncBaseTransport):
    """The application for a client that awaits: it answers at once, in the thread of the test."""

    def __init__(self) -> None:
        self._application = httpx.WSGITransport(get_wsgi_application())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        answer = self._application.handle_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=b"".join(answer.stream))


@pytest.fixture(autouse=True)
def open_connection():
    """Requests share the connection, and the transaction, of their test, as Django's test client has it."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def run(script: Coroutine[Any, Any, None]) -> None:
    """Run a script that waits for nothing but `InProcess`: no event loop is needed, and a browser test of the
    same process may have left one.
    """
    with pytest.raises(StopIteration):
        script.send(None)


@pytest.fixture
def bank(collection):
    """Two topics, three passages and two questions each, twelve grades, two runs."""
    bank = gradable(collection, topics=2, passages=3, items=2)
    for item in bank.items.all():
        for pooled in item.topic.pool.all():
            grade(lexical_config(), item, pooled.passage, item.position + 1)
    topic = collection.topics.first()
    ranked(topic, {"alpha": [row.passage.doc_id for row in topic.pool.all()], "beta": []})
    return bank


@pytest.fixture
def token_of():
    """`token_of(user)`: the text of a token with every scope."""
    return lambda user: make_token(user, name="script", scopes=Token.Scope, days=1)[1]


@pytest.fixture
def client_for(token_of):
    """`client_for(user)`: a client with a token of that user."""

    def client(user, transport: httpx.BaseTransport | None = None) -> Client:
        return Client(URL, token_of(user), transport=transport or httpx.WSGITransport(get_wsgi_application()))

    return client


@pytest.fixture
def async_client_for(token_of):
    """`async_client_for(user)`, likewise."""
    return lambda user: AsyncClient(URL, token_of(user), transport=InProcess())


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """How many seconds the client would have slept, each time."""
    slept: list[float] = []
    monkeypatch.setattr("rubricweb.client.clients.time.sleep", slept.append)
    return slept
