"""Password changes, and links for forgotten passwords."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from axes.utils import reset as forget_failures
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.module_loading import import_string

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import TO_ORGANIZE, roles_with
from rubricweb.core import audit
from rubricweb.core.models import AuditEntry
from rubricweb.core.servers import mail

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection

ASKED = "password link mailed"
BETWEEN_MAILS = dt.timedelta(minutes=5)


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
        mail(user.email, "Your RubricWeb password", text, about=f"a password link for user {user.pk}")
