"""A person's own settings."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import actions, closing, invitations, passwords
from rubricweb.accounts.forms import (
    ChangePasswordForm,
    CloseForm,
    DensityForm,
    ForgottenForm,
    KeysForm,
    NewPasswordForm,
)
from rubricweb.accounts.invitations import InvitationOver
from rubricweb.accounts.keys import keys_of
from rubricweb.accounts.models import Invitation, User
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.core.mail import is_set_up


@login_not_required
@never_cache
@require_safe
def session(request: HtmxRequest) -> HttpResponse:
    """Say who is signed in now, with the CSRF token of that sign-in: `{"person", "name", "token"}`.

    Open pages ask when theirs was refused (static/js/session.js); `person` is null for nobody.
    """
    token = get_token(request)
    return JsonResponse({"person": request.user.pk, "name": request.user.get_username(), "token": token})


@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HtmxRequest) -> HttpResponse:
    """The keys of the review screens."""
    form = KeysForm(keys_of(request.user), request.POST or None)
    if form.is_valid():
        actions.set_keys(request.user, chosen=form.cleaned_data)
        messages.success(request, gettext("Keys saved."))
        return redirect("accounts:keys")
    return form_response(request, "accounts/keys.html", {"form": form})


@require_POST
def keys_reset(request: HtmxRequest) -> HttpResponse:
    actions.reset_keys(request.user)
    messages.success(request, gettext("Default keys restored."))
    return redirect("accounts:keys")


@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HtmxRequest) -> HttpResponse:
    """Change one's password. Other sessions of the account must sign in again."""
    form = ChangePasswordForm(request.user, request.POST or None)
    if form.is_valid():
        note = passwords.note_reset if form.cleaned_data["revokes_tokens"] else passwords.note_change
        note(form.save())
        update_session_auth_hash(request, request.user)
        messages.success(request, gettext("Password changed. Other browsers must sign in again."))
        return redirect("accounts:password")
    context = {"form": form, "density": DensityForm(instance=request.user)}
    return form_response(request, "accounts/password.html", context)


@require_POST
def density(request: HtmxRequest) -> HttpResponse:
    form = DensityForm(request.POST, instance=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, gettext("Density saved."))
    return redirect("accounts:password")


@require_http_methods(["GET", "HEAD", "POST"])
def close(request: HtmxRequest) -> HttpResponse:
    """Close one's own account."""
    form = CloseForm(request.user, request.POST or None)
    why_not = closing.why_not(request.user)
    if not why_not and form.is_valid():
        closing.close_account(request.user, by=request.user)
        logout(request)
        messages.success(request, gettext("Your account is closed."))
        return redirect("accounts:login")
    return form_response(request, "accounts/close.html", {"form": form, "why_not": why_not})


@login_not_required
@require_http_methods(["GET", "HEAD", "POST"])
def password_forgotten(request: HtmxRequest) -> HttpResponse:
    """If mail is set up, request a link; otherwise the page says who can make one."""
    has_mail = is_set_up()
    form = ForgottenForm(request.POST or None)
    if has_mail and form.is_valid():
        site = f"{request.scheme}://{request.get_host()}"
        passwords.mail_links(form.cleaned_data["email"], site=site)
        messages.success(request, gettext("If an account has this address, a link has been sent to it."))
        return redirect("accounts:login")
    return form_response(request, "accounts/password_forgotten.html", {"form": form, "has_mail": has_mail})


class PasswordSet(PasswordResetConfirmView):
    """The page of the link: once, within its time, and as long as whoever made it still might make it."""

    form_class = NewPasswordForm
    template_name = "accounts/password_set.html"
    success_url = reverse_lazy("accounts:login")

    def get_user(self, uidb64: str) -> User | None:
        """Django asks with each request, before it checks the token."""
        person, self.token_generator = passwords.opened_by(uidb64) or (None, self.token_generator)
        return person

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:  # type: ignore[type-arg]
        response = super().form_valid(form)
        passwords.note_reset(form.user)
        messages.success(self.request, gettext("Password set, and API tokens revoked. Sign in with it."))
        return response


@require_POST
def invitation_accept(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    try:
        is_new = invitations.join(invitation, person=request.user)
    except InvitationOver:
        messages.error(request, gettext("This invitation is no longer open. Ask the organizer for another."))
        return redirect("home:home")
    messages.success(request, invitations.joined_message(invitation, is_new=is_new))
    return redirect("home:home")


@require_POST
def invitation_decline(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    invitations.decline(invitation, by=request.user)
    messages.success(request, gettext("Invitation declined."))
    return redirect("home:home")
