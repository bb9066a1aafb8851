"""Two boards: that of the address, and the one before it, of which the address has the differences."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy

from grading.measures.base import CUTOFF, MIN_GRADE
from rubricweb.banks.models import Bank
from rubricweb.core.forms import offer_choices, offer_rows, rows_field
from rubricweb.corpus.models import Collection
from rubricweb.grades.humans import Source
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.forms import DEFINITIONS, SHOWN, SOURCES, AnalysisForm, GraderField

WAS = "was_"
SAME = "the same"
NOW = "now"
USUAL = {"version": NOW, "source": str(Source.GRADER), "definition": str(Definition.PAPERS)}
"""What the board before is told by where the board after would say nothing."""


def _was(name: str, offered: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return ("", SAME), *((value or USUAL[name], label) for value, label in offered)


class MovedForm(AnalysisForm):
    """A valid form has `spec`, the board after, and `before`."""

    shown = (*SHOWN, *USUAL)
    further = ("topics", "units", "topic", "facet", "missing")
    """Both boards have these alike."""
    was_grader = GraderField(
        GraderConfig.objects.none(), required=False, empty_label=SAME, label=gettext_lazy("Grader")
    )
    was_bank = forms.ModelChoiceField(
        Bank.objects.none(), required=False, empty_label=SAME, label=gettext_lazy("Bank")
    )
    was_measure = forms.CharField(
        max_length=60,
        required=False,
        label=gettext_lazy("Rank by"),
        widget=forms.TextInput({"placeholder": SAME}),
    )
    was_min_grade = forms.IntegerField(
        min_value=MIN_GRADE.lowest,
        max_value=MIN_GRADE.highest,
        required=False,
        label=gettext_lazy("Threshold"),
    )
    was_cutoff = forms.IntegerField(
        min_value=CUTOFF.lowest, max_value=CUTOFF.highest, required=False, label=gettext_lazy("Rank cutoff k")
    )
    was_version = forms.ChoiceField(required=False, label=gettext_lazy("Version"))
    was_source = forms.ChoiceField(
        choices=_was("source", SOURCES), required=False, label=gettext_lazy("Ratings by")
    )
    was_definition = forms.ChoiceField(
        choices=_was("definition", DEFINITIONS), required=False, label=gettext_lazy("Definition")
    )

    before: BoardSpec

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        self.sent = {name: sent[name] for name in sent}
        super().__init__(sent, collection=collection)
        offer_rows(self, "was_grader", rows_field(self, "grader").queryset)
        offer_rows(self, "was_bank", rows_field(self, "bank").queryset)
        version = rows_field(self, "version")
        versions = [(str(row.pk), version.label_from_instance(row)) for row in version.queryset or ()]
        offer_choices(self, "was_version", [("", SAME), *versions, (NOW, "as of now")])

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        form = AnalysisForm(self._sent_before(), collection=self.collection)
        if form.is_valid():
            self.before = form.spec
            return
        for name, problems in form.errors.items():
            was = f"{WAS}{name}"
            self.add_error(was if was in self.fields else None, list(problems))

    @property
    def is_told(self) -> bool:
        """The address says what was different before."""
        return any(self.sent.get(f"{WAS}{name}") for name in self.shown)

    def was_fields(self) -> list[BoundField]:
        return [self[f"{WAS}{name}"] for name in self.shown]

    def kept_fields(self) -> list[BoundField]:
        return [field for field in super().kept_fields() if not field.name.startswith(WAS)]

    def _sent_before(self) -> dict[str, str]:
        sent = {name: value for name, value in self.sent.items() if not name.startswith(WAS)}
        told = {name: self.sent[f"{WAS}{name}"] for name in self.shown if self.sent.get(f"{WAS}{name}")}
        if "bank" in told:
            sent.pop("version", None)  # a version belongs to its bank
        for name in [name for name in told if told[name] == USUAL.get(name)]:
            sent.pop(name, None)
            del told[name]
        return {**sent, **told}
