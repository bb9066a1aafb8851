"""Password changes, and links for forgotten passwords."""

from __future__ import annotations

import datetime as dt
import logging
from typing import TYPE_CHECKING

from axes.utils import reset as forget_failures
from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from rubricweb.accounts.models import User
from rubricweb.accounts.roles import TO_ORGANIZE, Role
from rubricweb.core import audit
from rubricweb.core.models import AuditEntry

if TYPE_CHECKING:
    from rubricweb.corpus.models import Collection

logger = logging.getLogger(__name__)

ASKED = "password link mailed"
BETWEEN_MAILS = dt.timedelta(minutes=5)


def link_path(user: User) -> str:
    """The path at which `user` sets a password: once, within settings.PASSWORD_RESET_TIMEOUT seconds."""
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("accounts:password-set", args=[uid, default_token_generator.make_token(user)])


def may_make_link(by: User, person: User) -> bool:
    """The link gives access to the account, so an organizer must organize every collection that the account
    opens.
    """
    if by.is_superuser:
        return True
    if person.is_staff or person.is_superuser or not person.is_active:
        return False
    organized = by.memberships.filter(role__in=[role for role in Role if role.includes(TO_ORGANIZE)])
    return not person.memberships.exclude(collection__in=organized.values("collection")).exists()


@transaction.atomic
def make_link(person: User, collection: Collection, *, by: User) -> str:
    """Return the path of a new link, for an organizer to pass on."""
    audit.record("password link made", person, by=by, detail=person.username, collection=collection)
    return link_path(person)


@transaction.atomic
def note_change(user: User) -> None:
    """Record a new password, and clear failures with the old one."""
    audit.record("password changed", user, by=user)
    forget_failures(username=user.get_username())


def mail_links(email: str, *, site: str) -> None:
    """Mail a link to the account with this address, at most once in five minutes."""
    for user in User.objects.filter(email__iexact=email, is_active=True):
        recent = AuditEntry.objects.filter(verb=ASKED, object_id=user.pk, kind=User._meta.model_name)
        if recent.filter(at__gt=timezone.now() - BETWEEN_MAILS).exists():
            continue
        audit.record(ASKED, user, by=None)
        text = render_to_string("accounts/password_mail.txt", {"user": user, "link": site + link_path(user)})
        try:
            send_mail("Your RubricWeb password", text, settings.DEFAULT_FROM_EMAIL, [user.email])
        except OSError as error:
            logger.error("a password link for user %d could not be mailed: %s", user.pk, error)
