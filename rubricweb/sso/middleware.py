"""Until the second factor is given, a session is of nobody, whichever password path began it."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from allauth.mfa.models import Authenticator
from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from rubricweb.core import errors

if TYPE_CHECKING:
    from django.contrib.sessions.backends.base import SessionBase

    from rubricweb.accounts.models import User

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
