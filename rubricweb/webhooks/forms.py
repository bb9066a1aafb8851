"""What organizers choose of a webhook."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from rubricweb.webhooks.actions import Wanted
from rubricweb.webhooks.addresses import BadAddress, target_of
from rubricweb.webhooks.models import ADDRESS_CHARS, CHOSEN, Endpoint


def check_address(text: str) -> None:
    """Raises ValidationError where messages cannot be sent to this address."""
    try:
        target_of(text)
    except BadAddress as error:
        raise ValidationError(str(error)) from error


class WebhookForm(forms.Form):
    address = forms.CharField(
        label="Address",
        max_length=ADDRESS_CHARS,
        help_text="Messages are sent there by POST, for example https://example.org/hook.",
        validators=[check_address],
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        label="Send when",
        choices=CHOSEN,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    note = forms.CharField(
        label="What it is for",
        max_length=120,
        required=False,
        help_text="Optional.",
    )

    @classmethod
    def of(cls, endpoint: Endpoint, sent: Any = None) -> WebhookForm:
        """Return the form of an endpoint that there is."""
        known = {"address": endpoint.address, "events": endpoint.events, "note": endpoint.note}
        return cls(sent, initial=known)

    @property
    def wanted(self) -> Wanted:
        return Wanted(**self.cleaned_data)


class ReplayForm(forms.Form):
    """Since when what failed is sent again."""

    since = forms.DateTimeField(
        label="Since (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
