"""Link people with the provider, make accounts of its people, and set, use and remove second factors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.mfa.utils import decrypt
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt
from axes.utils import reset as forget_failures
from django.conf import settings
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.crypto import salted_hmac

from rubricweb.accounts.models import Invitation, User
from rubricweb.core import audit
from rubricweb.core.environment import STEPS_AHEAD

if TYPE_CHECKING:
    from allauth.socialaccount.models import SocialLogin

    from rubricweb.corpus.models import Collection

NAME_CHARS = 150
COUNTER = "counter"
"""In the data of an authenticator: the step of time of the newest code that was taken."""


@transaction.atomic
def link(person: User, login: SocialLogin) -> None:
    """Let the person sign in by the provider from now on."""
    SocialAccount.objects.create(user=person, provider=login.account.provider, uid=login.account.uid)
    audit.record("organization linked", person, by=person, detail=settings.SSO.name)


@transaction.atomic
def unlink(person: User) -> None:
    """End signing in by the provider."""
    if SocialAccount.objects.filter(user=person, provider=settings.SSO.provider_id).delete()[0]:
        audit.record("organization unlinked", person, by=person, detail=settings.SSO.name)


@transaction.atomic
def make_account(login: SocialLogin, email: str) -> User:
    """Make an account, without a password and without a role, for somebody of the provider."""
    person: User = login.user
    person.username = _free_name(person.username or email.partition("@")[0])
    person.email = email
    person.set_unusable_password()
    person.save()
    audit.record("account made by organization", person, by=person, detail=settings.SSO.name)
    link(person, login)
    return person


def _free_name(proposal: str) -> str:
    """Return a user name that nobody has: the one proposed, else with a number."""
    try:
        UnicodeUsernameValidator()(proposal)
    except ValidationError:
        proposal = "person"
    name, number = proposal[:NAME_CHARS], 1
    while User.objects.filter(username__iexact=name).exists():
        number += 1
        name = f"{proposal[: NAME_CHARS - 10]}-{number}"
    return name


@transaction.atomic
def claim_invitations(person: User, email: str) -> None:
    """Give the person what invites an account named like this address, where no such account was there."""
    named = Invitation.objects.usable().filter(username__iexact=email, person=None)
    Invitation.objects.filter(pk__in=named.values("pk")).update(person=person)


def forget(person: User, collection: Collection | None) -> None:
    """Remove links and factors of a person who closes the account."""
    if collection is None:
        SocialAccount.objects.filter(user=person).delete()
        Authenticator.objects.filter(user=person).delete()
        AccessAttempt.objects.filter(username=failure_name(person)).delete()


def failure_name(person: User) -> str:
    """Return the name under which wrong codes are counted, beside wrong passwords of accounts.

    Nobody can guess it, and so lock the factor by giving it as a user name on the sign-in page.
    """
    return f"second factor {salted_hmac(__name__, str(person.pk)).hexdigest()}"


@transaction.atomic
def set_factor(person: User, secret: str) -> list[str]:
    """Demand codes of this secret from now on; return new recovery codes.

    The code by which the person has shown that the app has the secret is spent.
    """
    Authenticator.objects.filter(user=person).delete()
    made = TOTP.activate(person, secret).instance
    made.data[COUNTER] = max(yield_hotp_counters_from_time()) - STEPS_AHEAD
    made.save(update_fields=["data"])
    audit.record("second factor set", person, by=person)
    codes: list[str] = RecoveryCodes.activate(person).generate_codes()
    return codes


@transaction.atomic
def renew_recovery_codes(person: User) -> list[str]:
    """Return new recovery codes; the earlier ones end."""
    Authenticator.objects.filter(user=person, type=Authenticator.Type.RECOVERY_CODES).delete()
    audit.record("recovery codes renewed", person, by=person)
    codes: list[str] = RecoveryCodes.activate(person).generate_codes()
    return codes


@transaction.atomic
def take_code(person: User, code: str) -> bool:
    """Return whether this is a code of the person's app or a recovery code; it is spent then.

    Spent codes are kept in the database, so that no two web processes take the same.
    """
    rows = {row.type: row for row in Authenticator.objects.select_for_update().filter(user=person)}
    factor = rows.get(Authenticator.Type.TOTP)
    if factor is None:
        return False
    secret, latest = decrypt(factor.data["secret"]), factor.data.get(COUNTER, 0)
    for counter in yield_hotp_counters_from_time():
        is_code = compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, counter)))
        if is_code and counter > latest:
            factor.data[COUNTER] = counter
            factor.save(update_fields=["data"])
            factor.record_usage()
            return True
    recovery = rows.get(Authenticator.Type.RECOVERY_CODES)
    if recovery is None or not RecoveryCodes(recovery).validate_code(code):
        return False
    audit.record("recovery code used", person, by=person)
    return True


@transaction.atomic
def remove_factor(person: User, *, by: User | None) -> bool:
    """Demand no more codes; return whether any were demanded. `by` is None for a command of the server."""
    removed, _ = Authenticator.objects.filter(user=person).delete()
    forget_failures(username=failure_name(person))
    if removed:
        audit.record("second factor removed", person, by=by)
    return bool(removed)
