"""What the list of problems shows, and the forms that end one."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import Http404, QueryDict

from grading.formats.reading import text_lines
from grading.near_duplicates import THRESHOLD
from rubricweb.banks.errors import UnfitSpan
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.origins import MOST_SPANS, SPAN_CHARS, Origin, quoted
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import parse_id
from rubricweb.corpus.models import Passage, Topic
from rubricweb.editor.item_forms import Wording, new_item_form
from rubricweb.grades.forms import select_at_once
from rubricweb.review.evidence_form import EvidenceForm
from rubricweb.review.problems.listing import Kind

KINDS = {
    Kind.MISLEADING: "Misleading",
    Kind.UNCOVERED: "No question covers it",
    Kind.SAME: "Same twice",
    Kind.COPIES: "Near-duplicate passages",
}


class ProblemsForm(EvidenceForm):
    """The bank, the kind of problem, and from where on a passage is relevant or covered."""

    in_toolbar: tuple[str, ...] = ("bank", *EvidenceForm.in_toolbar)
    outdated = ("page", "problem")

    bank = select_at_once("Rubric", ())

    def __init__(self, address: QueryDict, banks: list[Bank]) -> None:
        super().__init__(address)
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        self.chosen_bank = by_pk.get(self.data.get("bank", ""), banks[0] if banks else None)
        if self.chosen_bank:
            self.data["bank"] = str(self.chosen_bank.pk)
        self.first_bank = str(banks[0].pk) if banks else ""
        self.kind = next((kind for kind in Kind if kind == address.get("kind")), None)

    def offered_bank(self) -> Bank:
        """Return the chosen bank. Http404 where the collection has none."""
        if self.chosen_bank is None:
            raise Http404("No rubric yet.")
        return self.chosen_bank

    def default_value(self, name: str) -> str:
        return self.first_bank if name == "bank" else super().default_value(name)


class ReasonForm(forms.Form):
    """Why something is not a problem."""

    reason = forms.CharField(
        label="Why it is not a problem",
        max_length=500,
        widget=forms.TextInput({"data-first": ""}),
        error_messages={"required": "Say why, in a few words."},
    )


class SearchForm(forms.Form):
    """How alike near-duplicate passages are."""

    threshold = forms.FloatField(
        label="Lowest similarity",
        min_value=0.3,
        max_value=1,
        initial=THRESHOLD,
        widget=forms.NumberInput({"step": "0.05"}),
        help_text="Of their sequences of nine words (Jaccard): 1 is the same text.",
    )


class SpansForm(forms.Form):
    """Words of the passage, one span a line."""

    spans = forms.CharField(
        label="Words of the passage that no item asks for",
        required=False,
        max_length=MOST_SPANS * (SPAN_CHARS + 2),
        widget=forms.Textarea(attrs={"rows": 1}),
    )

    def __init__(
        self, passage: Passage, sent: QueryDict | None = None, *, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(sent, initial=dict(initial or {}), auto_id="draft-%s")
        self.passage = passage

    def clean_spans(self) -> Origin:
        try:
            return quoted(self.passage, text_lines(self.cleaned_data["spans"]))
        except UnfitSpan as refusal:
            raise forms.ValidationError(str(refusal)) from None


class DraftItemForm(SpansForm):
    """A new item, or with `item` and its version `seen` the rewording of one."""

    kind = forms.ChoiceField(choices=Item.Kind.choices, label="Kind")
    facet_id = forms.ChoiceField(required=False, label="Subtopic")
    text = Wording("Question or nugget")
    item = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean_spans(self) -> Origin:
        origin = super().clean_spans()
        if not origin.spans:
            raise forms.ValidationError("Mark a span of the passage first, or paste one.")
        return origin


def draft_form(
    topic: Topic,
    passage: Passage,
    *,
    sent: QueryDict | None = None,
    initial: Mapping[str, object] | None = None,
) -> DraftItemForm:
    """Return the form empty, as sent, or with `initial`; without subtopics it has no field for them."""
    form = DraftItemForm(passage, sent, initial={"kind": "question", **(initial or {})})
    offered, facet = choice_field(new_item_form(topic), "facet_id"), choice_field(form, "facet_id")
    facet.choices, facet.widget = offered.choices, offered.widget
    return form


def rewording(item: Item, spans: str, *, mine: str = "") -> dict[str, object]:
    """Return the initial values for rewording an item; `mine` is a text that was refused."""
    return {
        "spans": spans,
        "kind": item.kind,
        "facet_id": item.facet_id,
        "text": mine or item.revision.text,
        "item": item.pk,
        "seen": item.version,
    }


def named_item(bank: Bank, topic: Topic, pk: object) -> Item | None:
    """Return the active item of the topic with the id that a form sent."""
    items = bank.items.active().for_topic(topic)
    item: Item | None = (
        items.select_related("revision", "topic", "bank__collection").filter(pk=parse_id(pk)).first()
    )
    return item
