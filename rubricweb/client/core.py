"""What the client sends, in which order, and what becomes of the replies, without a connection of its own.

A call is a generator. It yields `Request`s and `Pause`s, receives the replies, and returns its result, so
that the clients, one blocking and one asynchronous, differ only in how they send (`clients.py`). A listing
yields `Rows`, too. `call` and its siblings make methods of a client from the calls in `calls.py`.

What a call can end with other than its result:

```
ClientError
├── Misconfigured      no address or no token
├── Unreachable        no answer, after every attempt
├── JobEnded           a job or import that was waited for failed or was cancelled
├── StillRunning       a job or import that was waited for has not ended in time
└── ProblemAnswer      the server's problem document (RFC 9457)
    ├── NotSignedIn    401: the token is unknown, revoked or expired
    ├── Forbidden      403: too little role or scope
    ├── NotFound       404: not there, or not for this token
    ├── Conflict       409: somebody was quicker
    │   └── ChangedMeanwhile   412: with both wordings
    ├── Invalid        400, 422, 428: `errors` by the names of the fields
    └── TooManyRequests        429, also after waiting
```
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from itertools import count
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar
from uuid import uuid4

import httpx


class ClientError(Exception):
    """The root of this tree."""


class Misconfigured(ClientError):
    pass


class Unreachable(ClientError):
    pass


class JobEnded(ClientError):
    """`job` is the document of the job or import, with its `state` and `error`."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(f"{job['id']} is {job['state']}: {job['error'] or 'no reason is given'}")
        self.job = job


class StillRunning(ClientError):
    """`job` is the document of the job or import when the time was over."""

    def __init__(self, job: Mapping[str, Any], seconds: float) -> None:
        super().__init__(f"{job['id']} is {job['state']} after {seconds:g} s")
        self.job = job


class ProblemAnswer(ClientError):
    """An answer of status 400 or more. `members` is the whole problem document."""

    def __init__(self, status: int, members: Mapping[str, Any], *, wait: float | None = None) -> None:
        self.status, self.members, self.wait = status, members, wait
        fields = "; ".join(f"{name}: {' '.join(map(str, texts))}" for name, texts in self.errors.items())
        super().__init__(f"{status}: {self.detail} {fields}".rstrip())

    @property
    def title(self) -> str:
        return str(self.members.get("title", ""))

    @property
    def detail(self) -> str:
        return str(self.members.get("detail", self.title))

    @property
    def errors(self) -> Mapping[str, list[str]]:
        """Return what is wrong, by the name of the field."""
        errors = self.members.get("errors")
        return errors if isinstance(errors, dict) else {}


class NotSignedIn(ProblemAnswer):
    pass


class Forbidden(ProblemAnswer):
    pass


class NotFound(ProblemAnswer):
    pass


class Conflict(ProblemAnswer):
    pass


class ChangedMeanwhile(Conflict):
    """An item was changed since the version that the write named. Nothing was overwritten."""

    @property
    def seen(self) -> int:
        """Return the version that the write named."""
        return int(self.members["seen"])

    @property
    def version(self) -> int:
        """Return the item's version now, which a second attempt names."""
        return int(self.members["now"]["version"])

    @property
    def theirs(self) -> str:
        """Return the item's wording now."""
        return str(self.members["now"]["text"])

    @property
    def ours(self) -> str | None:
        """Return the wording that was sent; None where the change was no rewording."""
        return self._own_text

    def __init__(
        self,
        status: int,
        members: Mapping[str, Any],
        *,
        wait: float | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(status, members, wait=wait)
        text = (body or {}).get("text")
        self._own_text = None if text is None else str(text)


class Invalid(ProblemAnswer):
    pass


class TooManyRequests(ProblemAnswer):
    """`wait` is the number of seconds that the server asks for."""


_BY_STATUS: dict[int, type[ProblemAnswer]] = {
    400: Invalid,
    401: NotSignedIn,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    422: Invalid,
    428: Invalid,
    429: TooManyRequests,
}


def problem_of(response: httpx.Response, body: Mapping[str, Any] | None = None) -> ProblemAnswer:
    """Return the exception for an answer of status 400 or more. `body` is that of the request."""
    try:
        members = json.loads(response.content)
    except ValueError:
        members = None
    if not isinstance(members, dict):  # a page of another server, such as a proxy
        members = {"title": response.reason_phrase}
    after = response.headers.get("Retry-After", "")
    wait = float(after) if after.isascii() and after.isdecimal() else None
    if response.status_code == 412 and isinstance(members.get("now"), dict):
        return ChangedMeanwhile(412, members, wait=wait, body=body)
    return _BY_STATUS.get(response.status_code, ProblemAnswer)(response.status_code, members, wait=wait)


ATTEMPTS = 5
"""How often a request is sent that is not answered, or is answered "later"."""
FIRST_PAUSE = 0.5
"""Seconds before the second attempt; doubled before each further one."""
LONGEST_PAUSE = 120.0
"""Seconds. A server that asks for more is not waited for."""
LATER = (429, 502, 503, 504)
IN_USE = 409
"""The status, with a Retry-After, of a request whose first try is worked on or met a stopped server."""
PAGE = 1_000
"""Rows a page."""
JSON_LINES = "application/x-ndjson"
LOST = (httpx.TransportError, httpx.DecodingError)

Params = Mapping[str, str | int | float | bool | None]
T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

P = ParamSpec("P")
Q = ParamSpec("Q")


@dataclass(frozen=True, slots=True)
class Request:
    """To be sent, and answered with the whole response."""

    method: str
    path: str
    """Below `/api/v1/`."""
    params: Params = field(default_factory=dict)
    """None is left out."""
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    files: tuple[tuple[str, bytes], ...] = ()
    """Names and contents, which are sent with the body as a form."""

    @property
    def query(self) -> dict[str, str]:
        return {name: _text(value) for name, value in self.params.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Opening(Request):
    """To be sent, and answered with a response whose lines `NextLine` reads."""


@dataclass(frozen=True, slots=True)
class NextLine:
    """To be answered with the next line of what was opened; None at its end."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Rows(Generic[T]):
    """Rows of a listing; nothing is sent back."""

    rows: list[T]


Answer = httpx.Response | str | Exception | None
"""What a step is answered with; an exception of LOST where the connection broke."""
Steps = Generator[Request | Pause, Answer, T]
Listing = Generator[Request | NextLine | Pause | Rows[T], Answer, None]


def resume(steps: Generator[S, Answer, R], answer: Answer) -> S:
    """Answer a call, and return its next step; None begins it. Raises StopIteration with its result."""
    if isinstance(answer, Exception):
        return steps.throw(answer)
    return steps.send(answer)


def write(method: str, path: str, body: Mapping[str, Any] | None, **headers: str) -> Request:
    """Return a request that changes something: sent again, it is done once."""
    return Request(method, path, body=body or {}, headers={"Idempotency-Key": uuid4().hex, **headers})


def upload(path: str, files: Iterable[Path], form: Mapping[str, str]) -> Request:
    """Return a request that sends files, likewise. They are read now."""
    named = tuple((file.name, file.read_bytes()) for file in files)
    return replace(write("POST", path, form), files=named)


def answered(request: Request) -> Steps[httpx.Response]:
    """Send until there is an answer. Raises Unreachable, or the answer's ProblemAnswer.

    Safe for writes too, since they bring their Idempotency-Key, and for reads.
    """
    for attempt in count(1):
        try:
            response = yield request
        except LOST as error:
            if attempt == ATTEMPTS:
                raise Unreachable(f"{request.method} {request.path}: {error!r}") from error
            yield Pause(_pause(attempt))
            continue
        if not isinstance(response, httpx.Response):
            raise TypeError(f"a request is answered with a response, not with {response!r}")
        problem = problem_of(response, request.body) if response.is_error else None
        if problem is None:
            return response
        wait = problem.wait
        comes_later = problem.status in LATER or (problem.status == IN_USE and wait is not None)
        if not comes_later or attempt == ATTEMPTS or (wait or 0) > LONGEST_PAUSE:
            raise problem
        yield Pause(_pause(attempt) if wait is None else wait)
    raise AssertionError("the last attempt returns or raises")


def document(request: Request) -> Steps[Any]:
    """Send, and return the JSON of the answer."""
    response = yield from answered(request)
    return response.json()


def pages(path: str, params: Params) -> Listing[Any]:
    """Yield the rows of a list, page by page."""
    cursor: str | None = None
    while True:
        page = yield from document(Request("GET", path, {"limit": PAGE, **params, "cursor": cursor}))
        yield Rows(page["items"])
        cursor = page["next_cursor"]
        if cursor is None:
            return


def lines(path: str, params: Params) -> Listing[Any]:
    """Yield the rows of a list as they come in one answer.

    After a broken connection it goes on behind the last row. Raises as `answered` does, with attempts counted
    from the last row.
    """
    opening = Opening("GET", path, params, headers={"Accept": JSON_LINES, "Accept-Encoding": "gzip"})
    attempt = 0
    while True:
        try:
            yield from answered(opening)
            while (line := (yield NextLine())) is not None:
                row = json.loads(str(line))
                yield Rows([row])
                opening = replace(opening, params={**params, "cursor": row["id"]})
                attempt = 0
            return
        except LOST as error:
            attempt += 1
            if attempt == ATTEMPTS:
                raise Unreachable(f"GET {path} broke off: {error!r}") from error
            yield Pause(_pause(attempt))


def _pause(attempt: int) -> float:
    return float(FIRST_PAUSE * 2 ** (attempt - 1))


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Waiting(Protocol):
    """A client whose methods return once there is a result."""

    def _run(self, steps: Steps[T]) -> T: ...

    def _rows(self, steps: Listing[T]) -> Iterator[T]: ...


class Awaiting(Protocol):
    """A client whose methods are awaited."""

    def _run(self, steps: Steps[T]) -> Coroutine[Any, Any, T]: ...

    def _rows(self, steps: Listing[T]) -> AsyncIterator[T]: ...


def call(steps: Callable[P, Steps[T]]) -> Callable[Concatenate[Waiting, P], T]:
    def method(client: Waiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return client._run(steps(*args, **kwargs))

    return _as_method(method, steps)


def listing(steps: Callable[P, Listing[T]]) -> Callable[Concatenate[Waiting, P], Iterator[T]]:
    def method(client: Waiting, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return client._rows(steps(*args, **kwargs))

    return _as_method(method, steps)


def async_call(steps: Callable[P, Steps[T]]) -> Callable[Concatenate[Awaiting, P], Coroutine[Any, Any, T]]:
    def method(client: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return client._run(steps(*args, **kwargs))

    return _as_method(method, steps)


def async_listing(steps: Callable[P, Listing[T]]) -> Callable[Concatenate[Awaiting, P], AsyncIterator[T]]:
    def method(client: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return client._rows(steps(*args, **kwargs))

    return _as_method(method, steps)


def _as_method(method: Callable[Q, R], steps: Callable[..., object]) -> Callable[Q, R]:
    """Give the method the call's name, words and parameters, which notebooks show."""
    of_call = signature(steps)
    client = Parameter("self", Parameter.POSITIONAL_ONLY)
    method.__name__ = method.__qualname__ = getattr(steps, "__name__", "")
    method.__doc__ = steps.__doc__
    displayed = of_call.replace(parameters=[client, *of_call.parameters.values()])
    method.__signature__ = displayed  # type: ignore[attr-defined]  # read by `inspect`, unknown to typeshed
    return method
