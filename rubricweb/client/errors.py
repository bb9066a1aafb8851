"""What a call can end with other than its result.

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
from collections.abc import Mapping, Sequence
from typing import Any

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
        super().__init__(f"{status}: {self.detail}" + (f" {self._fields()}" if self.errors else ""))

    @property
    def title(self) -> str:
        return str(self.members.get("title", ""))

    @property
    def detail(self) -> str:
        return str(self.members.get("detail", self.title))

    @property
    def errors(self) -> Mapping[str, Sequence[str]]:
        """What is wrong, by the name of the field."""
        errors = self.members.get("errors")
        return errors if isinstance(errors, dict) else {}

    def _fields(self) -> str:
        return "; ".join(f"{name}: {' '.join(map(str, texts))}" for name, texts in self.errors.items())


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
        """The version that the write named."""
        return int(self.members["seen"])

    @property
    def version(self) -> int:
        """The item's version now, which a second attempt names."""
        return int(self.members["now"]["version"])

    @property
    def theirs(self) -> str:
        """The item's wording now."""
        return str(self.members["now"]["text"])

    @property
    def ours(self) -> str | None:
        """The wording that was sent; None where the change was no rewording."""
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
    members = _members(response)
    wait = seconds_to_wait(response)
    if response.status_code == 412 and isinstance(members.get("now"), dict):
        return ChangedMeanwhile(412, members, wait=wait, body=body)
    return _BY_STATUS.get(response.status_code, ProblemAnswer)(response.status_code, members, wait=wait)


def seconds_to_wait(response: httpx.Response) -> float | None:
    """Return what `Retry-After` says, in seconds; None without one."""
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdecimal() else None


def _members(response: httpx.Response) -> Mapping[str, Any]:
    """Return the problem document; of a page of another server, such as a proxy, what the status says."""
    try:
        content = json.loads(response.content)
    except ValueError:
        content = None
    return content if isinstance(content, dict) else {"title": response.reason_phrase}
