"""Send one POST to a checked address: no redirects, no proxies, few bytes read, and a time limit.

A name is resolved here, every address that it resolves to is checked, and the connection is made to a checked
one: a name that resolves otherwise a moment later gains nothing. Machines of a network in
RUBRIC_WEBHOOK_ALLOW are reached on any port, and by http too.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import httpcore
import httpx
from django.conf import settings

from rubricweb.webhooks.models import EXCERPT_CHARS

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS = (443, 8443)
"""Ports of public machines."""
GLOBAL_UNICAST = IPv6Network("2000::/3")
NAT64 = IPv6Network("64:ff9b::/96")
"""NAT64 prefix of RFC 6052: the last 32 bits are the IPv4 address that is reached."""
NOT_PUBLIC = (
    IPv4Network("168.63.129.16/32"),  # Azure answers its own machines there
    IPv4Network("192.0.0.0/24"),  # for protocols: RFC 6890
    IPv4Network("192.88.99.0/24"),  # the relays of 6to4: RFC 7526
)
"""Besides what Python's `is_global` says, which differs between its versions."""
HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+", re.IGNORECASE)

SECONDS = 15.0
"""Time limit for connecting, sending and the reply together."""
CONNECT_SECONDS = 5.0
READ_BYTES = 4_096
"""Maximum bytes read of a reply's body."""
AGENT = "RubricWeb-Webhooks/1"


class BadAddress(ValueError):
    """The address is of no form that is sent to; the text is for people."""


class AddressRefused(Exception):
    """The address leads to a machine that must not be asked; the text is for people."""


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a webhook's address."""

    url: httpx.URL
    host: str
    """A name in ASCII, or an IP address without brackets."""
    port: int


def target_of(address: str) -> Target:
    """Return the parts of a webhook's address. Raises BadAddress."""
    try:
        url = httpx.URL(address.strip())
        host = url.raw_host.decode("ascii")
    except (httpx.InvalidURL, UnicodeError) as error:
        raise BadAddress(f"This is not an address: {error}") from error
    if url.scheme not in ("https", "http") or not HOST.fullmatch(host):
        raise BadAddress("Expected an address such as https://example.org/hook.")
    if url.scheme == "http" and not allowed_networks():
        raise BadAddress("The address must begin with https://.")
    if not _is_resolvable(host):
        raise BadAddress("A part of the name is empty, or longer than 63 characters.")
    if url.userinfo or url.fragment:
        raise BadAddress("The address must have no user name, password or #.")
    port = url.port or (443 if url.scheme == "https" else 80)
    if not 0 < port < 65_536 or (port not in PORTS and not allowed_networks()):
        raise BadAddress("Expected port 443 or 8443.")
    literal = _literal(host)
    target = Target(url, host, port)
    if literal is not None and (why := refusal(literal, target)):
        raise BadAddress(why)
    return target


def checked(target: Target) -> list[Address]:
    """Return the addresses that the host resolves to now, to connect to.

    Raises Refused if any of them must not be asked, and OSError where the name does not resolve.
    """
    try:
        rows = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except UnicodeError as error:  # of its encoding as IDNA, which is no OSError
        raise OSError(str(error)) from error
    addresses = list(dict.fromkeys(ip_address(str(row[4][0]).partition("%")[0]) for row in rows))
    for address in addresses:
        if why := refusal(address, target):
            raise AddressRefused(why)
    if not addresses:
        raise OSError("The name has no address.")
    return addresses


def refusal(address: Address, target: Target) -> str:
    """Return why the target must not be asked at this address, in words; empty where it may be."""
    if _is_in(address, allowed_networks()):
        return ""
    if not is_public(address):
        return f"{target.host} leads to {address}, which is not a public address."
    if target.url.scheme == "http":
        return f"{target.host} can be reached by https only."
    if target.port not in PORTS:
        return f"{target.host} can be reached on port 443 or 8443 only."
    return ""


def is_public(address: Address) -> bool:
    """Return whether the address is public.

    Private, shared, link-local, loopback, multicast, reserved and unspecified addresses and a
    cloud's own are not. IPv6 forms that lead to an IPv4 address count only if that is NAT64's.

    >>> is_public(ip_address("93.184.216.34")), is_public(ip_address("100.64.0.1"))
    (True, False)
    >>> is_public(ip_address("::ffff:93.184.216.34")), is_public(ip_address("64:ff9b::10.0.0.1"))
    (False, False)
    """
    if isinstance(address, IPv6Address):
        if address in NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in GLOBAL_UNICAST or address.sixtofour or address.teredo:
            return False
    is_special = address.is_multicast or address.is_reserved or _is_in(address, NOT_PUBLIC)
    return address.is_global and not is_special


def allowed_networks() -> list[Network]:
    return [ip_network(text, strict=False) for text in settings.WEBHOOK_ALLOW]


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    plain = (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
    return any(plain.version == network.version and plain in network for network in networks)


def _is_resolvable(host: str) -> bool:
    """Return whether the name can be looked up, as `getaddrinfo` encodes it."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def _literal(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


class NotAnswered(Exception):
    """No response came back; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    excerpt: str
    """The beginning of its body."""
    retry_after: str = ""
    """The header of this name."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the patience with one request ends."""

    at: float = field(default_factory=lambda: time.monotonic() + SECONDS)
    """Deadline on the monotonic clock."""

    def left(self, most: float | None = None) -> float:
        """Return the seconds left, up to `most`. Raises httpcore.ReadTimeout when there are none."""
        seconds = self.at - time.monotonic()
        if seconds <= 0:
            raise httpcore.ReadTimeout(f"no answer within {SECONDS:.0f} seconds")
        return seconds if most is None else min(most, seconds)


class TimedStream(httpcore.NetworkStream):
    """A stream whose every step ends by the deadline: a server that sends a byte now and then is left."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self.stream, self.deadline = stream, deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.stream.read(max_bytes, self.deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.stream.write(buffer, self.deadline.left(timeout))

    def close(self) -> None:
        self.stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Return the certificate is that of the name, wherever the name led."""
        inner = self.stream.start_tls(ssl_context, server_hostname, self.deadline.left(timeout))
        return TimedStream(inner, self.deadline)

    def get_extra_info(self, info: str) -> Any:
        return self.stream.get_extra_info(info)


class CheckedBackend(httpcore.NetworkBackend):
    """Connects to what `sending.checked` resolved, and to nothing else."""

    def __init__(
        self, target: Target, deadline: Deadline, inner: httpcore.NetworkBackend | None = None
    ) -> None:
        self.target, self.deadline = target, deadline
        self.inner = inner or httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        failed: Exception = OSError("The name has no address.")
        for address in checked(self.target):
            seconds = self.deadline.left(CONNECT_SECONDS)
            try:
                return TimedStream(self.inner.connect_tcp(str(address), port, seconds), self.deadline)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


def post(
    target: Target,
    headers: Mapping[str, str],
    body: bytes,
    *,
    backend: Callable[[Target, Deadline], httpcore.NetworkBackend] = CheckedBackend,
) -> HttpAnswer:
    """Send `body`, and return what was answered, whatever it was.

    Raises NotAnswered, and Refused where the name leads to a machine that must not be asked.
    """
    deadline = Deadline()
    url = httpcore.URL(
        scheme=target.url.raw_scheme, host=target.url.raw_host, port=target.port, target=target.url.raw_path
    )
    all_headers = {"Host": target.url.netloc.decode("ascii"), "User-Agent": AGENT, "Accept": "*/*", **headers}
    try:
        with (
            httpcore.ConnectionPool(network_backend=backend(target, deadline)) as pool,
            pool.stream("POST", url, headers=list(all_headers.items()), content=body) as response,
        ):
            return _answer(response)
    except httpcore.TimeoutException as error:
        raise NotAnswered(f"No answer within {SECONDS:.0f} seconds.") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
        raise NotAnswered(str(error)[:EXCERPT_CHARS] or type(error).__name__) from error


def _answer(response: httpcore.Response) -> HttpAnswer:
    """Return the answer, reading no more of the body than is kept."""
    headers = {name.lower(): value for name, value in response.headers}
    body = b""
    for part in response.iter_stream():
        body += part[: READ_BYTES - len(body)]
        if len(body) >= READ_BYTES:
            break
    excerpt = body.decode("utf-8", "replace").replace("\0", "\ufffd")[:EXCERPT_CHARS]
    return HttpAnswer(response.status, excerpt, headers.get(b"retry-after", b"").decode("latin-1"))
