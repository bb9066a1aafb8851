"""Sign in by `Authorization: Bearer rw_…` (or `Token rw_…`), or as a browser is signed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework import exceptions, permissions
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.request import Request

from rubricweb.accounts.models import User
from rubricweb.api import tokens
from rubricweb.api.models import Token

if TYPE_CHECKING:
    from rest_framework.views import APIView

WORDS = ("bearer", "token")


class TokenAuthentication(BaseAuthentication):
    """The request acts as the token's owner; `request.auth` is the token."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        word, _, text = request.headers.get("Authorization", "").partition(" ")
        if word.lower() not in WORDS:
            return None
        token = tokens.token_of(text.strip())
        if token is None:
            raise exceptions.AuthenticationFailed("This token is unknown, revoked or expired.")
        tokens.note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        """401 instead of 403 for whoever is not signed in."""
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
