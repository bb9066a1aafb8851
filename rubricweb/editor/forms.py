"""Forms that change items, and the one that chooses a grader and a threshold for the editor's figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from django import forms
from django.core.validators import MaxValueValidator

from grading.formats.reading import text_lines
from grading.types import MAX_RATING, USUAL_MIN_GRADE, Importance, ItemKind
from rubricweb.banks.actions import KEY_CHARS, MOST_KEYS, ItemBefore, accepted_answers
from rubricweb.banks.changes import UnfitAnswerKey
from rubricweb.banks.models import LEAST_WEIGHT, MOST_WEIGHT, Bank, Item
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import parse_id
from rubricweb.corpus.models import Collection
from rubricweb.grades import scoring
from rubricweb.grades.configs import (
    default_min_grade,
    kinds_of,
    planned_configs,
    scale_of,
    threshold_note,
    within_scale,
)
from rubricweb.grades.models import GraderConfig
from rubricweb.grades.selectors import ON_ITEMS, graders, graders_of, scored_graders

if TYPE_CHECKING:
    from django.http import QueryDict

    from rubricweb.corpus.models import Topic


AnyForm = TypeVar("AnyForm", bound=forms.Form)

MAX_WORDING = 2_000
"""Characters of a question or nugget."""


class Wording(forms.CharField):
    """The text of an item."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self, label: str) -> None:
        too_long = f"Keep it under {MAX_WORDING:,} characters; this has %(show_value)d."
        empty = "Write the question or nugget first."
        messages = {"required": empty, "max_length": too_long}
        super().__init__(label=label, max_length=MAX_WORDING, error_messages=messages)


class WordingForm(forms.Form):
    """A new text for an item; `seen` is the version that the writer started from."""

    text = Wording("Wording")
    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class AnswerKeyForm(forms.Form):
    """Accepted answers of a question, one a line; empty removes the key."""

    texts = forms.CharField(
        label="Accepted answers, one per line",
        required=False,
        max_length=MOST_KEYS * (KEY_CHARS + 2),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=(
            "Any of them is right. Case, punctuation, word endings and small typing errors are ignored."
        ),
    )
    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)

    def clean_texts(self) -> list[str]:
        try:
            return accepted_answers(text_lines(self.cleaned_data["texts"]))
        except UnfitAnswerKey as refusal:
            raise forms.ValidationError(str(refusal)) from None


class SupplyForm(forms.Form):
    """The text of an item that was imported by its id."""

    text = Wording("The exact text of this id")


class SeenForm(forms.Form):
    """A change to the version of an item that the writer saw."""

    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class WeighForm(forms.Form):
    """Importance and weight."""

    importance = forms.ChoiceField(label="Importance", choices=Item.Weight.choices)
    weight = forms.FloatField(
        label="Weight",
        required=False,
        min_value=LEAST_WEIGHT,
        max_value=MOST_WEIGHT,
        widget=forms.NumberInput(attrs={"step": "any"}),
        help_text="What covering it adds in weighted measures. Empty: vital 1, okay 0.5, to avoid -1.",
    )
    seen = forms.IntegerField(min_value=1, widget=forms.HiddenInput)


class MoveForm(forms.Form):
    """A place in the list; `seen` is the order that the list had, as ids with commas between."""

    place = forms.IntegerField(min_value=0)
    seen = forms.CharField(required=False)

    def clean_seen(self) -> list[int]:
        return [parse_id(pk) for pk in self.cleaned_data["seen"].split(",") if pk]


class ChosenItemsForm(forms.Form):
    """Chosen items, each as "id:version", and what to do: an importance, or to retire, hide or show them."""

    SECRECY = (("hide", "keep secret"), ("show", "make public"))
    ACTS = (*Item.Weight.choices, ("retire", "retire"), ("retire-now", "retire"), *SECRECY)
    act = forms.ChoiceField(choices=ACTS)

    def __init__(self, posted: QueryDict) -> None:
        super().__init__(posted)
        pairs = [chosen.partition(":") for chosen in posted.getlist("item")]
        self.seen = {parse_id(pk): parse_id(version) for pk, _, version in pairs}
        """Versions by the id of the item."""

    def clean(self) -> None:
        if not self.seen:
            raise forms.ValidationError("Select items first.")

    @property
    def importance(self) -> Importance | None:
        """Return the importance to set; None where it stays."""
        act = self.cleaned_data["act"]
        return Importance(act) if act in Item.Weight.values else None


class ItemsBeforeForm(forms.Form):
    """The state of several items: "id:version:importance:weight", with commas between."""

    before = forms.CharField()

    def clean_before(self) -> dict[int, ItemBefore]:
        before = {}
        for row in self.cleaned_data["before"].split(","):
            try:
                pk, version, importance, weight = row.split(":")
                before[int(pk)] = ItemBefore(int(version), Importance(importance), float(weight))
            except ValueError as error:
                raise forms.ValidationError("Expected a list of items.") from error
        return before


class NewItemForm(forms.Form):
    kind = forms.ChoiceField(choices=Item.Kind.choices, label="Kind")
    facet_id = forms.ChoiceField(required=False, label="Subtopic")
    text = Wording("Question or nugget")


def wording_form(item: Item, *, posted: QueryDict | None = None, text: str = "") -> WordingForm:
    initial = {"text": text or item.revision.text, "seen": item.version}
    return focused(WordingForm(posted, initial=initial, auto_id=f"item-{item.pk}-%s"))


def weigh_form(item: Item, *, posted: QueryDict | None = None) -> WeighForm:
    initial = {"importance": item.importance, "weight": item.weight, "seen": item.version}
    return focused(WeighForm(posted, initial=initial, auto_id=f"item-{item.pk}-%s"), "importance")


def answer_key_form(
    item: Item, *, posted: QueryDict | None = None, mine: list[str] | None = None
) -> AnswerKeyForm:
    """Return the form as it is, as sent, or with `mine` over a version that somebody else made."""
    texts = [key.text for key in item.revision.answer_keys.all()] if mine is None else mine
    initial = {"texts": "\n".join(texts), "seen": item.version}
    return focused(AnswerKeyForm(posted, initial=initial, auto_id=f"item-{item.pk}-key-%s"), "texts")


def supply_form(item: Item, *, posted: QueryDict | None = None) -> SupplyForm:
    return focused(SupplyForm(posted, auto_id=f"item-{item.pk}-%s"))


def new_item_form(
    topic: Topic, *, posted: QueryDict | None = None, after: NewItemForm | None = None
) -> NewItemForm:
    """Return the form empty, as posted, or `after` an addition of the same kind.

    Without subtopics it has no field for them.
    """
    same = (
        {name: after.cleaned_data[name] for name in ("kind", "facet_id")} if after else {"kind": "question"}
    )
    form = NewItemForm(posted, initial=same, auto_id="new-item-%s")
    subtopics = [(facet.facet_id, facet.text) for facet in topic.subtopics.all()]
    offer_choices(form, "facet_id", [("", "The whole topic"), *((pk, text or pk) for pk, text in subtopics)])
    if not subtopics:
        form.fields["facet_id"].widget = forms.HiddenInput()
    return focused(form) if after else form


def focused(form: AnyForm, name: str = "text") -> AnyForm:
    """Put the cursor into the text."""
    form.fields[name].widget.attrs["autofocus"] = True
    return form


GraderByKind = dict[ItemKind, GraderConfig]


def rating_graders(bank: Bank) -> list[GraderConfig]:
    """Return the graders that figures may show.

    First those with grades of the bank, the default one first, then those that Re-grade runs, then others
    with grades in the collection.
    """
    others = (row.config for row in scored_graders(bank.collection))
    candidates = [*graders_of(bank), *planned_configs(bank.collection), *others]
    return [config for config in dict.fromkeys(candidates) if config.purpose in ON_ITEMS]


def grader_by_kind(rating: list[GraderConfig], chosen: GraderConfig | None) -> GraderByKind:
    """Return the chosen grader, and for other kinds a config of the same model, else the active one."""
    if chosen is not None:
        rating = sorted(rating, key=lambda config: (config != chosen, config.team != chosen.team))
    first: GraderByKind = {}
    for config in rating:
        for kind in kinds_of(config):
            first.setdefault(kind, config)
    return first


class FiguresForm(forms.Form):
    """The grader and the threshold; a value that cannot be read is named on the page and ignored."""

    grader = forms.TypedChoiceField(coerce=int, required=False, empty_value=None)
    min_grade = forms.IntegerField(label="Threshold", min_value=1, required=False)

    threshold: int | None
    """At most the highest rating of the graders' scales; None for each grader's own threshold."""

    def __init__(self, chosen: Mapping[str, str], rating: list[GraderConfig]) -> None:
        super().__init__({name: chosen.get(name, "") for name in self.base_fields}, auto_id="figures-%s")
        self.rating = rating
        graders = [("", "The default grader"), *((config.pk, str(config)) for config in rating)]
        offer_choices(self, "grader", graders)
        for field in self.fields.values():
            field.widget.attrs["data-submits"] = ""
        self._fit_scale(chosen.get("min_grade", ""))

    def _fit_scale(self, chosen: str) -> None:
        """Limit the field to the graders' scales; its default is the first grader's threshold."""
        chosen_graders = list(self.graders.values())
        highest = max((scale_of(config)[1] for config in chosen_graders), default=MAX_RATING)
        field = self.fields["min_grade"]
        field.validators.append(MaxValueValidator(highest))
        field.widget.attrs["max"] = highest
        field.help_text = threshold_note(chosen_graders[0]) if chosen_graders else ""
        default = default_min_grade(chosen_graders[0]) if chosen_graders else USUAL_MIN_GRADE
        self.data = {**self.data, "min_grade": chosen or default}
        self.full_clean()
        self.threshold = self.cleaned_data.get("min_grade") if chosen else None

    @property
    def graders(self) -> GraderByKind:
        self.is_valid()
        chosen: int | None = self.cleaned_data.get("grader")
        return grader_by_kind(
            self.rating, next((config for config in self.rating if config.pk == chosen), None)
        )

    def measure_by(self, config: GraderConfig) -> scoring.MeasureSpec:
        """Return the default measure at the chosen threshold, limited to the grader's scale."""
        return scoring.MeasureSpec(min_grade=within_scale(config, self.threshold))


def board_graders(figures: FiguresForm, collection: Collection) -> list[GraderConfig]:
    """Return the chosen grader and its model's config for the other kind.

    If none is chosen, the first one with grades of each kind.
    """
    chosen = figures.graders
    if not figures.data.get("grader"):
        graded = {row.config.pk for row in graders(collection)}
        for kind in ItemKind:
            fit = [config for config in figures.rating if kind in kinds_of(config) and config.pk in graded]
            chosen = {**chosen, kind: fit[0]} if fit else chosen
    return list(dict.fromkeys(chosen.values()))
