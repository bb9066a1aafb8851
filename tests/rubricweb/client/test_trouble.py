"""Lost connections, servers that ask to wait, and answers that are none of ours."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator

import httpx
import pytest

from rubricweb.client import (
    AsyncClient,
    Client,
    Conflict,
    Misconfigured,
    NotFound,
    NotSignedIn,
    TooManyRequests,
    Unreachable,
)
from rubricweb.client.core import ATTEMPTS
from tests.event_loops import run

ROWS = [{"id": number, "rating": number % 6} for number in range(1, 7)]
LINES = [json.dumps(row).encode() + b"\n" for row in ROWS]


class Cut(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        raise httpx.ReadError("the connection was lost")


def client(*replies: Callable[[httpx.Request], httpx.Response]) -> tuple[Client, list[httpx.Request]]:
    """A client that gets these answers, one after the other, and what it sent."""
    sent: list[httpx.Request] = []

    def reply(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return replies[len(sent) - 1](request)

    return Client("http://testserver/", "rw_1_2", transport=httpx.MockTransport(reply)), sent


def lost(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("nobody answers", request=request)


def says(status: int, document: object = None, **headers: str) -> Callable[[httpx.Request], httpx.Response]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx.Response(status, json=document, headers=named)


def streams(stream: httpx.SyncByteStream | None = None, body: bytes = b"") -> Callable[..., httpx.Response]:
    return lambda _: httpx.Response(200, stream=stream) if stream else httpx.Response(200, content=body)


def test_a_write_that_is_sent_again_has_its_key(pauses):
    rubric, sent = client(lost, lost, says(202, {"jobs": []}))
    assert rubric.start_grading("autumn", bank=3) == []
    keys = {request.headers["Idempotency-Key"] for request in sent}
    assert (len(sent), len(keys), pauses) == (3, 1, [0.5, 1.0])
    rubric, sent = client(says(202, {"jobs": []}), says(202, {"jobs": []}))
    rubric.start_grading("autumn")
    rubric.start_grading("autumn")
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 2


def test_an_upload_whose_server_was_killed_is_sent_again(pauses):
    """Until the server knows that nobody works on it any more; another 409 is an answer."""
    in_use = says(
        409, {"detail": "A request with this Idempotency-Key is being worked on."}, Retry_After="42"
    )
    rubric, sent = client(in_use, in_use, says(202, {"jobs": []}))
    assert rubric.start_grading("autumn", bank=3) == []
    assert (len(sent), pauses) == (3, [42.0, 42.0])
    rubric, sent = client(says(409, {"detail": "Somebody was quicker."}))
    with pytest.raises(Conflict):
        rubric.start_grading("autumn", bank=3)


def test_nobody_answers(pauses):
    rubric, sent = client(*[lost] * ATTEMPTS)
    with pytest.raises(Unreachable, match="nobody answers"):
        rubric.collection("autumn")
    assert (len(sent), pauses) == (ATTEMPTS, [0.5, 1.0, 2.0, 4.0])


def test_it_waits_for_as_long_as_the_server_asks(pauses):
    later = says(429, {"detail": "Slowly."}, Retry_After="17")
    rubric, _ = client(later, later, says(200, {"slug": "autumn"}))
    assert rubric.collection("autumn") == {"slug": "autumn"}
    assert pauses == [17.0, 17.0]


@pytest.mark.parametrize(("wait", "attempts"), [("1", ATTEMPTS), ("121", 1)])
def test_it_does_not_wait_for_ever(wait, attempts, pauses):
    rubric, sent = client(*[says(429, {"detail": "Slowly."}, Retry_After=wait)] * ATTEMPTS)
    with pytest.raises(TooManyRequests) as refused:
        rubric.collection("autumn")
    assert (len(sent), refused.value.wait) == (attempts, float(wait))


def test_what_another_attempt_does_not_change_is_sent_once(pauses):
    rubric, sent = client(says(401, {"detail": "This token is unknown."}))
    with pytest.raises(NotSignedIn, match="401: This token is unknown"):
        rubric.collection("autumn")
    assert (len(sent), pauses) == (1, [])


def test_a_page_of_a_proxy_is_no_problem_document(pauses):
    rubric, _ = client(lambda _: httpx.Response(404, text="<h1>nginx</h1>"))
    with pytest.raises(NotFound, match="404: Not Found"):
        rubric.collection("autumn")


def test_grades_go_on_after_a_broken_connection(pauses):
    rubric, sent = client(
        streams(Cut(b"".join(LINES[:2]) + LINES[2][:4])),
        lost,
        streams(Cut(b"".join(LINES[2:5]))),
        streams(body=b"".join(LINES[5:])),
    )
    assert list(rubric.grades("autumn", topic="t1")) == ROWS
    assert [request.url.params.get("cursor") for request in sent] == [None, "2", "2", "5"]
    assert {request.url.params["topic"] for request in sent} == {"t1"}


def test_compressed_grades_that_break_off_go_on_too(pauses):
    packed = {"Content-Encoding": "gzip"}

    def behind_the_cursor(request: httpx.Request) -> httpx.Response:
        begin = int(request.url.params.get("cursor", "0"))
        return httpx.Response(200, headers=packed, content=gzip.compress(b"".join(LINES[begin:])))

    cut = Cut(gzip.compress(b"".join(LINES))[:-9])
    rubric, sent = client(lambda _: httpx.Response(200, headers=packed, stream=cut), behind_the_cursor)
    assert list(rubric.grades("autumn")) == ROWS
    assert len(sent) == 2


def test_a_row_keeps_characters_that_only_python_takes_for_line_breaks():
    rows = [{"id": 1, "answer": "one\u2028two\x85three"}, {"id": 2, "answer": ""}]
    body = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    rubric, _ = client(streams(body=body.removesuffix(b"\n")))
    assert list(rubric.grades("autumn")) == rows

    async def read() -> list[object]:
        reply = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
        async with AsyncClient("http://testserver/", "rw_1_2", transport=reply) as rubric:
            return [row async for row in rubric.grades("autumn")]

    assert run(read()) == rows


def test_grades_that_never_come_are_given_up(pauses):
    rubric, sent = client(*[streams(Cut(b""))] * ATTEMPTS)
    with pytest.raises(Unreachable, match="broke off"):
        list(rubric.grades("autumn"))
    assert len(sent) == ATTEMPTS


def test_two_lists_are_read_side_by_side():
    rubric, _ = client(*[streams(body=b"".join(LINES))] * 2)
    pairs = zip(rubric.grades("autumn"), rubric.ratings("autumn"), strict=True)
    assert [(grade["id"], rating["id"]) for grade, rating in pairs] == [(row["id"],) * 2 for row in ROWS]


def test_address_and_token_come_from_the_environment(monkeypatch):
    seen = []

    def reply(request: httpx.Request) -> httpx.Response:
        seen.append((str(request.url), request.headers["Authorization"]))
        return httpx.Response(200, json={})

    monkeypatch.setenv("RUBRIC_URL", "https://rubric.example.org")
    monkeypatch.setenv("RUBRIC_TOKEN", "rw_3_4")
    with Client(transport=httpx.MockTransport(reply)) as rubric:
        rubric.collection("autumn")
    assert seen == [("https://rubric.example.org/api/v1/collections/autumn/", "Bearer rw_3_4")]
    monkeypatch.delenv("RUBRIC_TOKEN")
    with pytest.raises(Misconfigured, match="RUBRIC_TOKEN: neither"):
        Client()
