"""Connections to model servers: addresses, keys, and the classes of failed calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from grading.errors import GraderUnavailable
from grading.secret import Secret, redacted
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
    "grammar": {"grammar": ""},
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
        r"request \((?P<asked>\d+) tokens\) exceeds the available context size \((?P<limit>\d+) tokens",
        r"(?P<limit>\d[\d,]*) tokens\b.*?(?P<asked>\d[\d,]*) (?:input |prompt )?tokens",
        r"token count \((?P<asked>\d[\d,]*)\).*?\((?P<limit>\d[\d,]*)\)",
        r"must be <= (?P<limit>\d[\d,]*)\. Given: (?P<asked>\d[\d,]*)",
        r"\(length (?P<asked>\d[\d,]*)\).*?length of (?P<limit>\d[\d,]*)",
        r"Limit (?P<limit>\d[\d,]*), Requested (?P<asked>\d[\d,]*)",
    )
)
"""How long a prompt may be, and how long it was."""


Json = Mapping[str, Any]
_ENDPOINT = re.compile(r"(?:/chat)?/completions/*$")
_VERSIONED = re.compile(r"/(?:v\d|openai|deployments|inference)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@")
_SECRET_PARAMETER = re.compile(r"key|token|secret|sig|password", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CallProblem:
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


NO_REPLY_IN_TIME = CallProblem(ErrorClass.TIMEOUT, "no reply in time", is_passing=True, is_overload=True)


def problem_of(error: openai.APIError, now: datetime) -> CallProblem:
    """Classify a failed call; `now` dates a Retry-After that names a day and an hour."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return NO_REPLY_IN_TIME
    if isinstance(error, openai.APIConnectionError):
        import httpx

        if isinstance(error.__cause__, httpx.LocalProtocolError):
            # Its message quotes the header.
            reason = "the request cannot be sent: check the key for characters that no HTTP header can carry"
            return CallProblem(ErrorClass.AUTH, reason)
        cause_text = f" ({line(str(error.__cause__))})" if str(error.__cause__ or "") else ""
        return CallProblem(
            ErrorClass.UNAVAILABLE, f"the server cannot be reached{cause_text}", is_passing=True
        )
    if not isinstance(error, openai.APIStatusError):
        # The reply came, and is paid for: it is not asked for again.
        return CallProblem(ErrorClass.SERVER, f"the server's reply cannot be read: {line(str(error))}")
    message = _message(error)
    details = f"{message} {error.code or ''} {error.type or ''} {error.param or ''}"
    problem = refusal(error.status_code, message, details)
    return replace(problem, wait=wait_of(error.response.headers, now))


def refusal(status: int, message: str, details: str) -> CallProblem:
    """Return what an error with this status means; `words` are its message with its codes."""
    error_class = _class_of(status, details)
    # An error of the server's own, or of a prompt that is too long, may name settings without refusing one.
    is_refusal = status in _REFUSING and error_class is not ErrorClass.CONTEXT
    refused = next((name for name in _INSTEAD if name in details.lower()), "") if is_refusal else ""
    return CallProblem(
        error_class,
        f"status {status}: {line(message)}",
        is_passing=error_class in _PASSING and status not in _FINAL and not refused,
        is_overload=status in _OVERLOAD and error_class in _PASSING,
        refuses=refused,
    )


def without(parameters: Mapping[str, Any], refused_names: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of a call as a server takes them that refused those with these names."""
    taken = dict(parameters)
    for refused in refused_names:
        for name, instead in _INSTEAD[refused].items():
            if name in taken:
                value = taken.pop(name)
                taken |= {instead: value} if instead else {}
    return taken


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the headers ask to wait.

    They come from Retry-After in seconds or as a date, or from the header in milliseconds.
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
    """Return the share of the prompt that fits, according to the server; a half if it does not say."""
    sizes = next((match for pattern in _SIZES if (match := pattern.search(reason))), None)
    limit, length = (int(sizes[name].replace(",", "")) for name in ("limit", "asked")) if sizes else (1, 2)
    return limit / length if 0 < limit < length else 0.5


def _class_of(status: int, details: str) -> ErrorClass:
    if _MEMORY.search(details):
        return ErrorClass.MEMORY
    if status == 429 and _QUOTA.search(details):
        return ErrorClass.QUOTA
    if status in _ON_CONTEXT and _CONTEXT.search(details):
        return ErrorClass.CONTEXT
    return _BY_STATUS.get(status, ErrorClass.SERVER if status >= 500 else ErrorClass.OTHER)


def _message(error: openai.APIStatusError) -> str:
    """Return the server's message, without the library's words around it."""
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return message if isinstance(message, str) else error.message


def line(message: str) -> str:
    """Put a message on one line. It is shortened once secrets are redacted (`Connection.cleaned`)."""
    return " ".join(message[:MOST_CHARS].split())


def short(reason: str) -> str:
    return reason if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]}..."


class ReplyStore(Protocol):
    """Replies of servers by what was asked: the same request is sent once, whatever the server's address.

    A request is `model`, `messages` and every parameter; a reply is a chat completion. Called on one thread.
    """

    def get(self, request: Json) -> Json | None:
        """Return the reply that was kept; None without one."""
        ...

    def put(self, request: Json, reply: Json) -> None:
        """Keep a reply."""
        ...


@dataclass(frozen=True, slots=True)
class Address:
    """One server: the URL below which it answers, and the query that every request carries."""

    url: str = field(repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Parameters of the address, such as Azure's `api-version`."""

    @classmethod
    def of(cls, typed: str) -> Address:
        """Read a URL as people type it: in quotes, with `/chat/completions` after it, with a query.

        >>> address = Address.of('"https://a.example/openai/v1/chat/completions?api-version=1" ')
        >>> address.url, address.query
        ('https://a.example/openai/v1', (('api-version', '1'),))
        """
        typed = typed.strip().strip("'\"").strip()
        parts = _parts(typed)
        path = _ENDPOINT.sub("", parts.path).rstrip("/")
        url = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
        return cls(url, tuple(parse_qsl(parts.query, keep_blank_values=True)))

    @property
    def public(self) -> str:
        """Return the URL without credentials and query, for messages."""
        return _CREDENTIALS.sub("", self.url)

    @property
    def host(self) -> str:
        """Return the host and port, without credentials.

        >>> Address.of("http://user:pass@models.example.org:8000/v1").host
        'models.example.org:8000'
        """
        return _parts(self.public).netloc or self.public

    @property
    def advice(self) -> str:
        """Return what to try if the server does not answer as one; empty if the address looks right.

        >>> Address.of("http://models.example.org:8000").advice
        'the base URL is http://models.example.org:8000, try http://models.example.org:8000/v1'
        """
        if _VERSIONED.search(_parts(self.url).path):
            return ""
        return f"the base URL is {self.public}, try {self.public.removesuffix('/api')}/v1"

    @property
    def credentials(self) -> Iterator[str]:
        """Return the secrets in it."""
        parts = _parts(self.url)
        if parts.password:
            password = unquote(parts.password)
            yield from (f"{unquote(parts.username or '')}:{password}", password, parts.password)
        yield from (value for name, value in self.query if _SECRET_PARAMETER.search(name))

    def check(self) -> None:
        """Raise GraderUnavailable where nothing can be sent to it."""
        parts = _parts(self.url)
        if parts.scheme not in ("http", "https"):
            rest = self.public.rpartition("://")[2].lstrip("/")
            raise GraderUnavailable(
                f"the base URL {self.public} of the model server does not begin with http:// or https://; "
                f"try http://{rest}"
            )
        try:
            is_usable = bool(parts.hostname) and parts.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise GraderUnavailable(
                f"the base URL {self.public} of the model server has no host, or a port that is no number "
                "from 1 to 65535"
            )


def _parts(url: str) -> SplitResult:
    """Split a URL as `urlsplit` does; one that it refuses is all path."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


@dataclass(frozen=True, slots=True)
class Connection:
    """Passed by whoever builds a grader; never among its options, which are stored and shown."""

    base_url: str = field(repr=False)
    """Like "https://models.example.org/v1"; several replicas of a model are separated by commas."""
    api_key: Secret | str = field(default="", repr=False)
    replies: ReplyStore | None = field(default=None, repr=False)
    """Where replies are kept, and looked for before anything is sent."""
    batch_folder: str = ""
    """A folder that `vllm run-batch` reads and writes, which batches go through where it is set."""

    def __post_init__(self) -> None:
        """Raise BadSecret for a key that no request can carry."""
        if isinstance(self.api_key, str):
            key = Secret(self.api_key, "the API key of the model server", is_sent_in_header=True)
            object.__setattr__(self, "api_key", key)

    @property
    def key(self) -> Secret:
        return cast("Secret", self.api_key)  # since __post_init__

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Return the addresses, each once.

        >>> [address.url for address in Connection("http://a:8000/v1, http://b:8000/v1/").addresses]
        ['http://a:8000/v1', 'http://b:8000/v1']
        """
        return tuple(
            dict.fromkeys(Address.of(part) for part in self.base_url.split(",") if part.strip(" '\""))
        )

    @property
    def host(self) -> str:
        """Return the host and port of each address, without credentials in it."""
        return ", ".join(address.host for address in self.addresses)

    def redacted(self, text: str) -> str:
        """Return `text` without key and credentials: servers and libraries quote what they refuse."""
        credentials = (value for each in self.addresses for value in each.credentials)
        return redacted(text, (self.key.value, *credentials))

    def cleaned(self, problem: CallProblem) -> CallProblem:
        """Return the problem as people may read it."""
        return replace(problem, reason=short(self.redacted(problem.reason)))

    def settings(self, address: Address) -> dict[str, Any]:
        """Return the arguments of a client of the openai library."""
        key = self.key.value or "none"  # servers of one's own often want no key; the library wants one
        is_azure = any(name == "api-version" for name, _ in address.query)
        return {
            "base_url": address.url,
            "api_key": key,
            "default_query": dict(address.query),
            "default_headers": {"api-key": key} if is_azure else {},
            "max_retries": 0,
        }
