"""Passwords: how they change, links for forgotten ones, and the lockout after wrong ones."""

from __future__ import annotations

import datetime as dt
import logging
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.helpers import get_failure_limit, get_lockout_response
from axes.models import AccessAttempt
from axes.utils import reset as forget_failures
from django.conf import settings
from django.contrib.auth.models import update_last_login
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.db import OperationalError, transaction
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.module_loading import import_string

from grading.secret import MASK
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import TO_ORGANIZE, roles_with
from rubricweb.core import audit, database, errors, servers
from rubricweb.core.models import AuditEntry

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection

logger = logging.getLogger(__name__)


ASKED = "password link mailed"
BETWEEN_MAILS = dt.timedelta(minutes=5)

REWRITTEN_PORT = "0"
"""The port that uvicorn gives a client whose address comes from a header."""
SOCKET = "unix"
IPV6_HOST_BITS = 64
"""One subscriber owns all of these."""


class _Links(PasswordResetTokenGenerator):
    """Tokens of links for passwords, which are void for whoever else is named as their maker."""

    def __init__(self, maker: str) -> None:
        super().__init__()
        self.maker = maker

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)} {self.maker}"


def link_path(user: User, *, by: User | None = None) -> str:
    """Return the path at which `user` sets a password: once, within settings.PASSWORD_RESET_TIMEOUT seconds.

    `by` is the organizer who passes it on; None for a link that is mailed to the user.
    """
    maker = str(by.pk) if by else ""
    uid = urlsafe_base64_encode(f"{user.pk}:{maker}".encode())
    return reverse("accounts:password-set", args=[uid, _Links(maker).make_token(user)])


def opened_by(uidb64: str) -> tuple[User, PasswordResetTokenGenerator] | None:
    """Return whose password a link sets, and what checks its token.

    None where it names nobody, or where its maker may no longer have it set.
    """
    try:
        key, _, maker = urlsafe_base64_decode(uidb64).decode().partition(":")
        person = User.objects.get(pk=key, is_active=True)
        by = User.objects.get(pk=maker) if maker else None
    except (ValueError, OverflowError, User.DoesNotExist, ValidationError):
        return None
    return (person, _Links(maker)) if by is None or may_make_link(by, person) else None


def may_make_link(by: User, person: User) -> bool:
    """Return whether `by` may have the password of `person` set: who opens the link opens the account.

    An organizer must organize every collection that the account opens, and one at least. Asked when a link is
    made, and again when it is used.
    """
    if not by.is_active:
        return False
    if by.is_superuser:
        return True
    if person.is_staff or person.is_superuser or not person.is_active:
        return False
    organized = by.memberships.filter(role__in=roles_with(TO_ORGANIZE)).values("collection")
    elsewhere = person.memberships.exclude(collection__in=organized)
    return person.memberships.exists() and not elsewhere.exists()


@transaction.atomic
def make_link(person: User, collection: Collection, *, by: User) -> str:
    """Return the path of a new link, for an organizer to pass on."""
    audit.record("password link made", person, by=by, detail=person.username, collection=collection)
    return link_path(person, by=by)


_revokers: list[str] = []


def on_reset(path: str) -> None:
    """Have a function of another room revoke what else lets somebody act as a person, who has a new password.

    It is called with the person; only then is it imported.
    """
    _revokers.append(path)


@transaction.atomic
def note_change(user: User) -> None:
    """Record a new password, and clear failures with the old one."""
    audit.record("password changed", user, by=user)
    forget_failures(username=user.get_username())


@transaction.atomic
def note_reset(user: User) -> None:
    """Record a new password, and revoke what else lets somebody act as the person."""
    note_change(user)
    for path in _revokers:
        import_string(path)(user)


def mail_links(email: str, *, site: str) -> None:
    """Mail a link to the account with this address, at most once in five minutes."""
    for user in User.objects.filter(email__iexact=email, is_active=True):
        recent = AuditEntry.objects.filter(verb=ASKED, object_id=user.pk, kind=User._meta.model_name)
        if recent.filter(at__gt=timezone.now() - BETWEEN_MAILS).exists():
            continue
        audit.record(ASKED, user, by=None)
        text = render_to_string("accounts/password_mail.txt", {"user": user, "link": site + link_path(user)})
        servers.mail(user.email, "Your RubricWeb password", text, about=f"a password link for user {user.pk}")


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """django-axes' handler, with an additional limit for all accounts that one address tries."""

    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return failures of the account from this address; the limit if the address has too many itself."""
        failures = int(super().get_failures(request, credentials))
        recent = AccessAttempt.objects.filter(
            ip_address=client_address(request), attempt_time__gte=get_cool_off_threshold(request)
        )
        address_failures = recent.aggregate(failures=Sum("failures_since_start"))["failures"] or 0
        if address_failures >= settings.ADDRESS_FAILURE_LIMIT:
            return max(failures, int(get_failure_limit(request, credentials)))
        return failures

    def user_logged_in(self, sender: object, request: HttpRequest, user: User, **kwargs: object) -> None:
        """Forget earlier failures; while an import holds the database, they expire by themselves."""
        try:
            with database.short_wait():
                super().user_logged_in(sender, request, user, **kwargs)
        except OperationalError as error:
            _pass_if_locked(error)

    def user_logged_out(
        self, sender: object, request: HttpRequest, user: User | None, **kwargs: object
    ) -> None:
        try:
            with database.short_wait():
                super().user_logged_out(sender, request, user, **kwargs)
        except OperationalError as error:
            _pass_if_locked(error)


def note_last_login(sender: type[User], user: User, **kwargs: object) -> None:
    """Record the sign-in, unless the database is locked: signing in does not wait for an import."""
    try:
        with database.short_wait():
            update_last_login(sender, user, **kwargs)
    except OperationalError as error:
        _pass_if_locked(error)


def _pass_if_locked(error: OperationalError) -> None:
    if not database.is_locked(error):
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


def client_address(request: HttpRequest) -> str:
    """Return the address of a request: the nearest that is none of RUBRIC_TRUSTED_PROXIES.

    X-Forwarded-For is read from its end, where trusted proxies write; a client can only write before that.
    """
    address = _peer(request)
    for hop in reversed(request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")):
        if not _is_trusted(address) or not _is_address(hop.strip()):
            break
        address = hop.strip()
    if not _is_address(address):
        return "127.0.0.1"
    parsed = ip_address(address)
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ip_network(f"{parsed}/{128 - IPV6_HOST_BITS}", strict=False).network_address)


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
