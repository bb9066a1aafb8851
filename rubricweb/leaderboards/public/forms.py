"""Which board is published, and how."""

from __future__ import annotations

from django import forms

from rubricweb.leaderboards.influence.forms import SHOWN, FewShown


class ChosenForm(FewShown):
    """The board that is to be published."""

    shown = (*SHOWN, "columns", "version", "source")


class PublishForm(forms.Form):
    title = forms.CharField(max_length=120, help_text="Shown above the board to everybody who has the link.")
    is_anonymous = forms.BooleanField(
        required=False, label="Hide the names of runs", help_text="Each goes by a made-up name that stays."
    )
