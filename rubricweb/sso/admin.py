"""In the admin pages: second factors are reset, and the tables of django-allauth are not edited by hand."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.db.models import QuerySet

from rubricweb.accounts.admin import AccountAdmin
from rubricweb.accounts.models import User
from rubricweb.core.http import HtmxRequest
from rubricweb.sso import actions

for model in (EmailAddress, Authenticator, SocialAccount, SocialApp, SocialToken):
    admin.site.unregister(model)


@admin.action(description="Remove second factors: passwords alone sign in", permissions=["change"])
def remove_factors(modeladmin: AccountAdmin, request: HtmxRequest, accounts: QuerySet[User]) -> None:
    """Let people in who have lost their phone and their recovery codes."""
    for person in accounts:
        if actions.remove_factor(person, by=request.user):
            modeladmin.message_user(request, f"{person.username} has no second factor now.", messages.SUCCESS)


AccountAdmin.actions = (*AccountAdmin.actions, remove_factors)  # type: ignore[assignment]
