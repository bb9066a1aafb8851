"""The parameters of a collection's page and of the search."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from rubricweb.banks.models import Bank
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.grades.forms import AddressForm, GraderForm, select_at_once
from rubricweb.home.topics import SORTS


class TopicsForm(ChipForm, GraderForm):
    """The table of topics."""

    in_toolbar = ("bank", "grader", "q")
    outdated = ("page",)

    bank = select_at_once(gettext_lazy("Rubric"), ())
    q = forms.CharField(
        label=gettext_lazy("Find"),
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "topic or words"}),
    )
    sort = forms.ChoiceField(
        choices=[(sign + name, name) for name in SORTS for sign in ("", "-")],
        required=False,
        widget=forms.HiddenInput,
    )
    page = forms.IntegerField(min_value=1, required=False)

    def __init__(self, address: QueryDict) -> None:
        super().__init__(address)
        self._first_bank = ""

    def default_value(self, name: str) -> str:
        return {"bank": self._first_bank, "grader": self.data.get("grader", "")}.get(name, "")

    def offer_banks(self, banks: list[Bank]) -> Bank:
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        self._first_bank = str(banks[0].pk)
        chosen = by_pk.get(self.data.get("bank", ""), banks[0])
        self.data.setdefault("bank", str(chosen.pk))
        return chosen


class SearchForm(AddressForm):
    q = forms.CharField(
        label=gettext_lazy("Topic, run, item, screen or action"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search", "autofocus": True}),
    )
    of = forms.SlugField(required=False, widget=forms.HiddenInput)
