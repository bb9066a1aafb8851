"""Forms that make an item from spans of a passage."""

from __future__ import annotations

from collections.abc import Mapping

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext, gettext_lazy

from grading.formats.reading import text_lines
from rubricweb.banks.errors import UnfitSpan
from rubricweb.banks.models import Item
from rubricweb.banks.origins import MOST_SPANS, SPAN_CHARS, Origin, quoted
from rubricweb.core.forms import choice_field
from rubricweb.core.ids import parse_id
from rubricweb.corpus.models import Passage
from rubricweb.editor.item_forms import Wording, new_item_form
from rubricweb.review.uncovered.access import OpenedPassage


class SpansForm(forms.Form):
    """Spans of the passage, one a line."""

    spans = forms.CharField(
        label=gettext_lazy("What an answer should contain, one span per line"),
        required=False,
        max_length=MOST_SPANS * (SPAN_CHARS + 2),
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=gettext_lazy("Marked in the passage, or pasted from it. It is stored with the item."),
    )

    def __init__(
        self, passage: Passage, sent: QueryDict | None = None, *, initial: dict[str, object] | None = None
    ) -> None:
        super().__init__(sent, initial=initial, auto_id="draft-%s")
        self.passage = passage

    def clean_spans(self) -> Origin:
        try:
            return quoted(self.passage, text_lines(self.cleaned_data["spans"]))
        except UnfitSpan as refusal:
            raise forms.ValidationError(str(refusal)) from None


class DraftItemForm(SpansForm):
    """A new item, or with `item` and its version `seen` the rewording of one."""

    kind = forms.ChoiceField(choices=Item.Kind.choices, label=gettext_lazy("Kind"))
    facet_id = forms.ChoiceField(required=False, label=gettext_lazy("Subtopic"))
    text = Wording("Question or nugget")
    item = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def clean_spans(self) -> Origin:
        origin = super().clean_spans()
        if not origin.spans:
            raise forms.ValidationError(gettext("Mark a span of the passage first, or paste one."))
        return origin


def draft_form(
    opened: OpenedPassage, *, sent: QueryDict | None = None, initial: Mapping[str, object] | None = None
) -> DraftItemForm:
    """Return the form empty, as sent, or with `initial`; without subtopics it has no field for them."""
    form = DraftItemForm(opened.passage, sent, initial={"kind": "question", **(initial or {})})
    offered, facet = choice_field(new_item_form(opened.topic), "facet_id"), choice_field(form, "facet_id")
    facet.choices, facet.widget = offered.choices, offered.widget
    return form


def rewording(item: Item, spans: str, *, mine: str = "") -> dict[str, object]:
    """Initial values for rewording an item; `mine` is a text that was refused."""
    return {
        "spans": spans,
        "kind": item.kind,
        "facet_id": item.facet_id,
        "text": mine or item.revision.text,
        "item": item.pk,
        "seen": item.version,
    }


def named_item(opened: OpenedPassage, pk: object) -> Item | None:
    """Return the active item of the topic with the id that a form sent."""
    items = opened.bank.items.active().for_topic(opened.topic)
    item: Item | None = (
        items.select_related("revision", "topic", "bank__collection").filter(pk=parse_id(pk)).first()
    )
    return item
