"""The second factor: its code at sign-in, its page of the account, and recovery codes.

Until it is given, a session is of nobody, whichever password path began it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import qrcode
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import clear_totp_secret, get_totp_secret, validate_totp_code
from asgiref.sync import sync_to_async
from axes.attempts import get_cool_off_threshold
from axes.models import AccessAttempt
from axes.utils import reset as forget_failures
from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import get_user
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import AnonymousUser
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from qrcode.image.svg import SvgPathFillImage

from rubricweb.accounts import passwords
from rubricweb.accounts.account import OwnPasswordForm, account_page, to_section
from rubricweb.accounts.models import User
from rubricweb.core import errors
from rubricweb.core.http import HtmxRequest, form_response, shows_a_secret
from rubricweb.sso import actions

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase

MARK = "second_factor"
"""In a session: the key of the authenticator whose code, or recovery code, was given in it."""


def is_waiting(person: User | AnonymousUser, session: SessionBase) -> bool:
    """Return whether the person has a second factor that was not given in this session."""
    if not settings.SSO.has_factors or not person.is_authenticated:
        return False
    factors = Authenticator.objects.filter(user=person.pk, type=Authenticator.Type.TOTP)
    key = factors.values_list("pk", flat=True).first()
    return key is not None and session.get(MARK) != key


def waiting_person(request: HttpRequest) -> User | None:
    """Return who gave the password in this session, and is to give the second factor."""
    person = get_user(request)
    return person if is_waiting(person, request.session) else None  # type: ignore[return-value]


class SecondFactor:
    """Let a session act as its person only when it has the second factor; lead to the page that asks for it.

    It stands behind the session, not in a view, so that no way to sign in can leave it out. Tokens of the
    API are no sessions.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.code = reverse("sso:code")
        self.sign_ins = {resolve_url(settings.LOGIN_URL), reverse("admin:login")}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        person = SimpleLazyObject(lambda: _person_with_factor(request))

        async def auser() -> object:
            return await sync_to_async(_person_with_factor)(request)

        request.user, request.auser = person, auser  # type: ignore[assignment]
        is_page = request.method in ("GET", "HEAD")
        if is_page and request.path in self.sign_ins and waiting_person(request):
            return self._to_code(request.GET.get("next", ""))
        response = self.get_response(request)
        if not isinstance(response, HttpResponseRedirect):
            return response
        address = urlsplit(response.url)
        has_signed_in = request.user is not person  # type: ignore[comparison-overlap]  # `login` has set it
        if not (has_signed_in or address.path in self.sign_ins) or not waiting_person(request):
            return response
        if "HX-Request" in request.headers:
            request.user = AnonymousUser()
            return errors.page(
                HTTPStatus.UNAUTHORIZED,
                "Second factor",
                "This account has a second factor. Sign in again in another tab, then go on here.",
                request=request,
            )
        is_sign_in = address.path in self.sign_ins
        return self._to_code(parse_qs(address.query).get("next", [""])[0] if is_sign_in else response.url)

    def _to_code(self, address: str) -> HttpResponse:
        return HttpResponseRedirect(f"{self.code}?{urlencode({'next': address})}")


def _person_with_factor(request: HttpRequest) -> object:
    if not hasattr(request, "_person_with_factor"):
        person = get_user(request)
        request._person_with_factor = AnonymousUser() if is_waiting(person, request.session) else person  # type: ignore[attr-defined]
    return request._person_with_factor  # type: ignore[attr-defined]


CODE_FAILURES = 5
"""Wrong codes of one account, from whatever address, within the cool-off time of wrong passwords."""
SECTION = "second-factor"
"""Of the account's page."""
WRONG = "This code is wrong, over or used. Enter the newest one."


def next_address(request: HttpRequest, address: str) -> str:
    """Return an address of this site, or that of the first page."""
    is_ours = url_has_allowed_host_and_scheme(
        address, {request.get_host()}, require_https=request.is_secure()
    )
    return address if is_ours else resolve_url(settings.LOGIN_REDIRECT_URL)


class CodeForm(forms.Form):
    """A code of the app, or a recovery code."""

    code = forms.CharField(
        label="Code of your app, or a recovery code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric"}),
    )

    def __init__(self, posted: QueryDict | None = None, *, auto_id: str = "factor-%s") -> None:
        super().__init__(posted, auto_id=auto_id)


class SetForm(OwnPasswordForm, CodeForm):
    """The first code of the app, and the password."""

    def __init__(self, person: User, secret: str, posted: QueryDict | None = None) -> None:
        super().__init__(person, posted, section="factor")
        self.fields["code"].label = "Code that the app shows"
        self.secret = secret
        if not person.has_usable_password():
            del self.fields["password"]

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        if not validate_totp_code(self.secret, code):
            raise forms.ValidationError(WRONG)
        return code


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
