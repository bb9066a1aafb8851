"""What people set for themselves."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from rubricweb.accounts import actions
from rubricweb.accounts.forms import KeysForm
from rubricweb.accounts.keys import keys_of
from rubricweb.core.http import HtmxRequest, form_response


@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HtmxRequest) -> HttpResponse:
    """The keys of the review screens, each to be changed."""
    form = KeysForm(keys_of(request.user), request.POST or None)
    if form.is_valid():
        actions.set_keys(request.user, chosen=form.cleaned_data)
        messages.success(request, "Keys saved.")
        return redirect("accounts:keys")
    return form_response(request, "accounts/keys.html", {"form": form})


@require_POST
def keys_reset(request: HtmxRequest) -> HttpResponse:
    actions.reset_keys(request.user)
    messages.success(request, "Everybody's keys are yours again.")
    return redirect("accounts:keys")
