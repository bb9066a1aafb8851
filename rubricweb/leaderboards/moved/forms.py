"""Two boards: that of the address, and the one before it, of which the address has the differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy

from grading.measures.base import CUTOFF, MIN_GRADE
from rubricweb.banks.models import Bank
from rubricweb.core.chips import Chip
from rubricweb.core.forms import keep_choices, offer_choices, offer_rows, rows_field
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import graders_of
from rubricweb.grades.humans import Source
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.forms import DEFINITIONS, SOURCES, AnalysisForm, GraderField

WAS = "was_"
SAME = gettext_lazy("the same")
NOW = "now"
TOLD = ("grader", "bank", "measure", "min_grade", "cutoff", "version", "source", "definition")
"""What may be different before."""
OFFERED = 2
USUAL = {"version": NOW, "source": str(Source.GRADER), "definition": str(Definition.PAPERS)}
"""What the board before is told by where the board after would say nothing."""


def _was(name: str, offered: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return ("", SAME), *((value or USUAL[name], label) for value, label in offered)


class MovedForm(AnalysisForm):
    """A valid form has `spec`, the board after, and `before`."""

    own = tuple(f"{WAS}{name}" for name in TOLD)
    was_grader = GraderField(
        GraderConfig.objects.none(), required=False, empty_label=SAME, label=gettext_lazy("Grader")
    )
    was_bank = forms.ModelChoiceField(
        Bank.objects.none(), required=False, empty_label=SAME, label=gettext_lazy("Bank")
    )
    was_measure = forms.CharField(
        max_length=60,
        required=False,
        label=gettext_lazy("Measure"),
        widget=forms.TextInput({"placeholder": SAME}),
    )
    was_min_grade = forms.IntegerField(
        min_value=MIN_GRADE.lowest,
        max_value=MIN_GRADE.highest,
        required=False,
        label=gettext_lazy("Threshold"),
        widget=forms.NumberInput({"placeholder": SAME}),
    )
    was_cutoff = forms.IntegerField(
        min_value=CUTOFF.lowest,
        max_value=CUTOFF.highest,
        required=False,
        label=gettext_lazy("Rank cutoff k"),
        widget=forms.NumberInput({"placeholder": SAME}),
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
        offer_choices(self, "was_version", [("", SAME), *versions, (NOW, gettext("as of now"))])
        for name in ("was_grader", "was_bank"):
            keep_choices(self, name)

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
        return any(self.sent.get(f"{WAS}{name}") for name in TOLD)

    @property
    def chips_before(self) -> list[Chip]:
        """What was different before."""
        return [chip for chip in self.chips if chip.field.name.startswith(WAS)]

    @property
    def chips_after(self) -> list[Chip]:
        return [chip for chip in self.chips if not chip.field.name.startswith(WAS)]

    def _has_choice(self, name: str) -> bool:
        is_one = name.startswith(WAS) and len(getattr(self.fields[name], "choices", ())) == 2  # or the same
        return not is_one and super()._has_choice(name)

    def offers(self) -> list[tuple[str, str]]:
        """Return what a board is most often compared with: in words, and as an address."""
        bank = self.spec.bank
        if bank is None:
            return []
        versions = [] if self.spec.version else list(bank.versions.order_by("-number")[:OFFERED])
        others = [config for config in graders_of(bank) if config != self.spec.config][:OFFERED]
        told = [
            *((gettext("Since %(version)s") % {"version": row}, "was_version", row.pk) for row in versions),
            *((gettext("By %(grader)s before") % {"grader": row}, "was_grader", row.pk) for row in others),
        ]
        address = self.address.urlencode()
        return [(words, f"{address}&{name}={pk}".lstrip("&")) for words, name, pk in told]

    def _sent_before(self) -> dict[str, str]:
        sent = {name: value for name, value in self.sent.items() if not name.startswith(WAS)}
        told = {name: self.sent[f"{WAS}{name}"] for name in TOLD if self.sent.get(f"{WAS}{name}")}
        if "bank" in told:
            sent.pop("version", None)  # a version belongs to its bank
        for name in [name for name in told if told[name] == USUAL.get(name)]:
            sent.pop(name, None)
            del told[name]
        return {**sent, **told}
