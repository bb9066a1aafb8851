"""Lockout after wrong passwords: an account from one address, and an address that tries many accounts."""

from __future__ import annotations

import logging
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_failure_limit, get_lockout_response
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.models import update_last_login
from django.db import OperationalError
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse

from grading.secret import MASK
from rubricweb.core import errors
from rubricweb.core.database import is_locked, short_wait

if TYPE_CHECKING:
    from rubricweb.accounts.models import User

logger = logging.getLogger(__name__)

REWRITTEN_PORT = "0"
"""The port that uvicorn gives a client whose address comes from a header."""
SOCKET = "unix"
IPV6_HOST_BITS = 64
"""One subscriber owns all of these."""


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """django-axes' handler, with an additional limit for all accounts that one address tries."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return failures of the account from this address; the limit if the address has too many itself."""
        failures = int(super().get_failures(request, credentials))
        if address_failures(request) >= settings.ADDRESS_FAILURE_LIMIT:
            return max(failures, int(get_failure_limit(request, credentials)))
        return failures

    def user_logged_in(self, sender: object, request: HttpRequest, user: User, **kwargs: object) -> None:
        """Forget earlier failures; while an import holds the database, they expire by themselves."""
        try:
            with short_wait():
                super().user_logged_in(sender, request, user, **kwargs)
        except OperationalError as error:
            _pass_if_locked(error)

    def user_logged_out(
        self, sender: object, request: HttpRequest, user: User | None, **kwargs: object
    ) -> None:
        try:
            with short_wait():
                super().user_logged_out(sender, request, user, **kwargs)
        except OperationalError as error:
            _pass_if_locked(error)


def note_last_login(sender: type[User], user: User, **kwargs: object) -> None:
    """Record the sign-in, unless the database is locked: signing in does not wait for an import."""
    try:
        with short_wait():
            update_last_login(sender, user, **kwargs)
    except OperationalError as error:
        _pass_if_locked(error)


def _pass_if_locked(error: OperationalError) -> None:
    if not is_locked(error):
        raise error
    logger.info("who signed in or out was not noted: the database is locked")


def page(request: HttpRequest, response: HttpResponse | None, credentials: object) -> HttpResponse:
    """Answer 429 to who is locked out. django-axes hands over what it was asked with."""
    return errors.page(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many wrong passwords",
        "Sign-in from your address is locked for 15 minutes.",
        "Wait, then try again with the right password. Each attempt before that starts the 15 minutes again.",
        request=request,
        signs_in=True,
    )


def refused(request: HttpRequest, name: str) -> HttpResponse | None:
    """Return the page of the lockout if this address tried too often; `name` stands for an account."""
    if AxesProxyHandler.is_allowed(request, {"username": name}):
        return None
    return get_lockout_response(request, credentials={"username": name})  # type: ignore[no-any-return]


def note_failure(request: HttpRequest, name: str) -> None:
    """Count a wrong link as a wrong password is counted.

    Its end is neither stored nor logged: a link that is wrong by a letter is nearly a right one.
    """
    AxesProxyHandler.update_request(request)
    request.axes_path_info = f"{request.path.rstrip('/').rpartition('/')[0]}/{MASK}/"  # type: ignore[attr-defined]
    AxesProxyHandler.user_login_failed(sender=__name__, credentials={"username": name}, request=request)


def address_failures(request: HttpRequest) -> int:
    """Return the number of wrong passwords from this address within the cool-off time, for any account."""
    recent = AccessAttempt.objects.filter(
        ip_address=client_address(request), attempt_time__gte=get_cool_off_threshold(request)
    )
    return recent.aggregate(failures=Sum("failures_since_start"))["failures"] or 0


def client_address(request: HttpRequest) -> str:
    """Return the address of a request: the nearest that is none of RUBRIC_TRUSTED_PROXIES.

    X-Forwarded-For is read from its end, where trusted proxies write; a client can only write before that.
    """
    address = _peer(request)
    for hop in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        if not _is_trusted(address) or not _is_address(hop.strip()):
            break
        address = hop.strip()
    return _counted_as(address)


def _peer(request: HttpRequest) -> str:
    if request.META.get("REMOTE_PORT") == REWRITTEN_PORT:
        return "127.0.0.1"  # uvicorn believed the header, which by default it does for this machine only
    return str(request.META.get("REMOTE_ADDR") or SOCKET)


def _is_trusted(address: str) -> bool:
    proxies: list[str] = settings.TRUSTED_PROXIES
    if address == SOCKET:
        return SOCKET in proxies
    networks = [ip_network(proxy, strict=False) for proxy in proxies if proxy != SOCKET]
    return _is_address(address) and any(ip_address(address) in network for network in networks)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _counted_as(address: str) -> str:
    if not _is_address(address):
        return "127.0.0.1"
    parsed = ip_address(address)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ip_network(f"{parsed}/{128 - IPV6_HOST_BITS}", strict=False).network_address)
