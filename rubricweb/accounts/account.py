"""The page of a person's own settings, and the page to sign in."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.forms import BaseForm
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse, QueryDict
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.urls import reverse, reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from rubricweb.accounts import actions, passwords
from rubricweb.accounts.keys import ACTIONS, KeyRow, NoSuchKey, keys_of, parsed, sign_of
from rubricweb.accounts.models import User
from rubricweb.core.http import HtmxRequest, form_response
from rubricweb.core.servers import is_set_up

SIGN_IN = "accounts/sign_in.html"


class KeyField(forms.CharField):
    """A key, typed as its sign, or pressed if JavaScript is on."""

    widget = forms.TextInput(attrs={"data-captures-key": "", "autocomplete": "off", "spellcheck": "false"})

    def clean(self, value: Any) -> str:  # Any: as Django hands it over
        try:
            return parsed(super().clean(value))
        except NoSuchKey:
            raise forms.ValidationError(
                "This key cannot be used here. Use a letter, a digit, a sign, an arrow, Enter, "
                "Home, End, PageUp or PageDown, with Shift or without."
            ) from None


class KeysForm(forms.Form):
    """A key for each action; empty turns it off."""

    def __init__(self, rows: tuple[KeyRow, ...], posted: QueryDict | None = None) -> None:
        super().__init__(posted, initial={row.action.name: row.sign for row in rows}, auto_id="key-%s")
        for row in rows:
            self.fields[row.action.name] = KeyField(label=row.action.label, required=False, max_length=30)

    def clean(self) -> dict[str, str]:
        """Refuse a key that is used twice."""
        chosen = self.cleaned_data
        labels: dict[str, str] = {}
        for action in ACTIONS:
            key = chosen.get(action.name, "")
            if key and key in labels:
                self.add_error(
                    action.name,
                    f"{sign_of(key)} does this already: {labels[key]}.",
                )
            labels.setdefault(key, action.label)
        return chosen


class DensityForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in the stubs only
    """How much of a screen is white."""

    class Meta:
        model = User
        fields = ("density",)
        widgets = {"density": forms.RadioSelect}


class ForgottenForm(forms.Form):
    email = forms.EmailField(
        label="Email address",
        widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}),
    )


class TypedTwice(forms.Form):
    """A new password and its confirmation. A form with errors has neither, so the error is at the first."""

    def add_error(self, field: str | None, error: Any) -> None:  # Any: as Django hands it over
        first = field.replace("password2", "password1") if field else field
        if first == field or first not in self.errors:
            super().add_error(first, error)


class NewPasswordForm(TypedTwice, SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A password for somebody who forgot theirs."""


class ChangePasswordForm(TypedTwice, PasswordChangeForm):
    """Another password for somebody who knows theirs; most come to its page for something else."""

    old_password = forms.CharField(
        label="Current password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),  # Django's takes the focus
    )
    revokes_tokens = forms.BooleanField(
        label="Revoke my API tokens too",
        help_text="Do this if somebody else may know your password: they could have made one.",
        required=False,
    )


class OwnPasswordForm(forms.Form):
    """The person's password, so that nobody closes, links or locks an account that was left open."""

    password = forms.CharField(
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, posted: QueryDict | None = None, *, section: str) -> None:
        super().__init__(posted, auto_id=f"{section}-%s")
        self.person = person

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.person.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password


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
        "close": OwnPasswordForm(request.user, section="close"),
        "why_not_close": actions.why_not_close(request.user),
        "has_sso": settings.SSO.is_on,
    }
    if refused is not None:
        forms[section] = refused
    whole = forms | {"form": refused} | context
    return form_response(request, "accounts/account.html", whole, part="account")


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
    form = OwnPasswordForm(request.user, request.POST, section="close")
    if actions.why_not_close(request.user) or not form.is_valid():
        return account_page(request, refused=form, section="close")
    actions.close_account(request.user, by=request.user)
    logout(request)
    messages.success(request, "Your account is closed.")
    return redirect("accounts:login")


FORGOTTEN = {"forgotten": ForgottenForm, "has_mail": is_set_up, "organization": settings.SSO.organization}
"""What the sign-in page says to who forgot the password, or has none here."""


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
        """Return the account of a link; Django asks with each request, before it checks the token."""
        person, self.token_generator = passwords.opened_by(uidb64) or (None, self.token_generator)
        return person

    def form_valid(self, form: SetPasswordForm) -> HttpResponse:  # type: ignore[type-arg]
        response = super().form_valid(form)
        passwords.note_reset(form.user)
        messages.success(self.request, "Password set, and API tokens revoked. Sign in with it.")
        return response
