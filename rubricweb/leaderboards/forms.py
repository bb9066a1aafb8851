"""The controls of a board. A form that passes holds the board's `spec`."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.db.models import Count

from grading.measures.rubric_qrels import LabelMode
from grading.types import MAX_RATING, ItemKind, Purpose
from rubricweb.banks.models import Bank, Item
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import RUBRIC_COVER, Measure
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.leaderboards import choices
from rubricweb.leaderboards.boards import BoardSpec
from rubricweb.leaderboards.errors import BoardError

KINDS = (("", "all that it grades"), (ItemKind.QUESTION, "questions"), (ItemKind.NUGGET, "nuggets"))
MODES = (
    (LabelMode.MAX, "highest rating"),
    (LabelMode.BINARY, "binary at the threshold"),
    (LabelMode.COUNT, "count of items"),
)


class GraderField(forms.ModelChoiceField):
    def label_from_instance(self, config: GraderConfig) -> str:
        return choices.grader_name(config)


class LabelForm(forms.Form):
    """What Rubric-Qrels depend on; of the board's controls, those that come before the measure."""

    grader = GraderField(GraderConfig.objects.none(), empty_label=None)
    bank = forms.ModelChoiceField(Bank.objects.none(), required=False, empty_label=None)
    kind = forms.ChoiceField(choices=KINDS, required=False, label="Items")
    min_grade = forms.IntegerField(min_value=1, max_value=MAX_RATING, label="Grade at least")
    mode = forms.ChoiceField(choices=MODES, label="Qrels: label")
    min_answers = forms.IntegerField(min_value=1, max_value=choices.MAX_CUTOFF, label="Qrels: items needed")

    spec: BoardSpec

    def __init__(self, sent: Mapping[str, str], *, collection: Collection, auto_id: str = "id_%s") -> None:
        """Bind to what the address says; what it leaves out has a default that the form shows."""
        self.collection = collection
        self.graders = [row.config for row in choices.scored_graders(collection)]
        said = {name: sent[name] for name in sent if sent[name]}
        super().__init__({**_defaults(collection, self.graders, said), **said}, auto_id=auto_id)
        self.fields["grader"].queryset = GraderConfig.objects.filter(
            pk__in=[config.pk for config in self.graders]
        )
        self.fields["bank"].queryset = collection.banks.all()

    def measure_chosen(self) -> Measure:
        picked = self.cleaned_data
        return Measure(
            "ndcg_cut_10",
            picked["min_grade"],
            mode=LabelMode(picked["mode"]),
            min_answers=picked["min_answers"],
        )

    def clean(self) -> None:
        if self.errors:
            return
        config = self.cleaned_data["grader"]
        try:
            bank = None if config.purpose == Purpose.DIRECT else self.cleaned_data["bank"]
            if bank is None and config.purpose != Purpose.DIRECT:
                raise BoardError("bank", "Make a bank of questions or nuggets first.")
            kinds = choices.kinds_chosen(config, self.cleaned_data["kind"])
            measure = choices.measure_chosen(config, self.measure_chosen())
        except BoardError as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))
            return
        self.spec = BoardSpec(self.collection, config, bank, kinds, measure)


class BoardForm(LabelForm):
    """All controls of a board."""

    measure = forms.CharField(max_length=60, widget=forms.TextInput({"list": "measures"}))
    cutoff = forms.IntegerField(min_value=1, max_value=choices.MAX_CUTOFF, label="Cover: first k")

    def clean_measure(self) -> str:
        try:
            return choices.measure_named(self.cleaned_data["measure"])
        except BoardError as error:
            raise forms.ValidationError(str(error)) from error

    field_order = ("grader", "bank", "kind", "measure", "min_grade", "cutoff", "mode", "min_answers")

    def measure_chosen(self) -> Measure:
        picked, by_labels = self.cleaned_data, super().measure_chosen()
        return Measure(
            picked["measure"], by_labels.min_grade, picked["cutoff"], by_labels.mode, by_labels.min_answers
        )


def _defaults(
    collection: Collection, graders: list[GraderConfig], sent: Mapping[str, str]
) -> dict[str, object]:
    picked = next((config for config in graders if str(config.pk) == sent.get("grader")), None)
    config = picked or (graders[0] if graders else None)
    is_direct = config is not None and config.purpose == Purpose.DIRECT
    return {
        "grader": config.pk if config else None,
        "bank": _default_bank(collection, config),
        "measure": "ndcg_cut_10" if is_direct else RUBRIC_COVER,
        "min_grade": choices.default_min_grade(config) if config else 4,
        "cutoff": 20,
        "mode": LabelMode.MAX,
        "min_answers": 1,
    }


def _default_bank(collection: Collection, config: GraderConfig | None) -> int | None:
    """Of the banks that the grader graded, or else of all, the one with the most items."""
    banks = (banks_graded_by(config, collection) if config else []) or list(collection.banks.all())
    sizes = dict(Item.objects.active().filter(bank__in=banks).values_list("bank").annotate(Count("pk")))
    return max(banks, key=lambda bank: sizes.get(bank.pk, 0)).pk if banks else None
