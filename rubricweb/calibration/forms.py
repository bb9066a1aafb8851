"""Which grader is compared with people, on which bank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django import forms

from rubricweb.banks.models import Bank
from rubricweb.calibration.selectors import pairs
from rubricweb.core.forms import offer_rows
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig

if TYPE_CHECKING:
    BankChoice = forms.ModelChoiceField[Bank]
    GraderChoice = forms.ModelChoiceField[GraderConfig]
else:
    BankChoice = GraderChoice = forms.ModelChoiceField


class CardForm(forms.Form):
    """A bank of the collection, and a grader with grades of its items."""

    bank = BankChoice(Bank.objects.none())
    config = GraderChoice(GraderConfig.objects.none())

    def offer(self, collection: Collection) -> None:
        self._pairs = {(bank.pk, config.pk) for bank, config in pairs(collection)}
        offer_rows(self, "bank", collection.banks.select_related("collection"))
        offer_rows(self, "config", GraderConfig.objects.filter(pk__in=[pk for _, pk in self._pairs]))

    def clean(self) -> dict[str, object]:
        chosen = self.cleaned_data
        if not self.errors and (chosen["bank"].pk, chosen["config"].pk) not in self._pairs:
            raise forms.ValidationError("no grades")
        return chosen
