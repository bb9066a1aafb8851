"""A person's own settings."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.forms import BaseForm
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse, reverse_lazy
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
from rubricweb.core.servers import is_set_up


@login_not_required
@never_cache
@require_safe
def session(request: HtmxRequest) -> HttpResponse:
    """Say who is signed in now, with the CSRF token of that sign-in: `{"person", "name", "token"}`.

    Open pages ask when theirs was refused (static/js/session.js); `person` is null for nobody.
    """
    token = get_token(request)
    return JsonResponse({"person": request.user.pk, "name": request.user.get_username(), "token": token})


@require_safe
def account(request: HtmxRequest) -> HttpResponse:
    """Show a person's own settings, a section each; every form posts to an address of its own."""
    return account_page(request)


def account_page(
    request: HtmxRequest, *, refused: BaseForm | None = None, section: str = "", **context: object
) -> HttpResponse:
    """Render the account, with what was refused in its section; rooms above add sections of their own."""
    forms: dict[str, object] = {
        "density": DensityForm(instance=request.user),
        "password": ChangePasswordForm(request.user),
        "keys": KeysForm(keys_of(request.user)),
        "close": CloseForm(request.user),
        "why_not_close": closing.why_not(request.user),
    }
    if refused is not None:
        forms[section] = refused
    shown = forms | {"form": refused} | context
    return form_response(request, "accounts/account.html", shown, part="account")


def to_section(section: str) -> HttpResponseRedirect:
    """Redirect to a section of the account."""
    return HttpResponseRedirect(f"{reverse('accounts:account')}#{section}")


@require_http_methods(["GET", "HEAD", "POST"])
def keys(request: HtmxRequest) -> HttpResponse:
    """Choose the keys of the review screens."""
    if request.method != "POST":
        return to_section("own-keys")
    form = KeysForm(keys_of(request.user), request.POST)
    if not form.is_valid():
        return account_page(request, refused=form, section="keys")
    actions.set_keys(request.user, chosen=form.cleaned_data)
    messages.success(request, "Keys saved.")
    return to_section("own-keys")


@require_POST
def keys_reset(request: HtmxRequest) -> HttpResponse:
    actions.reset_keys(request.user)
    messages.success(request, "Default keys restored.")
    return to_section("own-keys")


@require_POST
def password(request: HtmxRequest) -> HttpResponse:
    """Change one's password. Other sessions of the account must sign in again."""
    form = ChangePasswordForm(request.user, request.POST)
    if not form.is_valid():
        return account_page(request, refused=form, section="password")
    note = passwords.note_reset if form.cleaned_data["revokes_tokens"] else passwords.note_change
    note(form.save())
    update_session_auth_hash(request, request.user)
    messages.success(request, "Password changed. Other browsers must sign in again.")
    return to_section("password")


@require_POST
def density(request: HtmxRequest) -> HttpResponse:
    form = DensityForm(request.POST, instance=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, "Density saved.")
    return to_section("density")


@require_POST
def close(request: HtmxRequest) -> HttpResponse:
    """Close one's own account."""
    form = CloseForm(request.user, request.POST)
    if closing.why_not(request.user) or not form.is_valid():
        return account_page(request, refused=form, section="close")
    closing.close_account(request.user, by=request.user)
    logout(request)
    messages.success(request, "Your account is closed.")
    return redirect("accounts:login")


SIGN_IN = "accounts/sign_in.html"
FORGOTTEN = {"forgotten": ForgottenForm, "has_mail": is_set_up}
"""What the sign-in page says to who forgot the password."""


@login_not_required
@require_POST
def password_forgotten(request: HtmxRequest) -> HttpResponse:
    """Mail a link if the server has mail; otherwise the page says who can make one."""
    form = ForgottenForm(request.POST)
    if is_set_up() and form.is_valid():
        site = f"{request.scheme}://{request.get_host()}"
        passwords.mail_links(form.cleaned_data["email"], site=site)
        messages.success(request, "If an account has this address, a link has been sent to it.")
        return redirect("accounts:login")
    context = FORGOTTEN | {"form": AuthenticationForm(request), "forgotten": form}
    return form_response(request, SIGN_IN, context, status=HTTPStatus.UNPROCESSABLE_ENTITY)


class PasswordSet(PasswordResetConfirmView):
    """Open the link: once, within its time, and as long as whoever made it still might make it."""

    form_class = NewPasswordForm
    template_name = SIGN_IN
    extra_context = FORGOTTEN | {"is_reset": True}
    success_url = reverse_lazy("accounts:login")

    def get_user(self, uidb64: str) -> User | None:
        """Django asks with each request, before it checks the token."""
        person, self.token_generator = passwords.opened_by(uidb64) or (None, self.token_generator)
        return person

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:  # type: ignore[type-arg]
        response = super().form_valid(form)
        passwords.note_reset(form.user)
        messages.success(self.request, "Password set, and API tokens revoked. Sign in with it.")
        return response


@require_POST
def invitation_accept(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    try:
        is_new = invitations.join(invitation, person=request.user)
    except InvitationOver:
        messages.error(request, "This invitation is no longer open. Ask the organizer for another.")
        return redirect("home:home")
    messages.success(request, invitations.joined_message(invitation, is_new=is_new))
    return redirect("home:home")


@require_POST
def invitation_decline(request: HtmxRequest, invitation_id: int) -> HttpResponse:
    invitation = get_object_or_404(Invitation, pk=invitation_id, person=request.user)
    invitations.decline(invitation, by=request.user)
    messages.success(request, "Invitation declined.")
    return redirect("home:home")
