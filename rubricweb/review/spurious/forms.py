"""The parameters of the list of spurious items."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from rubricweb.grades.forms import AT_ONCE
from rubricweb.review.evidence_form import EvidenceForm
from rubricweb.review.spurious.selectors import SORTS


class SuspectsForm(EvidenceForm):
    sort = forms.ChoiceField(
        label=gettext_lazy("Worst by"),
        required=False,
        choices=list(SORTS.items()),
        widget=forms.Select(attrs=AT_ONCE),
    )
