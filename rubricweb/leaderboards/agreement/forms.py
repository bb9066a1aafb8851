"""Thresholds and graders of the inter-annotator tables, in the address."""

from __future__ import annotations

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy

from grading.types import MAX_RATING, Purpose
from rubricweb.banks.models import Bank
from rubricweb.core.forms import RowsField, filled_in, offer_rows
from rubricweb.corpus.models import Collection
from rubricweb.grades.defaults import scored_graders
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scales import PAPERS_MIN_GRADE, default_min_grade, threshold_note
from rubricweb.grades.selectors import banks_graded_by
from rubricweb.leaderboards.agreement.selectors import Labeller
from rubricweb.leaderboards.forms import BoardChips
from rubricweb.leaderboards.meta.forms import GradersField

MAX_ANSWERS = 100


class AgreementForm(BoardChips):
    """A valid form has the `labellers`. What the address leaves out has a default."""

    in_toolbar = ("min_grade", "min_relevant", "min_answers", "grader", "bank")

    min_grade = forms.IntegerField(label=gettext_lazy("Label at least"), min_value=1, max_value=MAX_RATING)
    min_relevant = forms.IntegerField(label=gettext_lazy("Judgment at least"), min_value=1, max_value=10)
    min_answers = forms.IntegerField(label=gettext_lazy("Items needed"), min_value=1, max_value=MAX_ANSWERS)
    grader = GradersField(
        GraderConfig.objects.none(), label=gettext_lazy("Graders"), widget=forms.CheckboxSelectMultiple
    )
    bank = RowsField(
        Bank.objects.none(), label=gettext_lazy("Banks"), required=False, widget=forms.CheckboxSelectMultiple
    )

    labellers: list[Labeller]

    def __init__(self, sent: QueryDict, *, collection: Collection) -> None:
        self.collection = collection
        self.graders = [row.config for row in scored_graders(collection)]
        self.address, self.defaults = sent, self._defaults()
        super().__init__({**self.defaults, **filled_in(self, sent)})
        self.fields["min_grade"].help_text = threshold_note(self.graders[0]) if self.graders else ""
        ids = [config.pk for config in self.graders]
        offer_rows(self, "grader", GraderConfig.objects.filter(pk__in=ids))
        offer_rows(self, "bank", collection.banks.all())

    def clean(self) -> None:
        if not self.errors:
            self.labellers = labellers(
                self.collection, list(self.cleaned_data["grader"]), list(self.cleaned_data["bank"])
            )

    def default_value(self, name: str) -> object:
        return self.defaults[name]

    def _defaults(self) -> dict[str, object]:
        return {
            "min_grade": default_min_grade(self.graders[0]) if self.graders else PAPERS_MIN_GRADE,
            "min_relevant": self.collection.min_relevant,
            "min_answers": 1,
            "grader": [config.pk for config in self.graders],
            "bank": list(self.collection.banks.values_list("pk", flat=True)),
        }


def labellers(collection: Collection, configs: list[GraderConfig], banks: list[Bank]) -> list[Labeller]:
    """Each grader with each of the banks that it graded."""
    bank_ids = {bank.pk for bank in banks}
    labellers: list[Labeller] = []
    for config in configs:
        if config.purpose == Purpose.DIRECT:
            labellers.append(Labeller(collection, config, None))
        else:
            graded = banks_graded_by(config, collection)
            labellers += [Labeller(collection, config, bank) for bank in graded if bank.pk in bank_ids]
    return labellers
