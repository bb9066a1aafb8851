"""Forms of a person's own settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm, UserCreationForm
from django.http import QueryDict

from rubricweb.accounts.keys import ACTIONS, KeyRow, NoSuchKey, parsed, shown
from rubricweb.accounts.models import TEAM_CHARS, User


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

    def __init__(self, rows: tuple[KeyRow, ...], sent: QueryDict | None = None) -> None:
        super().__init__(sent, initial={row.action.name: row.shown for row in rows}, auto_id="key-%s")
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
                    f"{shown(key)} does this already: {labels[key]}.",
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


class _TypedTwice(forms.Form):
    """A new password and its confirmation. A form with errors has neither, so the error is at the first."""

    def add_error(self, field: str | None, error: Any) -> None:  # Any: as Django hands it over
        first = field.replace("password2", "password1") if field else field
        if first == field or first not in self.errors:
            super().add_error(first, error)


class TeamForm(forms.Form):
    """The team of somebody who joins by a link for many teams."""

    team = forms.CharField(
        label="Name of your team",
        max_length=TEAM_CHARS,
        help_text="Shown beside your runs. Teammates join by a link from the organizers.",
    )


class NewAccountForm(_TypedTwice, UserCreationForm):  # type: ignore[type-arg]  # generic in the stubs only
    """An account for somebody who was invited."""

    class Meta:
        model = User
        fields = ("username",)
        help_texts = {"username": "Letters, digits and @ . + - _ only."}


class NewPasswordForm(_TypedTwice, SetPasswordForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A password for somebody who forgot theirs."""


class ChangePasswordForm(_TypedTwice, PasswordChangeForm):
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


class CloseForm(forms.Form):
    """The person's password, so that nobody closes an account that was left open."""

    password = forms.CharField(
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, person: User, sent: QueryDict | None = None) -> None:
        super().__init__(sent, auto_id="close-%s")
        self.person = person

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.person.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password
