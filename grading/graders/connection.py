"""Addresses and key of a model server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from grading.errors import GraderUnavailable
from grading.graders.openai_errors import Problem, short
from grading.secret import Secret, redacted

Json = Mapping[str, Any]

_ENDPOINT = re.compile(r"(?:/chat)?/completions/*$")
_VERSIONED = re.compile(r"/(?:v\d|openai|deployments|inference)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=//)[^/?#]*@")
_SECRET_PARAMETER = re.compile(r"key|token|secret|sig|password", re.IGNORECASE)


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
    """As Azure wants its `api-version`."""

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
        """The URL without credentials and query, for messages."""
        return _CREDENTIALS.sub("", self.url)

    @property
    def host(self) -> str:
        """Host and port, without credentials.

        >>> Address.of("http://user:pass@models.example.org:8000/v1").host
        'models.example.org:8000'
        """
        return _parts(self.public).netloc or self.public

    @property
    def advice(self) -> str:
        """What to try if the server does not answer as one; empty if the address looks right.

        >>> Address.of("http://models.example.org:8000").advice
        'the base URL is http://models.example.org:8000, try http://models.example.org:8000/v1'
        """
        if _VERSIONED.search(_parts(self.url).path):
            return ""
        return f"the base URL is {self.public}, try {self.public.removesuffix('/api')}/v1"

    @property
    def credentials(self) -> Iterator[str]:
        """The secrets in it."""
        parts = _parts(self.url)
        if parts.password:
            password = unquote(parts.password)
            yield from (f"{unquote(parts.username or '')}:{password}", password, parts.password)
        yield from (value for name, value in self.query if _SECRET_PARAMETER.search(name))

    def check(self) -> None:
        """Raises GraderUnavailable where nothing can be sent to it."""
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
    """As `urlsplit`; a URL that it refuses is all path."""
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
        """Raises BadSecret for a key that no request can carry."""
        if isinstance(self.api_key, str):
            key = Secret(self.api_key, "the API key of the model server", is_sent_in_header=True)
            object.__setattr__(self, "api_key", key)

    @property
    def key(self) -> Secret:
        return cast("Secret", self.api_key)  # since __post_init__

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Each once.

        >>> [address.url for address in Connection("http://a:8000/v1, http://b:8000/v1/").addresses]
        ['http://a:8000/v1', 'http://b:8000/v1']
        """
        return tuple(dict.fromkeys(Address.of(one) for one in self.base_url.split(",") if one.strip(" '\"")))

    @property
    def host(self) -> str:
        """Host and port of each address, without credentials in it."""
        return ", ".join(address.host for address in self.addresses)

    def redacted(self, text: str) -> str:
        """Return `text` without key and credentials: servers and libraries quote what they refuse."""
        credentials = (value for each in self.addresses for value in each.credentials)
        return redacted(text, (self.key.value, *credentials))

    def cleaned(self, problem: Problem) -> Problem:
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
