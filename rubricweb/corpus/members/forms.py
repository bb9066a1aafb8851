"""An invitation: the role, how long, and for how many people."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.corpus.forms import RoleForm

MOST_DAYS = 90
MOST_USES = 200


class InvitationForm(RoleForm):
    days = forms.IntegerField(
        label=gettext_lazy("Days"),
        min_value=1,
        max_value=MOST_DAYS,
        initial=7,
        help_text=gettext_lazy("Then the link expires."),
    )
    max_uses = forms.IntegerField(
        label=gettext_lazy("People"),
        min_value=1,
        max_value=MOST_USES,
        initial=1,
        help_text=gettext_lazy("How many people can join with it."),
    )
