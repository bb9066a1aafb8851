"""The tokens on the page of an account, which is of a room below and cannot fetch them itself."""

from __future__ import annotations

from django import template
from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.api.models import Token
from rubricweb.api.tokens import TokenForm

register = template.Library()


@register.filter
def tokens(user: User) -> QuerySet[Token]:
    """Return the person's tokens with their collections."""
    return Token.objects.filter(user=user).select_related("collection")


@register.simple_tag
def new_token(user: User) -> TokenForm:
    """Return the empty form of a token."""
    return TokenForm(user)
