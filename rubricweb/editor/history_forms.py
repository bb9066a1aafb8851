"""The filters of the history, and the name of a version."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy

from rubricweb.banks.models import Bank, ItemChange
from rubricweb.banks.versions import NAME_CHARS
from rubricweb.core.forms import ChipForm, offer_choices
from rubricweb.editor.changes import MOVE, NAMED, Filters, Seen, authors


class HistoryForm(ChipForm):
    """A value that cannot be read is ignored."""

    in_toolbar = ("by", "verb", "topic")
    outdated = ("before", "before_move")

    by = forms.TypedChoiceField(
        label=gettext_lazy("Person"),
        coerce=int,
        empty_value=None,
        required=False,
    )
    verb = forms.ChoiceField(
        label=gettext_lazy("What happened"),
        required=False,
        choices=[
            ("", gettext_lazy("anything")),
            *((verb.value, capfirst(verb.label)) for verb in ItemChange.Verb),
            (MOVE[0], capfirst(MOVE[1])),
            NAMED,
        ],
    )
    topic = forms.TypedChoiceField(
        label=gettext_lazy("Topic"),
        coerce=int,
        empty_value=None,
        required=False,
    )
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)
    before_move = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, address: QueryDict, bank: Bank) -> None:
        self.address = address
        super().__init__(address, auto_id="history-%s")
        people = [(person.pk, str(person)) for person in authors(bank)]
        offer_choices(self, "by", [("", gettext("anybody")), *people])
        topics = bank.collection.topics.values_list("pk", "query_id")
        offer_choices(self, "topic", [("", gettext("all")), *topics])
        self.is_valid()

    @property
    def filters(self) -> Filters:
        cleaned = self.cleaned_data
        return Filters(cleaned.get("by"), cleaned.get("verb") or None, cleaned.get("topic"))

    @property
    def seen(self) -> Seen | None:
        """None on the newest page."""
        change, move = self.cleaned_data.get("before"), self.cleaned_data.get("before_move")
        return Seen(change, move) if change or move else None


class VersionForm(forms.Form):
    """A name for the bank's present state."""

    name = forms.CharField(
        label=gettext_lazy("Name"), max_length=NAME_CHARS, error_messages={"required": "Give it a name."}
    )
    note = forms.CharField(
        label=gettext_lazy("Note"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Its purpose: a notebook paper, a run submission, a pilot."),
    )
