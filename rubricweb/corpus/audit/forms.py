"""The filters of the audit trail."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.corpus.audit.selectors import AuditFilters, people, verbs
from rubricweb.corpus.models import Collection


class AuditForm(ChipForm):
    """A value that cannot be read is ignored."""

    in_toolbar = ("by", "verb", "since", "until")
    outdated = ("before",)

    by = forms.TypedChoiceField(label="Person", coerce=int, empty_value=None, required=False)
    verb = forms.ChoiceField(label="What happened", required=False)
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, address: QueryDict, collection: Collection) -> None:
        self.address = address
        super().__init__(address, auto_id="audit-%s")
        everybody = [(person.pk, str(person)) for person in people(collection)]
        offer_choices(self, "by", [("", "anybody"), *everybody])
        happened = [(verb, verb) for verb in verbs(collection)]
        offer_choices(self, "verb", [("", "anything"), *happened])
        self.is_valid()

    @property
    def filters(self) -> AuditFilters:
        chosen = self.cleaned_data
        return AuditFilters(
            chosen.get("by"), chosen.get("verb") or None, chosen.get("since"), chosen.get("until")
        )
