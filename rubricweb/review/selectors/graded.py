"""Cells with what graders say of them: many at once for Verify grading, and the part of one that it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from grading.graders import ANSWERS_BY
from grading.in_context import parts_of
from grading.parsing.words import is_unanswerable
from grading.types import ANSWERED, ItemKind, Outcome, Purpose
from rubricweb.banks.models import DIRECT_UID, Item, ItemRevision
from rubricweb.banks.secrecy import sees_secrets
from rubricweb.banks.selectors import keys_of
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Passage
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.human_models import answer_digest
from rubricweb.grades.in_context import config_on
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.verification import PassageSegment, highlighted
from rubricweb.review.selectors.window import ANSWER_WORDS, answer_state

OUTCOMES = {
    Outcome.NUMERIC: "the grader's own rating",
    Outcome.UNANSWERABLE: "the reply said unanswerable, which counts as 0",
    Outcome.DEFAULTED: "the reply held no rating; the default stands in",
    Outcome.EXTRACTED: "an extracted answer, without a rating",
    Outcome.FAILED: "grading failed; this is not a 0",
}
Place = tuple[Item, Passage]


@dataclass(frozen=True, eq=False)
class GradedCell:
    """An item beside a passage, with the rater's grade and other graders'."""

    item: Item
    passage: Passage
    segments: tuple[PassageSegment, ...]
    config: GraderConfig | None
    """The rater's config for this kind of item; None if it rates none."""
    grade: Grade | None
    extraction: Grade | None
    """The extracted answer that the rater verifies, or that its model gave."""
    answer: str
    answer_by: GraderConfig | None
    is_answer_in_passage: bool
    others: tuple[Grade, ...]
    """Other graders' ratings of the cell, and direct graders' labels of the passage."""
    keys: tuple[str, ...]
    """The accepted answers to the question."""

    @property
    def outcome_label(self) -> str:
        return OUTCOMES[Outcome(self.grade.outcome)] if self.grade else ""

    @property
    def answer_state(self) -> str:
        """Return the state of a cell whose answer a grader verified, as `window.answer_state`; else empty."""
        grade = self.grade
        if grade is None or grade.config.purpose not in (Purpose.VERIFY, Purpose.EXTRACT):
            return ""
        if grade.outcome == Outcome.FAILED:
            return ""
        rating = ANSWERED if grade.rating is None else grade.rating
        return answer_state(rating, is_empty=is_unanswerable(grade.answer))

    @property
    def at(self) -> str:
        """Return the cell as the address of Verify grading names it."""
        return f"{self.item.topic_id}-{self.passage.pk}-{self.item.pk}"

    @property
    def answer_digest(self) -> str:
        return answer_digest(self.grade.answer) if self.grade else ""

    @property
    def verdict_label(self) -> str:
        return str(ANSWER_WORDS.get(self.answer_state, ""))

    @property
    def can_accept(self) -> bool:
        return is_acceptable(self.item, self.answer, self.keys)


def is_acceptable(item: Item, answer: str, keys: Iterable[str]) -> bool:
    """Return whether the answer could become an accepted one: it is to a question with text, and none yet."""
    is_question = item.kind == ItemKind.QUESTION and bool(item.revision.text)
    text = " ".join(answer.split())
    return is_question and not is_unanswerable(text) and text not in keys


def graded_cells(places: Sequence[Place], rater: Rater) -> list[GradedCell]:
    """Return the cells of one collection in three queries, however many they are.

    Items need their revision, topic, bank and collection; passages are those of `access.passage_for`.
    """
    grades = _grades(places)
    cells = [_graded(*place, rater, rows) for place, rows in zip(places, grades, strict=True)]
    keyed = [cell.item.revision_id for cell in cells if cell.answer or rater.verifies]
    keys = keys_of(keyed) if keyed else {}
    return [replace(cell, keys=keys.get(cell.item.revision_id, ())) if keys else cell for cell in cells]


def _graded(item: Item, passage: Passage, rater: Rater, grades: list[Grade]) -> GradedCell:
    """Return the cell without the accepted answers."""
    config = rater.by_kind.get(ItemKind(item.kind))
    config = config and config_on(passage, config)
    grade = next((grade for grade in grades if config and grade.config_id == config.pk), None)
    extraction = _extraction(grades, config, ItemKind(item.kind))
    has_answer = grade is not None and grade.answer and grade.outcome != Outcome.FAILED
    source = grade if has_answer else extraction
    answer = source.answer if source else ""
    parts = parts_of(passage.text)
    segments = highlighted(parts.text if parts else passage.text, answer)
    return GradedCell(
        item=item,
        passage=passage,
        segments=segments,
        config=config,
        grade=grade,
        extraction=extraction,
        answer=answer,
        answer_by=source.config if source else None,
        is_answer_in_passage=any(segment.is_answer for segment in segments),
        others=tuple(row for row in grades if row.rating is not None and row is not grade),
        keys=(),
    )


def _grades(places: Sequence[Place]) -> list[list[Grade]]:
    """Return each cell's grades, and the labels of its passage, in the order of graders."""
    labels = dict(_label_wordings(tuple({item.topic_id for item, _ in places})))
    readable = {
        item.revision_id
        for item, _ in places
        if not item.revision.is_secret or sees_secrets(item.bank.collection_id)
    }
    passages = tuple({passage.pk for _, passage in places})
    rows = _grades_of((*readable, *labels.values()), passages)
    return [
        [
            row
            for row in rows
            if row.passage_id == passage.pk
            and row.revision_id in (item.revision_id, labels.get(item.topic_id))
        ]
        for item, passage in places
    ]


@compiled_once
def _label_wordings(topics: tuple[int, ...]) -> QuerySet[ItemRevision, tuple[int, int]]:
    """Return by topic the wording whose grades are labels of passages."""
    rows = ItemRevision.including_secret.filter(uid=DIRECT_UID, topic__in=topics)
    return rows.values_list("topic_id", "pk")


@compiled_once
def _grades_of(revisions: tuple[int, ...], passages: tuple[int, ...]) -> QuerySet[Grade]:
    rows = Grade.objects.filter(revision__in=revisions, passage__in=passages)
    rows = rows.select_related("config", "job__by", "revision")
    return rows.order_by("config__purpose", "config__llm", "config__prompt_class", "pk")


def _extraction(grades: list[Grade], config: GraderConfig | None, kind: ItemKind) -> Grade | None:
    """Return the answer that the config verifies, else one that the same model extracted for this kind."""
    extracted = [grade for grade in grades if grade.config.purpose == Purpose.EXTRACT]
    if config is None:
        return None
    if source := config.options.get(ANSWERS_BY):
        return next((grade for grade in extracted if grade.config.fingerprint == source), None)
    same = (grade for grade in extracted if grade.config.llm == config.llm)
    return next((grade for grade in same if kind in kinds_of(grade.config)), None)
