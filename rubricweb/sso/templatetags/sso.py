"""What the page of an account, which is of a room below, shows of links and second factors."""

from __future__ import annotations

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.socialaccount.models import SocialAccount
from django import template
from django.conf import settings

from rubricweb.accounts.models import User
from rubricweb.sso.arrivals import LinkAccountForm
from rubricweb.sso.factors import CodeForm, has_factor

register = template.Library()


@register.simple_tag
def sign_in_ways(user: User) -> dict[str, Any]:
    """Return the provider's name with its form, and the state of the second factor with its form."""
    recovery = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    linked = SocialAccount.objects.filter(user=user, provider=settings.SSO.provider_id)
    return {
        "organization": settings.SSO.organization,
        "is_linked": linked.exists(),
        "link": LinkAccountForm(user),
        "has_factors": settings.SSO.has_factors,
        "has_factor": has_factor(user),
        "codes_left": len(RecoveryCodes(recovery).get_unused_codes()) if recovery else 0,
        "factor": CodeForm(),
    }
