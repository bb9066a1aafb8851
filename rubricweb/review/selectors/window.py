"""The rows and cells of a grid's window, ready to print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from django.db.models import QuerySet
from django.db.models.functions import Left
from numpy.typing import NDArray

from grading.types import ANSWERED, CONTRADICTS, FAILED, MISSING, Outcome
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted, rating_sign, rating_words
from rubricweb.corpus.models import Passage
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades import human_matrices, visibility
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater
from rubricweb.grades.topic_ratings import UNJUDGED, Mask
from rubricweb.review.flags import OpenCounts
from rubricweb.review.selectors import CheckedSheet, OwnRating, OwnRatings
from rubricweb.review.selectors.columns import GridColumn

DASH = "\N{EN DASH}"
SHOWN_RUNS = 3
NO_RANK = np.iinfo(np.int32).max
CACHED_RANKS = 64
FIRST_CHARACTERS = 120

Marks = dict[tuple[int, int], str]
"""The outcome by (revision, passage), unless the model replied with the digit itself."""


@dataclass(frozen=True, slots=True, eq=False)
class GridCell:
    """What a cell shows, wherever it stands: the cells of a window that show the same are one object."""

    text: str
    state: str
    """`0` to `5`, `missing`, `failed` or `hidden`; of an answer one of ANSWER_SIGNS."""
    description: str
    """What it shows and what is remarked, after the names of its passage and item."""
    mark: str = ""
    """The outcome, unless the model replied with the digit itself."""
    marks: str = ""
    """Words of MARKED, separated by spaces."""
    counting: str = ""
    """The state by people's rating where that overrides the one shown: it gives the cell its colour."""
    own: str = ""
    """The reader's rating, else people's, if it differs from the one shown."""
    seen: int = 0
    """The number of the reader's latest event."""
    flags: int = 0

    @property
    def shade(self) -> str:
        """Return the grade that gives the cell its colour."""
        state = self.counting or self.state
        return ANSWER_SHADES.get(state, state)


CellKey = tuple[int, bool, str, int, tuple[str, ...], OwnRating | None, bool, int]
"""All that tells what a cell shows: the rating and whether its answer is empty, the outcome, what people say,
remarks, the reader's own rating, whether it is blind, and the number of flags."""


@dataclass(frozen=True, slots=True)
class PlacedCell:
    """One cell by itself, with where it stands."""

    passage_pk: int
    doc_id: str
    column: GridColumn
    cell: GridCell

    @property
    def id(self) -> str:
        return f"c{self.passage_pk}-{self.column.pk}"

    @property
    def name(self) -> str:
        return f"passage {self.doc_id}, {self.column.name}, {self.cell.description}"


@dataclass(frozen=True, slots=True)
class RunRank:
    run_tag: str
    rank: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Passages of one human judgment."""

    judgment: int | None
    is_relevant: bool
    passages: int


@dataclass(frozen=True, slots=True)
class Row:
    """One passage."""

    number: int
    passage_pk: int
    doc_id: str
    judgment: int | None
    is_relevant: bool
    is_uncovered: bool
    label: int
    covered: int
    runs: tuple[RunRank, ...]
    """The first few, where the rows show them."""
    run_count: int
    cells: tuple[GridCell, ...]
    flags: int
    excerpt: str
    """The first ones of its text."""
    group: RowGroup | None = None
    """The group that the passage opens in the window; None for its other passages."""


@dataclass(frozen=True, eq=False)
class Window:
    """Everything that the rows of one window are made from."""

    pool: TopicPool
    run_tags: tuple[str, ...]
    sheet: CheckedSheet
    columns: tuple[GridColumn, ...]
    marks: Marks
    flags: OpenCounts
    own: OwnRatings
    source: human_matrices.RatingSource
    blind: visibility.Pairs
    """Cells whose grades the reader may not see yet."""
    excerpts: Mapping[int, str]
    """The beginnings of the passages' texts."""
    shows_runs: bool
    kept: dict[CellKey, GridCell] = field(default_factory=dict)

    @cached_property
    def remarked(self) -> Mask:
        """Return which rows of the sheet have a remark."""
        masks = [getattr(self.sheet, name) for name in MARKED]
        return np.asarray(np.any(masks, axis=(0, 2)))

    def row(self, row: int, number: int) -> Row:
        sheet, ranks = self.sheet, retrieved(self.pool, self.run_tags, row) if self.shows_runs else []
        judgment = int(sheet.judged[row])
        return Row(
            number=number,
            passage_pk=self.pool.passage_pks[row],
            doc_id=self.pool.doc_ids[row],
            judgment=None if judgment == UNJUDGED else judgment,
            is_relevant=bool(sheet.relevant[row]),
            is_uncovered=bool(sheet.uncovered[row]),
            label=int(sheet.labels[row]),
            covered=int(sheet.covers[row].sum()),
            runs=tuple(ranks[:SHOWN_RUNS]),
            run_count=len(ranks),
            cells=self.cells(row, row),
            flags=self.flags.passages.get(self.pool.passage_pks[row], 0),
            excerpt=self.excerpts.get(self.pool.passage_pks[row], ""),
        )

    def cells(self, row: int, at: int) -> tuple[GridCell, ...]:
        """Return the cells of a row of the pool, which is row `at` of the sheet."""
        passage, remarks = self.pool.passage_pks[row], dict(self._remarks(at))
        outcomes, by_people = self.sheet.outcomes[at].tolist(), self.sheet.by_people[at].tolist()
        is_empty = None if self.sheet.is_empty is None else self.sheet.is_empty[at].tolist()
        cells = []
        for column in self.columns:
            pair, place = (column.revision_pk, passage), column.at
            key: CellKey = (
                outcomes[place],
                is_empty is not None and is_empty[place],
                self.marks.get(pair, ""),
                by_people[place],
                remarks.get(place, ()) if column.text else (*remarks.get(place, ()), WORDLESS),
                self.own.get(pair),
                pair in self.blind,
                self.flags.cells.get((column.pk, passage), 0),
            )
            cell = self.kept.get(key)
            if cell is None:
                cell = self.kept[key] = self._cell(key)
            cells.append(cell)
        return tuple(cells)

    def _cell(self, key: CellKey) -> GridCell:
        rating, is_empty, mark, by_people, marked, own, is_blind, flags = key
        is_rating = self.sheet.is_empty is None or (rating >= 0 and not self.sheet.has_verdicts)
        if is_blind:
            cell, marked = GridCell("", "hidden", "hidden until you rate it"), ()
        elif state := "" if is_rating else answer_state(rating, is_empty=is_empty):
            cell = GridCell(ANSWER_SIGNS[state], state, ANSWER_WORDS[state])
        else:
            mark = mark if self.source is human_matrices.RatingSource.GRADER else ""
            rated = (str(rating), str(rating), f"grade {rating}{mark and f', {mark}'}", mark)
            cell = GridCell(*UNRATED.get(rating, rated))
        if marked or own is not None:
            cell = self._remarked(cell, by_people, marked, own)
        if flags:
            flagged = f"{cell.description}, {counted(flags, 'open flag')}"
            cell = replace(cell, flags=flags, description=flagged)
        return cell

    def _word(self, rating: int) -> str:
        """Return what people say of a cell: a rating, or whether its answer is right."""
        return ("wrong", "right")[rating] if self.sheet.has_verdicts else rating_words(rating)

    def _state(self, rating: int) -> str:
        """Return the state of a cell by what people say of it."""
        if self.sheet.has_verdicts:
            return self._word(rating)
        return "contradicts" if rating == CONTRADICTS else str(rating)

    def _sign(self, rating: int) -> str:
        return ANSWER_SIGNS[self._word(rating)] if self.sheet.has_verdicts else rating_sign(rating)

    def _remarks(self, row: int) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield the remarks of each column of the sheet that has any."""
        sheet = self.sheet
        if not self.remarked[row]:
            return
        masks = {name: getattr(sheet, name)[row].tolist() for name in MARKED}
        for at in range(sheet.ratings.shape[1]):
            if names := tuple(name for name, mask in masks.items() if mask[at]):
                yield at, names

    def _remarked(
        self, cell: GridCell, by_people: int, marked: tuple[str, ...], own: OwnRating | None
    ) -> GridCell:
        mine = own.rating if own is not None and own.rating is not None else MISSING
        signs = [self._sign(rating) for rating in (mine, by_people) if rating != MISSING]
        others = [sign for sign in signs if sign != cell.text]
        is_wrong = own is not None and own.verdict == HumanGrade.Verdict.WRONG and mine == MISSING
        remarks = [NO_TEXT if name == WORDLESS else MARKED[name] for name in marked]
        remarks += [f"people say {self._word(by_people)}"] if by_people != MISSING else []
        remarks += (
            [f"you say {self._word(mine)}"] if mine != MISSING else ["you say wrong"] if is_wrong else []
        )
        is_overridden = "overridden" in marked and by_people != MISSING
        return replace(
            cell,
            description=", ".join((cell.description, *remarks)),
            marks=" ".join(marked),
            counting=self._state(by_people) if is_overridden else "",
            own=others[0] if others else "",
            seen=own.number if own is not None else 0,
        )


MARKED = {
    "verified": "verified",
    "overridden": "overridden",
    "unsure": "low confidence",
    "stale": "an earlier wording is graded",
}
"""Masks of a CheckedSheet, as words that cells show."""
WORDLESS = "wordless"
NO_TEXT = "the item has no text yet: supply it before you rate it"


ANSWER_SIGNS = {"right": "=", "wrong": "≠", "none": "∅", "answered": "A"}
"""The sign of each state of an extracted answer: equal to the key or not, empty, or without a verdict."""
ANSWER_SHADES = {"right": "4", "wrong": "0", "none": "missing", "answered": "1"}
"""The grade that gives each sign its colour: covered, not covered, or nothing there."""
ANSWER_WORDS = {
    "right": "answer judged right",
    "wrong": "answer judged wrong",
    "none": "no answer in the passage",
    "answered": "an answer, not verified",
}
UNRATED = {
    MISSING: (DASH, "missing", "not graded"),
    FAILED: ("✕", "failed", "grading failed"),
    ANSWERED: (ANSWER_SIGNS["answered"], "answered", ANSWER_WORDS["answered"]),
    CONTRADICTS: (rating_sign(CONTRADICTS), "contradicts", "contradicts the item"),
}
"""What a cell without a rating shows, its state, and this in words."""


def answer_state(rating: int, *, is_empty: bool) -> str:
    """Return the state of a cell by its verdict; empty where there is no answer to judge."""
    if rating == 1:
        return "right"
    if is_empty:
        return "none"
    return {0: "wrong", ANSWERED: "answered"}.get(rating, "")


def marks(rater: Rater, columns: Iterable[GridColumn], passages: Iterable[int]) -> Marks:
    """Return the ratings in the window that are not the model's own digit, in one query."""
    graded = [column for column in columns if column.kind in rater.by_kind]
    configs = tuple({rater.by_kind[column.kind].pk for column in graded})
    rows = _marks(configs, tuple(column.revision_pk for column in graded), tuple(passages))
    return {(revision, passage): outcome for revision, passage, outcome in rows}


@compiled_once
def _marks(
    configs: tuple[int, ...], revisions: tuple[int, ...], passages: tuple[int, ...]
) -> QuerySet[Grade, tuple[int, int, str]]:
    rows = Grade.objects.filter(config__in=configs, revision__in=revisions, passage__in=passages)
    marked = rows.filter(outcome__in=(Outcome.DEFAULTED, Outcome.UNANSWERABLE))
    return marked.values_list("revision_id", "passage_id", "outcome")


def excerpts(passages: Iterable[int]) -> dict[int, str]:
    """Return the beginnings of the passages' texts by their keys."""
    return {pk: " ".join(text.split()) for pk, text in _beginnings(tuple(passages))}


@compiled_once
def _beginnings(passages: tuple[int, ...]) -> QuerySet[Passage, tuple[int, str]]:
    rows = Passage.objects.filter(pk__in=passages)
    return rows.values_list("pk", Left("text", FIRST_CHARACTERS))


@lru_cache(maxsize=CACHED_RANKS)
def ranks(pool: TopicPool) -> NDArray[np.int32]:
    """Return the ranks of each passage, shape (passages, runs), from 1; NO_RANK where the run lacks it."""
    ranks = np.full((len(pool.doc_ids), pool.n_runs), NO_RANK, dtype=np.int32)
    for run, rows in enumerate(pool.ranked_rows):
        places = np.flatnonzero(rows >= 0)
        np.minimum.at(ranks[:, run], rows[places], places.astype(np.int32) + 1)
    return ranks


def retrieved(pool: TopicPool, run_tags: tuple[str, ...], row: int) -> list[RunRank]:
    """Return the runs that retrieved a passage, best rank first."""
    of_row = ranks(pool)[row]
    order = np.argsort(of_row, kind="stable")[: int((of_row != NO_RANK).sum())]
    return [RunRank(run_tags[run], int(of_row[run])) for run in order.tolist()]
