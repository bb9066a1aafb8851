"""Tokens: make and revoke them in one's account, and sign in with one."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django import forms, template
from django.contrib import messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework import exceptions, permissions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from rubricweb.accounts.account import account_page, to_section
from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.core import audit, http
from rubricweb.core.forms import offer_rows
from rubricweb.corpus.models import Collection

if TYPE_CHECKING:
    from rest_framework.views import APIView

PREFIX_BYTES = 4
SECRET_BYTES = 32
NOTED_EVERY = dt.timedelta(minutes=10)
"""How exactly the last use is noted: a script that reads does not write with each request."""
_FORM = re.compile(r"rw_(?P<prefix>[0-9a-f]{8})_(?P<secret>[\w-]{43})", re.ASCII)

WORDS = ("bearer", "token")
LONGEST_DAYS = 366


@transaction.atomic
def make_token(
    user: User,
    *,
    name: str,
    scopes: Iterable[str],
    days: int,
    collection: Collection | None = None,
) -> tuple[Token, str]:
    """Return a token and its text `rw_<prefix>_<secret>`, which nobody can read again."""
    secret = secrets.token_urlsafe(SECRET_BYTES)
    token = Token.objects.create(
        user=user,
        name=name,
        prefix=secrets.token_hex(PREFIX_BYTES),
        digest=_digest(secret),
        scopes=sorted({Token.Scope(scope).value for scope in scopes}),
        collection=collection,
        expires_at=timezone.now() + dt.timedelta(days=days),
    )
    audit.record("token made", token, by=user, detail=f"{', '.join(token.scopes)}, {days} days")
    return token, f"rw_{token.prefix}_{secret}"


def token_of(text: str) -> Token | None:
    """Return the open token with this text, whose owner may sign in; None without one."""
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    token = Token.objects.select_related("user").filter(prefix=match["prefix"]).first()
    if token is None or not constant_time_compare(token.digest, _digest(match["secret"])):
        return None
    return token if token.is_open and token.user.is_active else None


@transaction.atomic
def revoke(token: Token, *, by: User) -> None:
    """Close the token at once."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record("token revoked", token, by=by)


def revoke_all(person: User) -> None:
    """Close all tokens of a person, who has a new password."""
    for token in Token.objects.filter(user=person, revoked_at=None):
        revoke(token, by=person)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


class TokenAuthentication(BaseAuthentication):
    """The request acts as the token's owner; `request.auth` is the token."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        word, _, text = request.headers.get("Authorization", "").partition(" ")
        if word.lower() not in WORDS:
            return None
        token = token_of(text.strip())
        if token is None:
            raise exceptions.AuthenticationFailed("This token is unknown, revoked or expired.")
        now = timezone.now()
        before = Q(last_used_at=None) | Q(last_used_at__lt=now - NOTED_EVERY)
        if token.last_used_at is None or token.last_used_at < now - NOTED_EVERY:
            Token.objects.filter(before, pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge that makes it 401 instead of 403 for whoever is not signed in."""
        return 'Bearer realm="RubricWeb"'


class BrowserAuthentication(SessionAuthentication):
    """For the pages of the documentation; writes need the CSRF token."""


class HasScope(permissions.BasePermission):
    """A token needs the scope that the view names for the request's method; a browser has all."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user.is_authenticated:
            return False
        scope = getattr(view, "scopes", {}).get(request.method, Token.Scope.READ)
        if isinstance(request.auth, Token) and scope not in request.auth.scopes:
            self.message = f"This token lacks the scope {scope}."
            return False
        return True


class TokenForm(forms.ModelForm):  # type: ignore[type-arg]
    scopes = forms.MultipleChoiceField(
        choices=Token.Scope.choices,
        initial=[Token.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        label="It may",
        help_text="Never more than your own role in a collection allows.",
    )
    days = forms.IntegerField(min_value=1, max_value=LONGEST_DAYS, initial=90, label="Days until it expires")
    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        empty_label="all of mine",
        label="Collection",
    )

    class Meta:
        model = Token
        fields = ("name",)

    def __init__(self, user: User, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        offer_rows(self, "collection", Collection.objects.visible_to(user))
        self.fields["name"].help_text = "What it is for, such as “nightly export”."


@http.shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def token_list(request: http.HtmxRequest) -> HttpResponse:
    """Make a token, and show its text this once; a form that was sent twice comes by GET."""
    if request.method != "POST":
        return to_section("tokens")
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return account_page(request, refused=form, section="token_form")
    _, text = make_token(request.user, **form.cleaned_data)
    response = account_page(request, token_text=text)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def token_revoke(request: http.HtmxRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(Token, pk=token_id, user=request.user)
    revoke(token, by=request.user)
    messages.success(request, f"{token.name} is revoked and no longer works.")
    return to_section("tokens")


register = template.Library()
"""For the page of an account, which is of a room below and cannot fetch tokens itself."""


@register.filter
def tokens(user: User) -> QuerySet[Token]:
    """Return the person's tokens with their collections."""
    return Token.objects.filter(user=user).select_related("collection")


@register.simple_tag
def new_token(user: User) -> TokenForm:
    """Return the empty form of a token."""
    return TokenForm(user)
