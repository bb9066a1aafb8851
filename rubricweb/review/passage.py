"""A passage by all graders: what each gave each item, attempt by attempt, and whether they repeat themselves.

As TREMA-UNH at TREC RAG (Farzi and Dietz 2024) has it in its Tables 10 and 11. Attempts of a model with a
prompt are its configs, which differ in their options, and the same text that other runs submitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from grading.in_context import parts_of
from grading.types import FAILED, MISSING, Outcome, Purpose
from rubricweb.banks.access import bank_topic_for
from rubricweb.banks.models import DIRECT_UID, Bank, Item, ItemRevision
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.models import Passage, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.visibility import visible_grades
from rubricweb.review.access import passage_for
from rubricweb.review.grid import INSET, inset_frame

UNSTATED = {Outcome.DEFAULTED: "the reply held no rating", Outcome.UNANSWERABLE: "unanswerable"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One grader on the passage, or on the same text under another id."""

    config: GraderConfig
    passage: Passage
    number: int
    """Counted from 1 within the model and prompt."""
    ratings: tuple[int | None, ...]
    """By item: MISSING and FAILED where they are; None for answers without a rating."""
    notes: tuple[str, ...]
    """By item: how the reply read where the rating is not its own."""


@dataclass(frozen=True, slots=True)
class GraderAttempts:
    """The attempts of one model with one prompt, and how far they are the same."""

    llm: str
    prompt_class: str
    attempts: tuple[Attempt, ...]
    pairs: int
    """Pairs of ratings of one item by two attempts."""
    same: int
    near: int
    """Pairs that differ by at most 1."""


@dataclass(frozen=True, slots=True)
class GradesTable:
    """What graders gave a passage: a row an item, or one row where they label the passage as a whole."""

    caption: str
    items: tuple[tuple[str, str], ...]
    """Name and text of each row."""
    graders: tuple[GraderAttempts, ...]

    @property
    def rows(self) -> list[tuple[str, str, list[tuple[int | None, str]]]]:
        """Name, text, and the rating with its note of each attempt."""
        attempts = [attempt for grader in self.graders for attempt in grader.attempts]
        return [
            (name, text, [(attempt.ratings[place], attempt.notes[place]) for attempt in attempts])
            for place, (name, text) in enumerate(self.items)
        ]

    @property
    def is_repeated(self) -> bool:
        return any(len(grader.attempts) > 1 for grader in self.graders)


@require_safe
def passage(request: HtmxRequest, bank_id: int, topic_id: int, passage_id: int) -> HttpResponse:
    """Show the passage with the grades of every grader."""
    bank, topic = bank_topic_for(request.user, bank_id, topic_id)
    graded = passage_for(bank.collection, topic.pk, passage_id)
    context = inset_frame(request, bank, topic) | {
        "inset": graded.doc_id,
        "passage": graded,
        "parts": parts_of(graded.text),
        "grade_tables": passage_grades(bank, topic, graded),
    }
    return render(request, INSET, context)


Key = tuple[GraderConfig, Passage]
ByAttempt = dict[Key, dict[int, Grade]]
"""Grades by attempt, and there by revision."""


def passage_grades(bank: Bank, topic: Topic, passage: Passage) -> list[GradesTable]:
    """Return what graders gave this text, item by item and as a whole, as the reader may see it."""
    items = list(bank.items.active().for_topic(topic).order_by("-kind", "position", "pk"))
    direct = ItemRevision.objects.filter(uid=DIRECT_UID, topic=topic).values_list("pk", flat=True)
    tables = (
        ("Grades of items", [item.revision_id for item in items], tuple(_named(items))),
        ("Labels of the passage", list(direct), (("Passage", "as a whole"),)),
    )
    filled = []
    for caption, revisions, named in tables:
        if by_attempt := _by_attempt(bank, topic, passage, revisions):
            filled.append(GradesTable(caption, named, _graders(by_attempt, passage, revisions)))
    return filled


def _graders(by_attempt: ByAttempt, passage: Passage, revisions: list[int]) -> tuple[GraderAttempts, ...]:
    by_grader: dict[tuple[str, str], list[Attempt]] = {}
    for key in sorted(by_attempt, key=lambda key: (key[1] != passage, key[0].pk, key[1].pk)):
        listed = by_grader.setdefault((key[0].llm, key[0].prompt_class), [])
        listed.append(_attempt(key, len(listed) + 1, [by_attempt[key].get(pk) for pk in revisions]))
    return tuple(_grader(*names, by_grader[names]) for names in sorted(by_grader))


def _by_attempt(bank: Bank, topic: Topic, passage: Passage, revisions: list[int]) -> ByAttempt:
    """Return the grades of these wordings on the passage, and on those of the pool with the same text."""
    pool = collection_pool(bank.collection).by_topic[topic.pk]
    copies = Passage.objects.filter(pk__in=pool.passage_pks, text=passage.text).exclude(text="")
    grades = Grade.objects.filter(revision__in=revisions).exclude(config__purpose=Purpose.EXTRACT)
    grades = grades.filter(Q(passage=passage) | Q(passage__in=copies)).select_related("config", "passage")
    by_attempt: ByAttempt = {}
    for grade in visible_grades(grades, bank.collection_id):
        by_attempt.setdefault((grade.config, grade.passage), {})[grade.revision_id] = grade
    return by_attempt


def _named(items: Iterable[Item]) -> Iterable[tuple[str, str]]:
    counts: dict[str, int] = {}
    for item in items:
        counts[item.kind] = counts.get(item.kind, 0) + 1
        yield (
            f"{item.kind.capitalize()} {counts[item.kind]}",
            item.revision.text or f"{item.revision.uid[-6:]} no text yet",
        )


def _attempt(key: Key, number: int, grades: list[Grade | None]) -> Attempt:
    notes = tuple(UNSTATED.get(Outcome(grade.outcome), "") if grade else "" for grade in grades)
    return Attempt(*key, number, tuple(map(_rating, grades)), notes)


def _rating(grade: Grade | None) -> int | None:
    if grade is None:
        return MISSING
    return FAILED if grade.outcome == Outcome.FAILED else grade.rating


def _grader(llm: str, prompt_class: str, attempts: list[Attempt]) -> GraderAttempts:
    pairs = [
        (first, second)
        for earlier, later in combinations(attempts, 2)
        for first, second in zip(earlier.ratings, later.ratings, strict=True)
        if first is not None and second is not None and first >= 0 and second >= 0
    ]
    same, near = (sum(abs(first - second) <= most for first, second in pairs) for most in (0, 1))
    return GraderAttempts(llm, prompt_class, tuple(attempts), len(pairs), same, near)
