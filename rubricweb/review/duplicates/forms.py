"""Whose grades of near-duplicates are compared, and how alike passages have to be."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from grading.near_duplicates import THRESHOLD
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices
from rubricweb.grades.forms import GraderForm, select_at_once


class DuplicatesForm(GraderForm):
    bank = select_at_once(gettext_lazy("Bank"), ())
    page = forms.IntegerField(min_value=1, required=False)

    field_order = ("bank", "grader")

    def __init__(self, address: QueryDict, banks: list[Bank]) -> None:
        super().__init__(address)
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        self.chosen_bank = by_pk.get(self.data.get("bank", ""), banks[0] if banks else None)
        if self.chosen_bank:
            self.data["bank"] = str(self.chosen_bank.pk)


class SearchForm(forms.Form):
    threshold = forms.FloatField(
        label=gettext_lazy("Lowest similarity"),
        min_value=0.3,
        max_value=1,
        initial=THRESHOLD,
        widget=forms.NumberInput({"step": "0.05"}),
        help_text=gettext_lazy("Of their sequences of nine words (Jaccard): 1 is the same text."),
    )
