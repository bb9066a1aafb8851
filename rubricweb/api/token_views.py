"""Make and revoke tokens, in their section of the account."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts.account import account_page, to_section
from rubricweb.api import tokens as actions
from rubricweb.api.forms import TokenForm
from rubricweb.api.models import Token
from rubricweb.core.http import HtmxRequest, shows_a_secret


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HtmxRequest) -> HttpResponse:
    """Make a token, and show its text this once; a form that was sent twice comes by GET."""
    if request.method != "POST":
        return to_section("tokens")
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return account_page(request, refused=form, section="token_form")
    _, text = actions.make_token(request.user, **form.cleaned_data)
    response = account_page(request, token_text=text)
    response["Cache-Control"] = "no-store"
    return response


@require_POST
def revoke(request: HtmxRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(Token, pk=token_id, user=request.user)
    actions.revoke(token, by=request.user)
    messages.success(request, f"{token.name} is revoked and no longer works.")
    return to_section("tokens")
