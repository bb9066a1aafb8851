"""Classify a failed call: its class, whether to retry, and when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from grading.types import ErrorClass

if TYPE_CHECKING:
    from datetime import datetime

    import openai

LONGEST_REASON = 300
"""Characters of a server's message that are kept."""
_PASSING = frozenset({ErrorClass.RATE, ErrorClass.TIMEOUT, ErrorClass.SERVER, ErrorClass.UNAVAILABLE})
_BY_STATUS = {
    401: ErrorClass.AUTH,
    402: ErrorClass.QUOTA,
    403: ErrorClass.AUTH,
    404: ErrorClass.UNAVAILABLE,
    408: ErrorClass.TIMEOUT,
    413: ErrorClass.CONTEXT,
    429: ErrorClass.RATE,
    504: ErrorClass.TIMEOUT,
}
_FINAL = frozenset({404, 501})
"""Statuses that a retry does not change, though others of their class may pass."""
_OVERLOAD = frozenset({408, 429, 503, 504, 529})
"""529 is what some vendors say for 503."""
_CONTEXT = re.compile(
    r"context[ _]?(?:length|window|size)|maximum context|(?:prompt|input|message)s? (?:is|are) too long",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|out of credits", re.IGNORECASE
)
_MEMORY = re.compile(r"out of memory", re.IGNORECASE)
_SIZES = re.compile(
    r"(?P<limit>\d[\d,]*) tokens\b.*?(?P<asked>\d[\d,]*) (?:input |prompt )?tokens", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why one attempt failed."""

    error_class: ErrorClass
    reason: str
    is_passing: bool = False
    """Whether another attempt may succeed."""
    wait: float | None = None
    """Seconds that the server asks to wait."""
    is_overload: bool = False
    """Whether the server has more calls than it can take."""
    refuses: str = ""
    """The names of settings in a message that refuses the request."""


NO_REPLY_IN_TIME = Problem(ErrorClass.TIMEOUT, "no reply in time", is_passing=True, is_overload=True)


def problem_of(error: openai.APIError, now: datetime) -> Problem:
    """`now` dates a Retry-After that names a day and an hour."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return NO_REPLY_IN_TIME
    if isinstance(error, openai.APIConnectionError):
        cause = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
        return Problem(ErrorClass.UNAVAILABLE, f"the server cannot be reached{cause}", is_passing=True)
    if not isinstance(error, openai.APIStatusError):
        # The reply came, and is paid for: it is not asked for again.
        return Problem(ErrorClass.SERVER, f"the server's reply cannot be read: {_short(str(error))}")
    message = _message(error)
    words = f"{message} {error.code or ''} {error.type or ''} {error.param or ''}"
    problem = refusal(error.status_code, message, words)
    return replace(problem, wait=wait_of(error.response.headers, now))


def refusal(status: int, message: str, words: str) -> Problem:
    """What an error with this status means; `words` are its message with its codes."""
    error_class = _class_of(status, words)
    return Problem(
        error_class,
        f"status {status}: {_short(message)}",
        is_passing=error_class in _PASSING and status not in _FINAL,
        is_overload=status in _OVERLOAD and error_class in _PASSING,
        refuses=words if status in {400, 422, 501} and error_class is ErrorClass.OTHER else "",
    )


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that the headers ask to wait: Retry-After in seconds or as a date, or the header in
    milliseconds.
    """
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers[name]) / scale)
        except (KeyError, ValueError):
            pass
    try:
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None


def too_long_by(reason: str) -> float:
    """The share of the prompt that fits, according to the server; a half if it does not say."""
    sizes = _SIZES.search(reason)
    limit, length = (int(sizes[name].replace(",", "")) for name in ("limit", "asked")) if sizes else (1, 2)
    return limit / length if 0 < limit < length else 0.5


def _class_of(status: int, words: str) -> ErrorClass:
    if _MEMORY.search(words):
        return ErrorClass.MEMORY
    if status == 429 and _QUOTA.search(words):
        return ErrorClass.QUOTA
    if status in {400, 422} and _CONTEXT.search(words):
        return ErrorClass.CONTEXT
    return _BY_STATUS.get(status, ErrorClass.SERVER if status >= 500 else ErrorClass.OTHER)


def _message(error: openai.APIStatusError) -> str:
    """The server's message, without the library's words around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}..."
