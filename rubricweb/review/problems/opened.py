"""One opened problem: the item, the passage or the pair, its closest items and what ending it does."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.http import Http404

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.access import bank_topic_for, item_for
from rubricweb.banks.models import Bank, Item
from rubricweb.core.http import Context
from rubricweb.corpus.access import pooled_passage
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.editor.figures import passage_grades
from rubricweb.editor.impact import items_by_closeness
from rubricweb.editor.item_forms import wording_form
from rubricweb.editor.what_if import WhatIf, what_if
from rubricweb.grades.raters import Rater
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.review.evidence import EvidenceQuery, TopicEvidence
from rubricweb.review.problems.copies import PooledGroup, shown_groups
from rubricweb.review.problems.findings import suspects, uncovered_of
from rubricweb.review.problems.forms import draft_form
from rubricweb.review.problems.listing import Kind

PASSAGES = 20
"""Shown of the passages that cover a misleading item."""
CLOSEST = 7
"""Items shown beside it."""
_KEY = re.compile(r"(item)-(\d+)|(passage|copies|pair)-(\d+)-(\d+)")


@dataclass(frozen=True, slots=True)
class AnItem:
    """An item that may be misleading."""

    topic: Topic
    item: Item
    kind: Kind = Kind.MISLEADING


@dataclass(frozen=True, slots=True)
class APair:
    """Two items, of which `item` is to be retired as the duplicate of `keep`."""

    topic: Topic
    item: Item
    keep: Item
    kind: Kind = Kind.SAME


@dataclass(frozen=True, slots=True)
class APassage:
    """A passage that no item covers, or one that has near-duplicates."""

    topic: Topic
    passage: Passage
    kind: Kind


Subject = AnItem | APair | APassage
"""What a key of the address names."""


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
    """On the opened passage; None without one, or where no grader grades its kind."""


def subject_of(user: User, bank: Bank, key: str) -> Subject:
    """Return what the key names, if the reader may see it."""
    match = _KEY.fullmatch(key)
    if match is None:
        raise Http404("No such problem.")
    if match[1]:
        item = item_for(user, bank.pk, int(match[2]))
        return AnItem(item.topic, item)
    first, second = int(match[4]), int(match[5])
    if match[3] == "pair":
        keep, duplicate = item_for(user, bank.pk, first), item_for(user, bank.pk, second)
        if (keep.topic_id, keep.kind) != (duplicate.topic_id, duplicate.kind) or keep.pk == duplicate.pk:
            raise Http404("Only two questions, or two nuggets, of the same topic can be merged.")
        return APair(duplicate.topic, duplicate, keep)
    _, topic = bank_topic_for(user, bank.pk, first)
    passage = pooled_passage(bank.collection, topic.pk, second)
    return APassage(topic, passage, Kind.COPIES if match[3] == "copies" else Kind.UNCOVERED)


def opened(
    subject: Subject, topics: Iterable[TopicEvidence], rater: Rater, query: EvidenceQuery
) -> dict[str, object]:
    """Return what is shown of a misleading item, a passage or a pair."""
    own = [topic for topic in topics if topic.pool.topic_id == subject.topic.pk]
    context: dict[str, object] = {"subject": subject, "topic": subject.topic}
    if isinstance(subject, APassage):
        return context | _passage(subject, own)
    item = subject.item
    context |= {"item": item, "what_if": _retiring(item, rater, query)}
    if isinstance(subject, APair):
        return context | {"keep": subject.keep, "swapped": f"pair-{item.pk}-{subject.keep.pk}"}
    form = wording_form(item)
    form.fields["text"].widget.attrs.pop("autofocus")  # one comes to read the passages first
    near = [one for one in items_by_closeness(item.bank, item.topic, str(item)) if one.item != item]
    context |= {"item_form": form, "near": [NearItem(one.item, one.score, None) for one in near[:CLOSEST]]}
    for suspect in suspects(own):
        if suspect.item.pk == item.pk:
            passages = _covering(
                item.bank.collection, own[0], suspect.spurious.passages, suspect.spurious.item
            )
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


def closest(bank: Bank, topic: Topic, passage: Passage, text: str, rater: Rater) -> list[NearItem]:
    """Return the topic's active items, closest to `text` first, with their grades on the passage."""
    near = items_by_closeness(bank, topic, text)
    grades = passage_grades(topic, passage.pk, [one.item for one in near], rater.by_kind)
    listed = [NearItem(one.item, one.score, grades.get(one.item.pk)) for one in near]
    return sorted(listed, key=lambda one: (-one.score, -(one.grade or 0)))


def group_of(bank: Bank, groups: Iterable[PooledGroup], subject: APassage) -> Context:
    """Return the near-duplicates of a passage with their grades side by side."""
    own = [
        group
        for group in groups
        if group.topic.topic_id == subject.topic.pk
        and subject.passage.pk in {group.topic.passage_pks[row] for row in group.rows}
    ]
    shown = shown_groups(bank.collection, bank, own[:1])
    return {"subject": subject, "topic": subject.topic, "group": shown[0] if shown else None}


def _retiring(item: Item, rater: Rater, query: EvidenceQuery) -> WhatIf | None:
    kind = ItemKind(item.kind)
    config = rater.by_kind.get(kind)
    measure = MeasureSpec(min_grade=rater.min_grade_of(kind, query.min_grade))
    return what_if(item, config, measure) if config else None


def _covering(
    collection: Collection, topic: TopicEvidence, covering: tuple[int, ...], column: int
) -> list[CoveredPassage]:
    shown = covering[:PASSAGES]
    texts = collection.passages.in_bulk([topic.pool.passage_pks[row] for row in shown])
    return [
        CoveredPassage(
            texts[topic.pool.passage_pks[row]],
            topic.pool.judgments.get(topic.pool.doc_ids[row]),
            int(topic.ratings[row, column]),
        )
        for row in shown
    ]
