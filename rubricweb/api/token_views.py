"""The page on which people make and revoke their tokens."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.api import tokens as actions
from rubricweb.api.forms import TokenForm
from rubricweb.api.models import Token
from rubricweb.core.http import HtmxRequest, form_response, shows_a_secret

PAGE = "api/tokens.html"


@shows_a_secret
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HtmxRequest) -> HttpResponse:
    """The list; after a POST, with the new token's text, which is shown this once."""
    form = TokenForm(request.user, request.POST or None)
    text = ""
    if form.is_valid():
        chosen = form.cleaned_data
        _, text = actions.make_token(request.user, **chosen)
        form = TokenForm(request.user)
    rows = Token.objects.filter(user=request.user).select_related("collection")
    context = {"form": form, "tokens": rows, "text": text}
    response = form_response(request, PAGE, context, part="tokens")
    if text:
        response["Cache-Control"] = "no-store"
    return response


@require_POST
def revoke(request: HtmxRequest, token_id: int) -> HttpResponse:
    token = get_object_or_404(Token, pk=token_id, user=request.user)
    actions.revoke(token, by=request.user)
    messages.success(request, gettext("%(token)s is revoked and no longer works.") % {"token": token.name})
    return redirect("api:tokens")
