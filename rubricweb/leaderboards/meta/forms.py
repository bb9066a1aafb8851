"""What is compared with what, in the address; and the upload of an official leaderboard."""

from __future__ import annotations

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from grading.measures import registry
from grading.statistics.rank_correlation import Coefficient
from grading.topic_attributes import TopicSlice
from grading.types import MAX_RATING
from rubricweb.banks.models import Bank
from rubricweb.core.forms import RowsField, filled_in, offer_choices, offer_rows
from rubricweb.corpus.models import Collection
from rubricweb.corpus.official import NAME_LIMIT
from rubricweb.grades.defaults import scored_graders
from rubricweb.grades.models import GraderConfig
from rubricweb.leaderboards.board import lookup
from rubricweb.leaderboards.board.columns import parse_measures
from rubricweb.leaderboards.board.types import BoardError
from rubricweb.leaderboards.forms import TOPICS_HELP, BoardChips
from rubricweb.leaderboards.meta.contenders import Contender, contenders
from rubricweb.leaderboards.meta.references import reference_choices
from rubricweb.leaderboards.meta.selectors import MetaSpec
from rubricweb.leaderboards.meta.sheets import NAMES

MIN_GRADES = ("3", "4", "5")
MAX_MEASURES = 12
UPLOAD_BYTES = 2_000_000


class GradersField(RowsField):
    def label_from_instance(self, config: GraderConfig) -> str:
        return lookup.grader_name(config)


class MetaForm(BoardChips):
    """A valid form has `spec`, `rows` and `shown`. What the address leaves out has a default."""

    in_toolbar = ("reference", "measure", "grader", "bank", "min_grade", "show")
    in_menu = ("k", "within", "topics")

    reference = forms.ChoiceField(label=gettext_lazy("Compare with"))
    measure = forms.CharField(
        label=gettext_lazy("Measures"),
        max_length=400,
        widget=forms.TextInput(
            {
                "list": "measures",
                "title": gettext_lazy(
                    "Several, separated by spaces: rubric_cover, cover-4, rag24, P_20:5, or any of trec_eval."
                ),
            }
        ),
    )
    k = forms.IntegerField(
        label=gettext_lazy("Top runs only"),
        required=False,
        min_value=3,
        max_value=100_000,
        help_text=gettext_lazy("The first ones of the other board. Empty: all."),
    )
    within = forms.FloatField(
        label=gettext_lazy("As good if within"),
        required=False,
        min_value=0,
        max_value=1,
        widget=forms.NumberInput({"step": "any"}),
        help_text=gettext_lazy("How far below the best still counts. Empty: by intervals."),
    )
    topics = forms.CharField(
        max_length=300,
        required=False,
        label=gettext_lazy("Only topics with"),
        widget=forms.TextInput({"list": "slices"}),
        help_text=TOPICS_HELP,
    )
    grader = GradersField(
        GraderConfig.objects.none(), label=gettext_lazy("Graders"), widget=forms.CheckboxSelectMultiple
    )
    bank = RowsField(
        Bank.objects.none(), label=gettext_lazy("Banks"), required=False, widget=forms.CheckboxSelectMultiple
    )
    min_grade = forms.MultipleChoiceField(
        label=gettext_lazy("Threshold"),
        choices=[(str(grade), str(grade)) for grade in range(1, MAX_RATING + 1)],
        widget=forms.CheckboxSelectMultiple,
    )
    show = forms.MultipleChoiceField(
        label=gettext_lazy("Coefficients"),
        choices=[(name.value, NAMES[name]) for name in Coefficient],
        widget=forms.CheckboxSelectMultiple,
    )
    detail = forms.CharField(label=gettext_lazy("Intervals for"), required=False, max_length=60)

    spec: MetaSpec
    rows: list[Contender]

    def __init__(self, sent: QueryDict, *, collection: Collection) -> None:
        self.collection = collection
        self.graders = [row.config for row in scored_graders(collection)]
        self.references = reference_choices(collection)
        self.address, self.defaults = sent, self._defaults()
        super().__init__({**self.defaults, **filled_in(self, sent)})
        offer_choices(self, "reference", self.references)
        ids = [config.pk for config in self.graders]
        offer_rows(self, "grader", GraderConfig.objects.filter(pk__in=ids))
        offer_rows(self, "bank", collection.banks.all())

    def clean_measure(self) -> tuple[str, ...]:
        try:
            names = parse_measures(self.cleaned_data["measure"])
        except BoardError as error:
            raise forms.ValidationError(str(error)) from error
        if not 1 <= len(names) <= MAX_MEASURES:
            raise forms.ValidationError(
                gettext("%(n)s measures, expected 1 to %(MAX_MEASURES)s.")
                % {"n": len(names), "MAX_MEASURES": MAX_MEASURES}
            )
        return names

    def clean_topics(self) -> TopicSlice | None:
        try:
            return lookup.find_topics(self.collection, self.cleaned_data["topics"])
        except BoardError as error:
            raise forms.ValidationError(str(error)) from error

    def clean(self) -> None:
        if self.errors:
            return
        picked = self.cleaned_data
        min_grades = sorted(int(grade) for grade in picked["min_grade"])
        try:
            self.rows = contenders(self.collection, list(picked["grader"]), list(picked["bank"]), min_grades)
        except BoardError as error:
            self.add_error(error.field, str(error))
            return
        self.spec = MetaSpec(
            picked["reference"],
            picked["measure"],
            self.collection.min_relevant,
            picked["k"],
            picked["within"],
            topics=picked["topics"],
        )

    @property
    def has_boards(self) -> bool:
        return bool(self.graders and self.references)

    def default_value(self, name: str) -> object:
        return self.defaults.get(name, "")

    @property
    def shown(self) -> list[Coefficient]:
        return [Coefficient(name) for name in self.cleaned_data["show"]]

    @property
    def detailed(self) -> str:
        """The measure whose intervals are shown: the one asked for, or the first."""
        name = self.cleaned_data["detail"]
        return name if name in self.spec.measures else self.spec.measures[0]

    def _defaults(self) -> dict[str, object]:
        return {
            "reference": self.references[0][0] if self.references else "",
            "measure": " ".join(registry.COMPARED),
            "grader": [config.pk for config in self.graders],
            "bank": list(self.collection.banks.values_list("pk", flat=True)),
            "min_grade": list(MIN_GRADES),
            "show": [Coefficient.SPEARMAN.value, Coefficient.KENDALL.value],
        }


class OfficialForm(forms.Form):
    """An official leaderboard to take."""

    name = forms.CharField(
        max_length=NAME_LIMIT,
        help_text=gettext_lazy("For example: official NDCG@10. A board with this name is replaced."),
    )
    file = forms.FileField(
        help_text=gettext_lazy(
            "JSON or TSV (header run_tag and rank, or run_tag and score), a board exported here as TSV "
            "or JSON, or summaries of trec_eval; .gz too. Tied runs may share a rank."
        )
    )
    measure = forms.CharField(
        required=False,
        max_length=60,
        help_text=gettext_lazy("For a trec_eval summary. Empty: its ndcg_cut_10, or else map."),
    )

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > UPLOAD_BYTES:
            raise forms.ValidationError(
                gettext("Larger than %(UPLOAD_BYTES)s MB. Is it a leaderboard?")
                % {"UPLOAD_BYTES": UPLOAD_BYTES // 1000000}
            )
        return file
