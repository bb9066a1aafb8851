"""The second factor: its code at sign-in, its page of the account, and recovery codes."""

from __future__ import annotations

import base64
from http import HTTPStatus
from typing import Any

import qrcode
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import clear_totp_secret, get_totp_secret, validate_totp_code
from allauth.socialaccount.models import SocialAccount
from axes.attempts import get_cool_off_threshold
from axes.models import AccessAttempt
from axes.utils import reset as forget_failures
from django import forms, template
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from qrcode.image.svg import SvgPathFillImage

from rubricweb.accounts import passwords
from rubricweb.accounts.account import account_page, to_section
from rubricweb.accounts.models import User
from rubricweb.core import errors
from rubricweb.core.http import HtmxRequest, form_response, shows_a_secret
from rubricweb.sso import actions
from rubricweb.sso.arrivals import LinkAccountForm, next_address
from rubricweb.sso.middleware import MARK, waiting_person

CODE_FAILURES = 5
"""Wrong codes of one account, from whatever address, within the cool-off time of wrong passwords."""
SECTION = "second-factor"
"""Of the account's page."""
WRONG = "This code is wrong, over or used. Enter the newest one."


class CodeForm(forms.Form):
    """A code of the app, or a recovery code."""

    code = forms.CharField(
        label="Code of your app, or a recovery code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )

    def __init__(self, posted: QueryDict | None = None) -> None:
        super().__init__(posted, auto_id="factor-%s")


class SetForm(CodeForm):
    """The first code of the app, and the password: nobody locks a person out of an account left open."""

    password = forms.CharField(
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, secret: str, posted: QueryDict | None = None) -> None:
        super().__init__(posted)
        self.fields["code"].label = "Code that the app shows"
        self.person, self.secret = person, secret
        if not person.has_usable_password():
            del self.fields["password"]

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not validate_totp_code(self.secret, code):
            raise forms.ValidationError(WRONG)
        return code

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.person.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password


def has_factor(person: User) -> bool:
    """Return whether the person is asked for codes."""
    return bool(Authenticator.objects.filter(user=person, type=Authenticator.Type.TOTP).exists())


def locked(request: HttpRequest, person: User) -> HttpResponse | None:
    """Return the page of the lockout after too many wrong codes, or passwords, of this account."""
    name = actions.failure_name(person)
    if refusal := passwords.refused(request, name):
        return refusal
    recent = AccessAttempt.objects.filter(username=name, attempt_time__gte=get_cool_off_threshold(request))
    failures = recent.aggregate(failures=Sum("failures_since_start"))["failures"] or 0
    if failures < CODE_FAILURES:
        return None
    return errors.page(
        HTTPStatus.TOO_MANY_REQUESTS,
        "Too many wrong codes",
        "The second factor of this account is locked for 15 minutes.",
        "Wait, then sign in again with the newest code, or with a recovery code.",
        request=request,
        signs_in=True,
    )


def checked(request: HttpRequest, person: User, form: CodeForm) -> bool:
    """Return whether the form has a code of the person. Wrong ones are counted as wrong passwords are."""
    if not form.is_valid():
        return False
    if actions.take_code(person, form.cleaned_data["code"]):
        forget_failures(username=actions.failure_name(person))
        return True
    passwords.note_failure(request, actions.failure_name(person))
    form.add_error("code", WRONG)
    return False


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HtmxRequest) -> HttpResponse:
    """Ask for the second factor of whoever gave the password in this session."""
    person, address = waiting_person(request), request.POST.get("next", request.GET.get("next", ""))
    if person is None:
        return HttpResponseRedirect(next_address(request, address))
    if refusal := locked(request, person):
        return refusal
    form = CodeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and checked(request, person, form):
        factor = Authenticator.objects.get(user=person, type=Authenticator.Type.TOTP)
        request.session[MARK] = factor.pk
        request.session.cycle_key()
        return HttpResponseRedirect(next_address(request, address))
    if request.method == "POST" and (refusal := locked(request, person)):
        return refusal
    form.fields["code"].widget.attrs["autofocus"] = True
    return form_response(request, "sso/code.html", {"form": form, "next": address, "person": person})


@never_cache
@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def factor(request: HtmxRequest) -> HttpResponse:
    """Show the secret for an app; POST takes its first code, sets the factor and shows recovery codes."""
    if has_factor(request.user):
        return to_section(SECTION)
    secret = get_totp_secret()
    form = SetForm(request.user, secret, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        codes = actions.set_factor(request.user, secret)
        clear_totp_secret(request)
        request.session[MARK] = Authenticator.objects.get(user=request.user, type=Authenticator.Type.TOTP).pk
        return _codes(request, codes)
    adapter = get_adapter()
    picture = qrcode.make(adapter.build_totp_url(request.user, secret), image_factory=SvgPathFillImage)
    context = {"secret": secret, "picture": base64.b64encode(picture.to_string()).decode()}
    return form_response(request, "sso/factor.html", {"form": form, **context})


def _codes(request: HtmxRequest, codes: list[str]) -> HttpResponse:
    return render(request, "sso/recovery_codes.html", {"codes": codes})


def _without_code(request: HtmxRequest) -> HttpResponse | None:
    """Return the answer to a form without a code of the person; None where it has one."""
    form = CodeForm(request.POST)
    if refusal := locked(request, request.user):
        return refusal
    has_code = checked(request, request.user, form)
    return None if has_code else account_page(request, refused=form, section="factor")


@never_cache
@shows_a_secret
@require_POST
def recovery_codes(request: HtmxRequest) -> HttpResponse:
    """Make new recovery codes, with a code of the app, and show them once."""
    if refusal := _without_code(request):
        return refusal
    return _codes(request, actions.renew_recovery_codes(request.user))


@require_POST
def factor_remove(request: HtmxRequest) -> HttpResponse:
    """Ask for no more codes, with a last one."""
    if refusal := _without_code(request):
        return refusal
    actions.remove_factor(request.user, by=request.user)
    messages.success(request, "Second factor removed. Your password alone signs you in.")
    return to_section(SECTION)


register = template.Library()
"""For the page of an account, which is of a room below."""


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
