"""The name of a view."""

from __future__ import annotations

from django import forms

from rubricweb.review.views_saved.models import NAME_CHARS

ADDRESS_CHARS = 2_000


class SavedViewForm(forms.Form):
    name = forms.CharField(max_length=NAME_CHARS, error_messages={"required": "Give the view a name."})
    address = forms.CharField(max_length=ADDRESS_CHARS, required=False)
