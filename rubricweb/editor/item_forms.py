"""Forms that change items."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django import forms

from grading.formats.reading import text_lines
from grading.types import Importance
from rubricweb.banks.actions import KEY_CHARS, MOST_KEYS, ItemBefore, accepted_answers
from rubricweb.banks.changes import UnfitAnswerKey
from rubricweb.banks.models import LEAST_WEIGHT, MOST_WEIGHT, Item
from rubricweb.core.forms import offer_choices
from rubricweb.core.http import parse_id

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
