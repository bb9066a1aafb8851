"""Classify a failed call: its class, whether to retry, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from grading.types import ErrorClass

if TYPE_CHECKING:
    from datetime import datetime

    import openai

LONGEST_REASON = 300
"""Characters of a server's message that are kept."""
MOST_CHARS = 5_000
"""Characters of it that are looked at."""
_PASSING = frozenset({ErrorClass.RATE, ErrorClass.TIMEOUT, ErrorClass.SERVER, ErrorClass.UNAVAILABLE})
_INSTEAD: dict[str, dict[str, str]] = {
    "logprobs": {"logprobs": "", "top_logprobs": ""},
    "temperature": {"temperature": ""},
    "response_format": {"response_format": ""},
    "structured_outputs": {"structured_outputs": ""},
    "guided_choice": {"guided_choice": ""},
    "max_tokens": {"max_tokens": "max_completion_tokens"},
}
"""What some servers and models refuse, and what they are sent instead; the words come in this order."""
_BY_STATUS = {
    401: ErrorClass.AUTH,
    402: ErrorClass.QUOTA,
    403: ErrorClass.AUTH,
    404: ErrorClass.UNAVAILABLE,
    408: ErrorClass.TIMEOUT,
    409: ErrorClass.SERVER,
    413: ErrorClass.CONTEXT,
    429: ErrorClass.RATE,
    498: ErrorClass.RATE,
    499: ErrorClass.TIMEOUT,
    504: ErrorClass.TIMEOUT,
}
"""498 is said for a lack of capacity, 499 for a caller that hung up, where a proxy was the caller."""
_FINAL = frozenset({404, 501})
"""Statuses that a retry does not change, though others of their class may pass."""
_REFUSING = frozenset({400, 403, 404, 422, 501})
"""Statuses of servers that do not take a setting of the request; 403 and 404 mean other things, too."""
_OVERLOAD = frozenset({408, 429, 498, 503, 504, 529})
"""529 is what some vendors say for 503."""
_CONTEXT = re.compile(
    r"context[ _]?(?:length|window|size)|maximum context|maximum model length"
    r"|(?:prompt|input|message|request)s? (?:is|are)? ?too (?:long|large)"
    r"|input token count|tokens`? \+ `?max_new_tokens",
    re.IGNORECASE,
)
"""In the words of OpenAI, vLLM, llama.cpp, Anthropic, Groq, Gemini, TGI and Ollama."""
_ON_CONTEXT = frozenset({400, 422, 429, 500})
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|out of credits", re.IGNORECASE
)
_MEMORY = re.compile(r"out of memory", re.IGNORECASE)
_SIZES = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"(?P<limit>\d[\d,]*) tokens\b.*?(?P<asked>\d[\d,]*) (?:input |prompt )?tokens",
        r"token count \((?P<asked>\d[\d,]*)\).*?\((?P<limit>\d[\d,]*)\)",
        r"must be <= (?P<limit>\d[\d,]*)\. Given: (?P<asked>\d[\d,]*)",
        r"\(length (?P<asked>\d[\d,]*)\).*?length of (?P<limit>\d[\d,]*)",
        r"Limit (?P<limit>\d[\d,]*), Requested (?P<asked>\d[\d,]*)",
    )
)
"""How long a prompt may be, and how long it was."""


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
    """The setting that the server does not take, and can be asked without; empty if there is none."""


NO_REPLY_IN_TIME = Problem(ErrorClass.TIMEOUT, "no reply in time", is_passing=True, is_overload=True)


def problem_of(error: openai.APIError, now: datetime) -> Problem:
    """`now` dates a Retry-After that names a day and an hour."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return NO_REPLY_IN_TIME
    if isinstance(error, openai.APIConnectionError):
        return _unreachable(error.__cause__)
    if not isinstance(error, openai.APIStatusError):
        # The reply came, and is paid for: it is not asked for again.
        return Problem(ErrorClass.SERVER, f"the server's reply cannot be read: {line(str(error))}")
    message = _message(error)
    words = f"{message} {error.code or ''} {error.type or ''} {error.param or ''}"
    problem = refusal(error.status_code, message, words)
    return replace(problem, wait=wait_of(error.response.headers, now))


def _unreachable(cause: BaseException | None) -> Problem:
    import httpx

    if isinstance(cause, httpx.LocalProtocolError):
        # Its message quotes the header.
        reason = "the request cannot be sent: check the key for characters that no HTTP header can carry"
        return Problem(ErrorClass.AUTH, reason)
    words = f" ({line(str(cause))})" if str(cause or "") else ""
    return Problem(ErrorClass.UNAVAILABLE, f"the server cannot be reached{words}", is_passing=True)


def refusal(status: int, message: str, words: str) -> Problem:
    """What an error with this status means; `words` are its message with its codes."""
    error_class = _class_of(status, words)
    # An error of the server's own, or of a prompt that is too long, may name settings without refusing one.
    is_refusal = status in _REFUSING and error_class is not ErrorClass.CONTEXT
    refused = next((name for name in _INSTEAD if name in words.lower()), "") if is_refusal else ""
    return Problem(
        error_class,
        f"status {status}: {line(message)}",
        is_passing=error_class in _PASSING and status not in _FINAL and not refused,
        is_overload=status in _OVERLOAD and error_class in _PASSING,
        refuses=refused,
    )


def without(parameters: Mapping[str, Any], refused_names: Iterable[str]) -> dict[str, Any]:
    """The parameters of a call as a server takes them that refused those with these names."""
    taken = dict(parameters)
    for refused in refused_names:
        for name, instead in _INSTEAD[refused].items():
            if name in taken:
                value = taken.pop(name)
                taken |= {instead: value} if instead else {}
    return taken


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
    sizes = next((match for pattern in _SIZES if (match := pattern.search(reason))), None)
    limit, length = (int(sizes[name].replace(",", "")) for name in ("limit", "asked")) if sizes else (1, 2)
    return limit / length if 0 < limit < length else 0.5


def _class_of(status: int, words: str) -> ErrorClass:
    if _MEMORY.search(words):
        return ErrorClass.MEMORY
    if status == 429 and _QUOTA.search(words):
        return ErrorClass.QUOTA
    if status in _ON_CONTEXT and _CONTEXT.search(words):
        return ErrorClass.CONTEXT
    return _BY_STATUS.get(status, ErrorClass.SERVER if status >= 500 else ErrorClass.OTHER)


def _message(error: openai.APIStatusError) -> str:
    """The server's message, without the library's words around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def line(message: str) -> str:
    """Put a message on one line. It is shortened once secrets are redacted (`Connection.cleaned`)."""
    return " ".join(message[:MOST_CHARS].split())


def short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."
