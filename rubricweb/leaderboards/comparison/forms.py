"""What is compared: two runs of a board, one with the mean of all, or one board then and now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from grading.measures.base import CUTOFF, MIN_GRADE
from rubricweb.banks.models import Bank
from rubricweb.core.forms import Chip, keep_choices, offer_choices, offer_rows, rows_field
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.defaults import graders_of
from rubricweb.grades.humans import Source
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition
from rubricweb.leaderboards.board.types import BoardSpec
from rubricweb.leaderboards.by_attribute import sliceable
from rubricweb.leaderboards.forms import DEFINITIONS, SOURCES, AnalysisForm, GraderField

THEN = "then_"
SAME = "the same"
NOW = "now"
DIFFERENT = ("grader", "bank", "measure", "min_grade", "cutoff", "version", "source", "definition")
"""What may be different before."""
OFFERED = 2
USUAL = {"version": NOW, "source": str(Source.GRADER), "definition": str(Definition.PAPERS)}
"""What an address names of the board before where it would say nothing of the board now."""


class ComparisonForm(AnalysisForm):
    """Two runs by the names that the reader knows; empty ones are the board's first and next."""

    first = forms.CharField(required=False, label="Run")
    second = forms.CharField(required=False, label="Beside")


class PairForm(AnalysisForm):
    """A valid form has the `spec`. Without A and B they are the first two of the board; B alone may lack."""

    own = ("a", "b", "by")
    a = forms.ChoiceField(label="A", required=False)
    b = forms.ChoiceField(label="B", required=False)
    by = forms.ChoiceField(label="Group topics by", required=False)
    open = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    """The query id of the opened topic."""

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        super().__init__(sent, collection=collection)
        pool = collection_pool(collection)
        runs = sorted(zip(pool.run_tags, pool.run_pks, strict=True))
        offered = [(str(pk), tag) for tag, pk in runs]
        offer_choices(self, "a", [("", "the first of the board"), *offered])
        offer_choices(self, "b", [("", "mean of all runs"), *offered])
        offer_choices(self, "by", [("", "nothing"), *((name, name) for name in sliceable(collection))])

    def show_runs(self, a: int, b: int | None) -> None:
        """Show which runs the board's order chose."""
        self.data = {**self.data, "a": str(a), "b": str(b or "")}

    def default_value(self, name: str) -> object:
        is_chosen_by_board = name in ("a", "b") and name not in self.address
        return self.data.get(name, "") if is_chosen_by_board else super().default_value(name)

    def clean(self) -> None:
        super().clean()
        a = self.cleaned_data.get("a")
        if a and a == self.cleaned_data.get("b"):
            self.add_error("b", "Choose two different runs.")


def _then(name: str, offered: tuple[tuple[str, Any], ...]) -> tuple[tuple[str, Any], ...]:
    return ("", SAME), *((value or USUAL[name], label) for value, label in offered)


class ThenForm(AnalysisForm):
    """A valid form has `spec`, the board after, and `before`."""

    own = tuple(f"{THEN}{name}" for name in DIFFERENT)
    then_grader = GraderField(GraderConfig.objects.none(), required=False, empty_label=SAME, label="Grader")
    then_bank = forms.ModelChoiceField(Bank.objects.none(), required=False, empty_label=SAME, label="Rubric")
    then_measure = forms.CharField(
        max_length=60,
        required=False,
        label="Measure",
        widget=forms.TextInput({"placeholder": SAME}),
    )
    then_min_grade = forms.IntegerField(
        min_value=MIN_GRADE.lowest,
        max_value=MIN_GRADE.highest,
        required=False,
        label="Threshold",
        widget=forms.NumberInput({"placeholder": SAME}),
    )
    then_cutoff = forms.IntegerField(
        min_value=CUTOFF.lowest,
        max_value=CUTOFF.highest,
        required=False,
        label="Rank cutoff k",
        widget=forms.NumberInput({"placeholder": SAME}),
    )
    then_version = forms.ChoiceField(required=False, label="Version")
    then_source = forms.ChoiceField(choices=_then("source", SOURCES), required=False, label="Ratings by")
    then_definition = forms.ChoiceField(
        choices=_then("definition", DEFINITIONS), required=False, label="Definition"
    )

    run = forms.IntegerField(required=False, widget=forms.HiddenInput)
    """The run whose difference is opened."""

    before: BoardSpec

    def __init__(self, sent: Mapping[str, str], *, collection: Collection) -> None:
        self.given = {name: sent[name] for name in sent}
        super().__init__(sent, collection=collection)
        offer_rows(self, "then_grader", rows_field(self, "grader").queryset)
        offer_rows(self, "then_bank", rows_field(self, "bank").queryset)
        version = rows_field(self, "version")
        versions = [(str(row.pk), version.label_from_instance(row)) for row in version.queryset or ()]
        offer_choices(self, "then_version", [("", SAME), *versions, (NOW, "as of now")])
        for name in ("then_grader", "then_bank"):
            keep_choices(self, name)

    def clean(self) -> None:
        super().clean()
        if self.errors:
            return
        form = AnalysisForm(self._given_before(), collection=self.collection)
        if form.is_valid():
            self.before = form.spec
            return
        for name, problems in form.errors.items():
            was = f"{THEN}{name}"
            self.add_error(was if was in self.fields else None, list(problems))

    @property
    def is_chosen(self) -> bool:
        """The address says what was different before."""
        return any(self.given.get(f"{THEN}{name}") for name in DIFFERENT)

    @property
    def chips_before(self) -> list[Chip]:
        """What was different before."""
        return [chip for chip in self.chips if chip.field.name.startswith(THEN)]

    @property
    def chips_after(self) -> list[Chip]:
        return [chip for chip in self.chips if not chip.field.name.startswith(THEN)]

    def _has_choice(self, name: str) -> bool:
        is_one = name.startswith(THEN) and len(getattr(self.fields[name], "choices", ())) == 2  # or the same
        return not is_one and super()._has_choice(name)

    def offers(self) -> list[tuple[str, str]]:
        """Return what a board is most often compared with: in words, and as an address."""
        bank = self.spec.bank
        if bank is None:
            return []
        versions = [] if self.spec.version else list(bank.versions.order_by("-number")[:OFFERED])
        others = [config for config in graders_of(bank) if config != self.spec.config][:OFFERED]
        offers = [
            *((f"Since {row}", "then_version", row.pk) for row in versions),
            *((f"By {row} before", "then_grader", row.pk) for row in others),
        ]
        address = self.address.urlencode()
        return [(label, f"{address}&{name}={pk}".lstrip("&")) for label, name, pk in offers]

    def _given_before(self) -> dict[str, str]:
        now = {name: value for name, value in self.given.items() if not name.startswith(THEN)}
        then = {name: self.given[f"{THEN}{name}"] for name in DIFFERENT if self.given.get(f"{THEN}{name}")}
        if "bank" in then:
            now.pop("version", None)  # a version belongs to its bank
        for name in [name for name in then if then[name] == USUAL.get(name)]:
            now.pop(name, None)
            del then[name]
        return {**now, **then}
