"""The controls of a board. A valid form has the board's `spec`."""

from __future__ import annotations

from collections.abc import Collection as Container, Mapping
from dataclasses import replace

from django import forms
from django.core.validators import MaxValueValidator
from django.db.models import QuerySet
from django.forms import BoundField
from django.http import QueryDict
from django.utils.http import urlencode

from grading.measures import CUTOFF, MIN_ANSWERS, MIN_GRADE, registry
from grading.measures.cover import LabelMode
from grading.statistics.max_t import PairedTest
from grading.topic_attributes import TopicSlice
from grading.types import MAX_RATING, USUAL_MIN_GRADE, ItemKind, Purpose, TrecEval
from rubricweb.banks.models import Bank, BankVersion
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import (
    ChipForm,
    RenamedChoiceField,
    RowField,
    filled_in,
    offer_choices,
    offer_read,
)
from rubricweb.core.http import parse_id
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import Collection
from rubricweb.corpus.run_slices import RUNS_HELP, RunSlice, tasks, token_of
from rubricweb.grades.configs import default_min_grade, scale_of, threshold_note
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.grades.selectors import (
    all_banks,
    banks_graded_by,
    default_bank,
    graders,
    graders_of,
    scored_graders,
)
from rubricweb.leaderboards.board import BoardError, BoardSpec, MissingTopic, lookup, provenance
from rubricweb.leaderboards.by_attribute import sliceable

KINDS = (("", "all that it grades"), (ItemKind.QUESTION, "questions"), (ItemKind.NUGGET, "nuggets"))
MODES = (
    (LabelMode.MAX, "highest rating"),
    (LabelMode.BINARY, "binary at the threshold"),
    (LabelMode.COUNT, "count of items"),
    (LabelMode.CALIBRATED, "highest rating, calibrated by people"),
)
SOURCES = tuple(
    ("" if source is RatingSource.GRADER else str(source), label)
    for source, label in provenance.SOURCES.items()
)
DEFINITIONS = (
    ("", "as in the papers"),
    (Definition.WORKBENCH, "the published Workbench"),
    (Definition.WORKBENCH_0, "the Workbench, ranks from 0"),
)
LABEL_DEFINITIONS = DEFINITIONS[:2]
"""Labels do not depend on ranks."""
MISSING = (("", "counts 0"), (MissingTopic.SKIP, "is left out of its mean"))
UNITS = (("", "topics"), ("subtopics", "subtopics, then topics"))
LABELLED_UNITS = (("", "topic"), ("subtopics", "subtopic"))
TREC_EVALS = (("", "trec_eval 9, single precision"), (TrecEval.TEN, "trec_eval 10, double precision"))
TESTS = (("", "sign flips"), (PairedTest.STUDENTISED, "studentised"))
FORMER_TESTS = {"t": PairedTest.STUDENTISED, "randomisation": "", PairedTest.SIGN_FLIPS: ""}
"""Addresses and published boards have these names."""


NO_COLUMNS = {"columns": "its further columns: runs are looked at by the measure that ranks them"}


TOPICS_HELP = "An attribute of topics: category=how-to, ambiguity=5..10, ambiguity=high (its high third)"


class TaskField(forms.ChoiceField):
    """A task of runs, in whatever capitals."""

    def to_python(self, value: object) -> str:
        return token_of(str(value)) if value else ""

    def bound_data(self, data: object, initial: object) -> object:
        return token_of(data) if isinstance(data, str) and data else data


class GraderField(RowField):
    told_apart: frozenset[str] = frozenset()
    """Models that only one grader has: their names say enough."""

    def label_from_instance(self, config: GraderConfig) -> str:
        return config.llm if config.llm in self.told_apart else lookup.grader_name(config)


class VersionField(RowField):
    def label_from_instance(self, version: BankVersion) -> str:
        return f"{version.bank.name} {version.number}: {version.name}"


class LabelForm(forms.Form):
    """What Rubric-Qrels depend on: the board's controls without those of the measure."""

    grader = GraderField(GraderConfig.objects.none(), empty_label=None)
    bank = RowField(Bank.objects.none(), required=False, empty_label=None, label="Rubric")
    kind = forms.ChoiceField(choices=KINDS, required=False, label="Items")
    min_grade = forms.IntegerField(min_value=MIN_GRADE.lowest, label="Threshold")
    mode = forms.ChoiceField(choices=MODES, label="Qrels: label")
    min_answers = forms.IntegerField(
        min_value=MIN_ANSWERS.lowest, max_value=MIN_ANSWERS.highest, label="Qrels: items needed"
    )
    version = VersionField(BankVersion.objects.none(), required=False, empty_label="as of now")
    source = forms.ChoiceField(choices=SOURCES, required=False, label="Ratings by")
    units = forms.ChoiceField(choices=LABELLED_UNITS, required=False, label="Labels by")
    definition = forms.ChoiceField(choices=LABEL_DEFINITIONS, required=False)
    task = TaskField(required=False)
    runs = forms.CharField(max_length=2_000, required=False, label="Only runs", help_text=RUNS_HELP)

    spec: BoardSpec

    def __init__(
        self, parameters: Mapping[str, object], *, collection: Collection, auto_id: str = "id_%s"
    ) -> None:
        """Bind to what the address says; what it leaves out has a default that the form shows."""
        self.collection = collection
        self.graders = [row.config for row in scored_graders(collection)]
        given = _with_grades(filled_in(self, parameters), collection)
        self.defaults = self.default_values(given)
        super().__init__({**self.defaults, **given}, auto_id=auto_id)
        offer_read(self, "grader", [row.config for row in graders(collection) if row.config in self.graders])
        self._fit_scale(self.data["grader"])
        offer_read(self, "bank", all_banks(collection))
        offer_read(self, "version", _versions(collection))
        named = tasks(collection)
        has_choice = len(named) > 1 or "task" in given
        offer_choices(self, "task", [("", "all"), *(named.items() if has_choice else ())])

    def default_values(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return what an address that says `given` leaves out."""
        picked = next((config for config in self.graders if str(config.pk) == given.get("grader")), None)
        config = picked or (self.graders[0] if self.graders else None)
        is_direct = config is not None and config.purpose == Purpose.DIRECT
        return {
            "grader": config.pk if config else None,
            "bank": getattr(default_bank(self.collection, config), "pk", None),
            "measure": registry.DEFAULT_OF_LABELS if is_direct else registry.DEFAULT,
            "min_grade": default_min_grade(config) if config else USUAL_MIN_GRADE,
            "cutoff": CUTOFF.default,
            "mode": LabelMode.MAX,
            "min_answers": MIN_ANSWERS.default,
        }

    def _fit_scale(self, named: object) -> None:
        """Limit the threshold to the grader's scale: beyond it nothing would count."""
        config = next((config for config in self.graders if str(config.pk) == str(named)), None)
        highest = scale_of(config)[1] if config else MAX_RATING
        field = self.fields["min_grade"]
        field.validators.append(MaxValueValidator(highest))
        field.widget.attrs["max"] = highest
        field.help_text = threshold_note(config) if config else ""

    def measure_spec(self) -> MeasureSpec:
        picked = self.cleaned_data
        return MeasureSpec(
            registry.DEFAULT_OF_LABELS,
            picked["min_grade"],
            mode=LabelMode(picked["mode"]),
            min_answers=picked["min_answers"],
            definition=Definition(picked["definition"] or Definition.PAPERS),
        )

    def clean(self) -> None:
        if self.errors:
            return
        config = self.cleaned_data["grader"]
        try:
            bank = None if config.purpose == Purpose.DIRECT else self.cleaned_data["bank"]
            if bank is None and config.purpose != Purpose.DIRECT:
                raise BoardError("bank", "Make a rubric of questions or nuggets first.")
            kinds = lookup.find_kinds(config, self.cleaned_data["kind"])
            measure = lookup.check_measure(config, self.measure_spec())
            measure = lookup.calibrated(config, bank, measure)
            spec = self.refined(BoardSpec(self.collection, config, bank, kinds, measure))
            self.spec = lookup.check_labels(spec)
        except BoardError as error:
            self.add_error(error.field if error.field in self.fields else None, str(error))

    def refined(self, spec: BoardSpec) -> BoardSpec:
        """Return the spec with what further controls say. Raises BoardError."""
        version = self.cleaned_data["version"]
        if version and version.bank != spec.bank:
            raise BoardError("version", f"{version} is no version of the rubric {spec.bank or 'of labels'}")
        source = RatingSource(self.cleaned_data["source"] or RatingSource.GRADER)
        return replace(
            spec,
            version=version,
            source=source,
            by_subtopic=bool(self.cleaned_data["units"]),
            runs=self.run_slice(),
        )

    def run_slice(self) -> RunSlice | None:
        """Return the runs that the address names, which need not be valid. Raises BoardError."""
        return lookup.find_runs(
            self.collection, *(str(self[name].value() or "") for name in ("task", "runs"))
        )


class BoardForm(ChipForm, LabelForm):
    """All controls of a board, as chips with a menu; those that are left empty have their defaults."""

    in_toolbar: tuple[str, ...] = ("measure", "grader", "bank", "min_grade", "task")
    in_menu: tuple[str, ...] = (
        *("cutoff", "kind", "runs", "topics", "source", "version", "units", "topic", "facet", "missing"),
        *("mode", "min_answers", "relevant", "trec_eval", "definition", "test"),
    )
    has_columns = True

    measure = forms.CharField(max_length=60, widget=forms.TextInput({"list": "measures"}))
    cutoff = forms.IntegerField(min_value=CUTOFF.lowest, max_value=CUTOFF.highest, label="Rank cutoff k")
    columns = forms.CharField(
        max_length=600,
        required=False,
        label="Further columns",
        help_text=(
            "Names separated by commas: rag24, cover-5, P_20:5, nDCG@10, judgments/AP(rel=2), support/recall"
        ),
    )
    relevant = forms.IntegerField(min_value=1, max_value=1000, required=False, label="Qrels: relevant from")
    trec_eval = forms.ChoiceField(choices=TREC_EVALS, required=False, label="Qrels: order of close scores")
    units = forms.ChoiceField(choices=UNITS, required=False, label="Mean over")
    missing = forms.ChoiceField(choices=MISSING, required=False, label="A topic that a run lacks")
    definition = forms.ChoiceField(choices=DEFINITIONS, required=False)
    test = RenamedChoiceField(choices=TESTS, renamed=FORMER_TESTS, required=False, label="Paired test")
    topics = forms.CharField(
        max_length=300,
        required=False,
        label="Only topics with",
        widget=forms.TextInput({"list": "slices"}),
        help_text=TOPICS_HELP,
    )
    topic = forms.CharField(max_length=200, required=False, label="Only topic")
    facet = forms.CharField(max_length=200, required=False, label="Only subtopic")
    sort = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    paused = forms.BooleanField(required=False, widget=forms.HiddenInput)

    field_order = (
        *("grader", "bank", "kind", "measure", "min_grade", "cutoff", "mode", "min_answers", "version"),
        *("columns", "relevant", "trec_eval", "source", "units", "missing", "definition", "test"),
    )

    def __init__(self, parameters: Mapping[str, object], *, collection: Collection) -> None:
        super().__init__(parameters, collection=collection)
        given = filled_in(self, parameters)
        listed = {
            name: value if isinstance(value, list) else [value]
            for name, value in given.items()
            if name in self.fields
        }
        pairs = [(name, str(part)) for name, values in listed.items() for part in values]
        self.address = QueryDict(urlencode(pairs))
        llms = [config.llm for config in self.graders]
        for field in self.fields.values():
            if isinstance(field, GraderField):
                field.told_apart = frozenset(llm for llm in llms if llms.count(llm) == 1)

    @property
    def has_boards(self) -> bool:
        """Return whether there is anything to choose from."""
        return bool(self.graders)

    @property
    def topic_slices(self) -> list[TopicSlice]:
        return [topics for listed in sliceable(self.collection).values() for topics in listed]

    @property
    def has_menu_errors(self) -> bool:
        return any(field.errors for field in self.menu)

    @property
    def carried(self) -> list[BoundField]:
        """Return what the page does not show and its address keeps."""
        return [field for field in self.hidden_fields() if field.value()]

    def default_value(self, name: str) -> object:
        if name in ("grader", "bank"):
            return str(self.data.get(name))
        return self.defaults.get(name, "")

    def clean_measure(self) -> str:
        try:
            lookup.parse_measure(self.cleaned_data["measure"], MeasureSpec())
        except BoardError as error:
            raise forms.ValidationError(str(error)) from error
        return str(self.cleaned_data["measure"])

    def measure_spec(self) -> MeasureSpec:
        picked = self.cleaned_data
        base = replace(
            super().measure_spec(),
            cutoff=picked["cutoff"],
            relevant=picked["relevant"] or 0,
            trec_eval=TrecEval(picked["trec_eval"] or TrecEval.NINE),
        )
        return lookup.parse_measure(picked["measure"], base)

    def refined(self, spec: BoardSpec) -> BoardSpec:
        picked = self.cleaned_data
        limited = replace(
            super().refined(spec),
            missing=MissingTopic(picked["missing"] or MissingTopic.ZERO),
            topic_slice=lookup.find_topics(self.collection, picked["topics"]),
            topic=picked["topic"],
            facet=picked["facet"],
            test=PairedTest(picked["test"] or PairedTest.SIGN_FLIPS),
        )
        return lookup.with_columns(lookup.check_scope(limited), picked["columns"])


class AnalysisForm(BoardForm):
    """The board that a page analyses, with all its options but those that do not apply there."""

    own: tuple[str, ...] = ()
    """What the page asks beyond the board."""
    inapplicable: Mapping[str, str] = {}
    """By option of the board: why it does not apply."""
    has_columns = False
    view = forms.CharField(max_length=20, required=False, widget=forms.HiddenInput)
    """Which of the page's views is shown."""

    def __init__(self, parameters: Mapping[str, object], *, collection: Collection) -> None:
        self.in_toolbar = (*self.own, *BoardForm.in_toolbar)
        super().__init__(parameters, collection=collection)

    def refined(self, spec: BoardSpec) -> BoardSpec:
        return _without(replace(super().refined(spec), columns=()), self.inapplicable)

    @property
    def menu(self) -> list[BoundField]:
        return [field for field in super().menu if field.name not in self.inapplicable]

    @property
    def carried(self) -> list[BoundField]:
        unused = [self[name] for name in ("columns", *self.inapplicable)]
        return [*super().carried, *(field for field in unused if field.value())]

    def not_applied(self) -> list[str]:
        """Return, in words, which options of the address the page leaves out."""
        reasons = {**NO_COLUMNS, **self.inapplicable}
        return [text for name, text in reasons.items() if self[name].value()]


@read_once
def _versions(collection: Collection) -> list[BankVersion]:
    return _versions_of(collection.pk)


@compiled_once
def _versions_of(collection: int) -> QuerySet[BankVersion, BankVersion]:
    return BankVersion.objects.filter(bank__collection=collection).select_related("bank")


def _with_grades(given: dict[str, object], collection: Collection) -> dict[str, object]:
    """Return what the address says, with a grader that has grades of the bank that it names, if any has."""
    number = parse_id(given.get("bank"))
    bank = collection.banks.filter(pk=number).first() if number else None
    if bank is None:
        return given
    bank.collection = collection
    named = GraderConfig.objects.filter(pk=parse_id(given.get("grader"))).first()
    if named and (named.purpose != Purpose.RATE or bank in banks_graded_by(named, collection)):
        return given
    there = [] if "grader" in given and named is None else graders_of(bank)
    if not there:
        return given
    fitting = {name: value for name, value in given.items() if named is None or name != "min_grade"}
    return fitting | {"grader": str(there[0].pk)}


def _without(spec: BoardSpec, inapplicable: Container[str]) -> BoardSpec:
    """Return the board with the defaults of the options that do not apply."""
    if "definition" in inapplicable:
        spec = replace(spec, measure=replace(spec.measure, definition=Definition.PAPERS))
    if "missing" in inapplicable:
        spec = replace(spec, missing=MissingTopic.ZERO)
    if "units" in inapplicable:
        spec = replace(spec, by_subtopic=False)
    return replace(spec, topic="", facet="") if "topic" in inapplicable else spec
