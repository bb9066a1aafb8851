"""One problem, opened beside the list, with the forms that solve it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django import forms
from django.db.models import QuerySet
from django.http import Http404, QueryDict

from grading.formats.reading import text_lines
from grading.near_duplicates import THRESHOLD
from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks import access, changes
from rubricweb.banks.actions import MOST_SPANS, SPAN_CHARS, Origin, quoted
from rubricweb.banks.models import Bank, Item
from rubricweb.core.compiled import compiled_once
from rubricweb.core.forms import choice_field, offer_choices
from rubricweb.core.http import Context, parse_id
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Passage, Topic
from rubricweb.editor import figures, impact
from rubricweb.editor.forms import Wording, new_item_form, wording_form
from rubricweb.editor.what_if import what_if
from rubricweb.grades import raters, scoring
from rubricweb.review.problems import (
    EvidenceForm,
    EvidenceQuery,
    TopicEvidence,
    copies,
    suspects,
    uncovered_of,
)
from rubricweb.review.problems.listing import ProblemKind, weak_items

PASSAGES = 20
"""How many of the passages that cover a misleading item are listed."""
CLOSEST = 7
"""How many similar items are listed beside it."""
_KEY = re.compile(r"(item|weak)-(\d+)|(passage|copies|pair)-(\d+)-(\d+)")
KINDS = {
    ProblemKind.MISLEADING: "Misleading",
    ProblemKind.WEAK: "Weak",
    ProblemKind.UNCOVERED: "No question covers it",
    ProblemKind.SAME: "Same twice",
    ProblemKind.COPIES: "Near-duplicate passages",
}


class ProblemsForm(EvidenceForm):
    """The bank, the kind of problem, and from where on a passage is relevant or covered."""

    in_toolbar: tuple[str, ...] = ("bank", *EvidenceForm.in_toolbar)
    outdated = ("page", "problem")

    bank = raters.select_at_once("Rubric", ())

    def __init__(self, address: QueryDict, banks: list[Bank]) -> None:
        super().__init__(address)
        offer_choices(self, "bank", [(str(bank.pk), bank.name) for bank in banks])
        by_pk = {str(bank.pk): bank for bank in banks}
        self.chosen_bank = by_pk.get(self.data.get("bank", ""), banks[0] if banks else None)
        if self.chosen_bank:
            self.data["bank"] = str(self.chosen_bank.pk)
        self.first_bank = str(banks[0].pk) if banks else ""
        self.kind = next((kind for kind in ProblemKind if kind == address.get("kind")), None)

    def offered_bank(self) -> Bank:
        """Return the chosen bank. Http404 where the collection has none."""
        if self.chosen_bank is None:
            raise Http404("No rubric yet.")
        return self.chosen_bank

    def default_value(self, name: str) -> str:
        return self.first_bank if name == "bank" else super().default_value(name)


class SetAsideForm(forms.Form):
    """Why something is not a problem."""

    reason = forms.CharField(
        label="Why it is not a problem",
        max_length=500,
        widget=forms.TextInput({"data-first": ""}),
        error_messages={"required": "Say why, in a few words."},
    )


class ProblemSearchForm(forms.Form):
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
        self, passage: Passage, data: QueryDict | None = None, *, initial: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(data, initial=dict(initial or {}), auto_id="draft-%s")
        self.passage = passage

    def clean_spans(self) -> Origin:
        try:
            return quoted(self.passage, text_lines(self.cleaned_data["spans"]))
        except changes.UnfitSpan as refusal:
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
    data: QueryDict | None = None,
    initial: Mapping[str, object] | None = None,
) -> DraftItemForm:
    """Return the form empty, as sent, or with `initial`; without subtopics it has no field for them."""
    form = DraftItemForm(passage, data, initial={"kind": "question", **(initial or {})})
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


@dataclass(frozen=True, slots=True)
class AnItem:
    """An item that may be misleading, or weak."""

    topic: Topic
    item: Item
    kind: ProblemKind = ProblemKind.MISLEADING


@dataclass(frozen=True, slots=True)
class APair:
    """Two items, of which `item` is to be retired as the duplicate of `keep`."""

    topic: Topic
    item: Item
    keep: Item
    kind: ProblemKind = ProblemKind.SAME


@dataclass(frozen=True, slots=True)
class APassage:
    """A passage that no item covers, or one that has near-duplicates."""

    topic: Topic
    passage: Passage
    kind: ProblemKind


Subject = AnItem | APair | APassage
"""The subject of a problem, as a key of the address names it."""


@dataclass(frozen=True, slots=True)
class CoveredPassage:
    """A passage that is not relevant and covers the item."""

    passage: Passage
    judgment: int | None
    rating: int


@dataclass(frozen=True, slots=True)
class NearItem:
    """An item with its closeness to a text by the rare words that both have, 0 to 1."""

    item: Item
    score: float
    grade: int | None
    """The item's grade on the opened passage; None without one, or where no grader grades its kind."""


def subject_of(user: User, bank: Bank, key: str) -> Subject:
    """Return what the key names, if the reader may see it."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise Http404("No such problem.")
    if match[1]:
        item = access.item_for(user, bank.pk, int(match[2]))
        kind = ProblemKind.WEAK if match[1] == "weak" else ProblemKind.MISLEADING
        return AnItem(item.topic, item, kind)
    first, second = int(match[4]), int(match[5])
    if match[3] == "pair":
        keep, duplicate = access.item_for(user, bank.pk, first), access.item_for(user, bank.pk, second)
        if (keep.topic_id, keep.kind) != (duplicate.topic_id, duplicate.kind) or keep.pk == duplicate.pk:
            raise Http404("Only two questions, or two nuggets, of the same topic can be merged.")
        return APair(duplicate.topic, duplicate, keep)
    _, topic = access.bank_topic_for(user, bank.pk, first)
    passage = pooled_passage(bank.collection, topic.pk, second)
    return APassage(topic, passage, ProblemKind.COPIES if match[3] == "copies" else ProblemKind.UNCOVERED)


def opened(
    subject: Subject, topics: Iterable[TopicEvidence], rater: raters.Rater, query: EvidenceQuery
) -> dict[str, object]:
    """Return what is shown of an item, a passage or a pair."""
    own = [topic for topic in topics if topic.pool.topic_id == subject.topic.pk]
    context: dict[str, object] = {"subject": subject, "topic": subject.topic}
    if isinstance(subject, APassage):
        return context | _passage(subject, own)
    item = subject.item
    kind = ItemKind(item.kind)
    config = rater.by_kind.get(kind)
    measure = scoring.MeasureSpec(min_grade=rater.min_grade_of(kind, query.min_grade))
    context |= {"item": item, "what_if": what_if(item, config, measure) if config else None}
    if isinstance(subject, APair):
        return context | {"keep": subject.keep, "swapped": f"pair-{item.pk}-{subject.keep.pk}"}
    form = wording_form(item)
    form.fields["text"].widget.attrs.pop("autofocus")  # one comes to read the passages first
    near = [
        other for other in impact.items_by_closeness(item.bank, item.topic, str(item)) if other.item != item
    ]
    context |= {
        "item_form": form,
        "near": [NearItem(other.item, other.score, None) for other in near[:CLOSEST]],
        "marks": [
            mark for weak in weak_items(item.bank, own) if weak.item.pk == item.pk for mark in weak.marks
        ],
    }
    for suspect in suspects(own):
        if suspect.item.pk == item.pk:
            passages = _covering(own[0], suspect.spurious.passages, suspect.spurious.item)
            context |= {"spurious": suspect.spurious, "passages": passages}
    return context


def _passage(subject: APassage, own: list[TopicEvidence]) -> dict[str, object]:
    """Say what is known of an uncovered passage."""
    gaps, passage = uncovered_of(own), subject.passage
    listed = [gap for gap in (*gaps.uncovered, *gaps.ungraded) if gap.passage_pk == passage.pk]
    return {
        "passage": passage,
        "gap": listed[0] if listed else None,
        "is_ungraded": any(gap.passage_pk == passage.pk for gap in gaps.ungraded),
        "is_hidden": (subject.topic.pk, passage.pk) in gaps.hidden,
        "item_form": draft_form(subject.topic, passage),
    }


def closest(bank: Bank, topic: Topic, passage: Passage, text: str, rater: raters.Rater) -> list[NearItem]:
    """Return the topic's active items, closest to `text` first, with their grades on the passage."""
    near = impact.items_by_closeness(bank, topic, text)
    grades = figures.passage_grades(topic, passage.pk, [similar.item for similar in near], rater.by_kind)
    listed = [NearItem(similar.item, similar.score, grades.get(similar.item.pk)) for similar in near]
    return sorted(listed, key=lambda row: (-row.score, -(row.grade or 0)))


def group_of(bank: Bank, groups: Iterable[copies.PooledGroup], subject: APassage) -> Context:
    """Return the near-duplicates of a passage with their grades side by side."""
    own = [
        group
        for group in groups
        if group.topic.topic_id == subject.topic.pk
        and subject.passage.pk in {group.topic.passage_pks[row] for row in group.rows}
    ]
    groups_of_passage = copies.shown_groups(bank.collection, bank, own[:1])
    return {
        "subject": subject,
        "topic": subject.topic,
        "group": groups_of_passage[0] if groups_of_passage else None,
    }


@compiled_once
def _passages(pks: tuple[int, ...]) -> QuerySet[Passage]:
    return Passage.objects.filter(pk__in=pks)


def _covering(topic: TopicEvidence, covering: tuple[int, ...], column: int) -> list[CoveredPassage]:
    rows = covering[:PASSAGES]
    pks = tuple(topic.pool.passage_pks[row] for row in rows)
    texts = {passage.pk: passage for passage in _passages(pks)}
    return [
        CoveredPassage(
            texts[topic.pool.passage_pks[row]],
            topic.pool.judgments.get(topic.pool.doc_ids[row]),
            int(topic.ratings[row, column]),
        )
        for row in rows
    ]
