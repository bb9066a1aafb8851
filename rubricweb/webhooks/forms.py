"""What organizers choose of a webhook."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy

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
        label=gettext_lazy("Address"),
        max_length=ADDRESS_CHARS,
        help_text=gettext_lazy("Messages are sent here by POST: https://example.org/hook"),
        validators=[check_address],
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
    )
    events = forms.MultipleChoiceField(
        label=gettext_lazy("Send when"),
        choices=CHOSEN,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": gettext_lazy("Choose at least one.")},
    )
    note = forms.CharField(
        label=gettext_lazy("What it is for"),
        max_length=120,
        required=False,
        help_text=gettext_lazy("Optional."),
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
        label=gettext_lazy("Since (UTC)"), widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
