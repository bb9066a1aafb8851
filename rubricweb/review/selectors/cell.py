"""One cell: in full beside the grid, and as it stands in the grid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from grading.errors import UnknownPrompt
from grading.graders.registry import IMPORTED
from grading.in_context import parts_of, seen_of
from grading.types import MISSING, ItemKind, Ratings
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item, ItemChange
from rubricweb.corpus.duplicates import fellows, representative_of
from rubricweb.corpus.models import Passage, Topic
from rubricweb.corpus.pools import CollectionPool, TopicPool, collection_pool
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.missing import answers_for
from rubricweb.grades.human_matrices import RatingSource, decided
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.in_context import alone_of, occurrences
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.grades.raters import Rater
from rubricweb.grades.replies import RawReply, raw_replies
from rubricweb.grades.topic_ratings import without_contradictions
from rubricweb.grades.verification import PassageSegment
from rubricweb.grades.visibility import hidden_of_cell, visible_grades
from rubricweb.review.flags import open_counts
from rubricweb.review.selectors import CheckedSheet, GridQuery, OwnRating, confidences_of
from rubricweb.review.selectors.columns import GridColumn, columns_of
from rubricweb.review.selectors.graded import GradedCell, graded_cells
from rubricweb.review.selectors.grid import TopicGrid, graded_by_kind
from rubricweb.review.selectors.window import (
    PlacedCell,
    RunRank,
    retrieved,
)
from rubricweb.support.rationales import CheckedClaim, claims_of_replies


@dataclass(frozen=True, slots=True)
class PromptAndReply:
    """A prompt as the grader received it, and the reply."""

    config: GraderConfig
    grade: Grade
    prompt: str
    """Empty if it cannot be rendered again; `note` says why."""
    note: str
    reply: RawReply
    claims: tuple[CheckedClaim, ...] = ()
    """The claims of the reply, where a model was asked whether the passage holds them."""


@dataclass(frozen=True, slots=True)
class NearDuplicateCell:
    """The same item beside a near-duplicate of the passage."""

    passage_id: int
    doc_id: str
    rating: int | None
    """The rating by the cell's config; None without a grade, or where the reader may not see it."""
    difference: int | None
    """Between its rating and the cell's."""
    is_representative: bool
    """Whether a deduplicated file keeps it."""


@dataclass(frozen=True, eq=False)
class CellView(GradedCell):
    """The side panel."""

    prompts: tuple[PromptAndReply, ...]
    judgment: int | None
    runs: tuple[RunRank, ...]
    near_duplicates: tuple[NearDuplicateCell, ...] = ()
    """Near-duplicates in the same pool."""
    before: str = ""
    """What its answer says before the passage, of a passage in context."""
    alone_id: int = 0
    """The same passage without it."""
    is_hidden: bool = False
    """Graders' ratings are left out because the reader has to rate the cell blind."""

    def blinded(self) -> CellView:
        """Return a copy without graders' ratings."""
        return replace(
            self,
            segments=(PassageSegment("".join(part.text for part in self.segments), is_answer=False),),
            grade=None,
            answer="",
            extraction=None,
            answer_by=None,
            prompts=(),
            others=(),
            near_duplicates=tuple(
                replace(duplicate, rating=None, difference=None) for duplicate in self.near_duplicates
            ),
            is_hidden=True,
        )

    @property
    def near_duplicates_label(self) -> str:
        """Return a label such as "2 near-duplicates in this pool, 1 graded differently, by up to 2"."""
        n = len(self.near_duplicates)
        label = f"{n} near-duplicate{'' if n == 1 else 's'} in this pool"
        differences = [
            duplicate.difference for duplicate in self.near_duplicates if duplicate.difference is not None
        ]
        if not differences:
            return label
        n_other = sum(difference > 0 for difference in differences)
        if not n_other:
            return f"{label}, graded the same"
        return f"{label}, {n_other} graded differently, by up to {max(differences)}"


def cell_view(item: Item, passage: Passage, rater: Rater) -> CellView:
    """Return the cell in full.

    `item` needs its revision, topic, bank and collection; `passage` is one of `access.passage_for`.
    """
    (graded,) = graded_cells([(item, passage)], rater)
    collection = collection_pool(item.bank.collection)
    pool = collection.by_topic[item.topic_id]
    parts = parts_of(passage.text)
    rows = dict.fromkeys((graded.grade, graded.extraction))
    return CellView(
        **vars(graded),
        prompts=_prompts([row for row in rows if row], item, passage),
        judgment=pool.judgments.get(passage.doc_id),
        runs=_runs(item, passage, collection),
        before=parts.before if parts else "",
        alone_id=alone_of(passage) if parts else 0,
        near_duplicates=_near_duplicates(item, passage, graded.grade, pool),
    )


def _runs(item: Item, passage: Passage, collection: CollectionPool) -> tuple[RunRank, ...]:
    pool = collection.by_topic[item.topic_id]
    if passage.doc_id in pool.row_of:
        return tuple(retrieved(pool, collection.run_tags, pool.row_of[passage.doc_id]))
    tags = dict(zip(collection.run_pks, collection.run_tags, strict=True))
    places = occurrences(item.bank.collection, item.topic_id, passage)
    return tuple(RunRank(tags[place.run_id], place.rank) for place in places)


def _near_duplicates(
    item: Item, passage: Passage, grade: Grade | None, pool: TopicPool
) -> tuple[NearDuplicateCell, ...]:
    near = fellows(passage.pk, pool.passage_pks)
    if not near:
        return ()
    ratings: dict[int, int | None] = {}
    if grade is not None:
        rows = Grade.objects.filter(revision=item.revision_id, config=grade.config_id, passage__in=near)
        visible = visible_grades(rows, item.bank.collection_id)
        ratings = dict(visible.values_list("passage", "rating"))
    own, doc_ids = grade.rating if grade else None, dict(zip(pool.passage_pks, pool.doc_ids, strict=True))
    kept = representative_of(passage.pk, item.bank.collection)
    return tuple(
        NearDuplicateCell(
            pk, doc_ids[pk], other := ratings.get(pk), _difference(own, other), doc_ids[pk] == kept
        )
        for pk in near
    )


def _difference(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else abs(first - second)


def _prompts(grades: list[Grade], item: Item, passage: Passage) -> tuple[PromptAndReply, ...]:
    replies = raw_replies(grades)
    checked = claims_of_replies(item.topic, item.revision.text, passage.doc_id, replies)
    return tuple(
        PromptAndReply(
            grade.config,
            grade,
            *_prompt_and_note(grade, item, passage),
            replies[grade.pk],
            tuple(checked.get(grade.pk, ())),
        )
        for grade in grades
    )


def _prompt_and_note(grade: Grade, item: Item, passage: Passage) -> tuple[str, str]:
    """Return the prompt and the note beside it."""
    config = grade.config
    try:
        prompt = spec_of(config).prompt
    except UnknownPrompt:
        return "", "The file names this prompt class, whose text is unknown here."
    if not item.revision.text:
        return "", "The text of this item is unknown, and so is the prompt."
    answer = answers_for(config, [item.revision_id], [passage.pk]).get((item.revision_id, passage.pk))
    pair = chunks.with_call(
        grade, chunks.pair(item.topic, item.revision, passage, ItemKind(item.kind), answer)
    )
    context = None if grade.context_chars is None else seen_of(passage.text, grade.context_chars)
    note = f"{prompt.prompt_id}. {prompt.source}."
    if config.backend == IMPORTED:
        note += " The file names only the prompt class. The model may have seen another text."
    if pair is None:
        return "", f"{note} What else its prompt had is hidden from you, or has changed since."
    return prompt.render(pair, context), note


def cell_of_grid(bank: Bank, topic: Topic, rater: Rater, query: GridQuery, reader: User) -> PlacedCell | None:
    """Return the cell that `query.at` names."""
    collection = collection_pool(bank.collection)
    pool = collection.by_topic[topic.pk]
    passage, item = query.at or (0, 0)
    columns = [replace(column, at=0) for column in columns_of(bank, topic, query) if column.pk == item]
    if passage not in pool.passage_pks or not columns:
        return None
    row, (column,) = pool.passage_pks.index(passage), columns
    config = rater.by_kind.get(column.kind)
    grades = graded_by_kind(collection, topic, rater).get(column.kind)
    events = HumanGrade.objects.filter(revision=column.revision_pk, passage=passage).order_by("number")
    place = (column.revision_pk, passage)
    hidden = hidden_of_cell(reader, topic, *place)
    events = events.filter(by=reader) if hidden.ratings else events
    now = {event.by_id: event for event in events}
    sheet = _sheet(_of_grader(config, grades, column, row), config, list(now.values()), reader)
    source = RatingSource(query.source)
    by_people = source is RatingSource.HUMANS or (source is RatingSource.CORRECTED and sheet.checked.any())
    outcomes = sheet.by_people if by_people else sheet.graded
    sheet = replace(sheet, ratings=without_contradictions(outcomes), outcomes=outcomes)
    mine = now.get(reader.pk)
    last = OwnRating(mine.number, mine.rating, mine.verdict, mine.is_withdrawn) if mine else None
    own = {place: last} if last else {}
    grid = TopicGrid(collection, pool, (column,), sheet, own, rater, query, hidden)
    (cell,) = grid.window([column], [row], open_counts(bank, topic.pk)).cells(row, 0)
    return PlacedCell(passage, pool.doc_ids[row], column, cell)


Graded = tuple[int, int, bool]
"""The grader's rating and confidence, and whether it rated an older wording."""


def _of_grader(
    config: GraderConfig | None, grades: TopicGrades | None, column: GridColumn, row: int
) -> Graded:
    if config is None or grades is None:
        return MISSING, MISSING, False
    changes = ItemChange.objects.filter(item=column.pk).exclude(revision=column.revision_pk)
    older = sorted(set(changes.values_list("revision__uid", flat=True)))
    return (
        int(grades.matrix.columns([column.uid]).outcomes[row, 0]),
        int(confidences_of(config, grades).columns([column.uid]).ratings[row, 0]),
        bool((grades.matrix.columns(older).ratings[row] >= 0).any()),
    )


def _sheet(
    graded: Graded, config: GraderConfig | None, events: list[HumanGrade], reader: User
) -> CheckedSheet:
    """Return the sheet of one cell; `events` has the latest one of each person."""
    rating, confidence, is_older = graded
    standing = sorted((event for event in events if not event.is_withdrawn), key=lambda event: event.pk)
    by_people = decided(standing)
    is_wrong = config is not None and any(
        event.rating is None and (event.config_id, event.seen_rating) == (config.pk, rating)
        for event in standing
    )
    return CheckedSheet(
        _single(rating),
        np.zeros(1, dtype=np.int16),
        min_relevant=0,
        min_grades=_single(MISSING)[0],  # one cell alone is not measured
        outcomes=_single(rating),
        graded=_single(rating),
        by_people=_single(MISSING if by_people is None else by_people),
        checked=np.array([[by_people is not None or is_wrong]]),
        confidences=_single(confidence),
        older=np.array([[is_older]]),
        mine=np.array([[any(event.by_id == reader.pk for event in standing)]]),
    )


def _single(value: int) -> Ratings:
    return np.full((1, 1), value, dtype=np.int8)
