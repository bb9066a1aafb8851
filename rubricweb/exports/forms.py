"""The options of an export."""

from __future__ import annotations

from django import forms


class FlagsExportForm(forms.Form):
    """A file of flags and comments."""

    format = forms.ChoiceField(
        label="Format", choices=[("jsonl", "JSON Lines"), ("tsv", "TSV")], required=False
    )
    names = forms.ChoiceField(
        label="People", choices=[("", "pseudonyms"), ("1", "usernames")], required=False
    )
