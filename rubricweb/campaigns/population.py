"""A campaign's choice as cells in order, each with its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from grading.measures import cover
from grading.statistics.cover_estimate import COVER_CELLS
from grading.statistics.cover_sample import Ranked, cover_sample, drawn
from grading.types import FAILED, MISSING, USUAL_MIN_GRADE, ItemKind, Ratings
from rubricweb.banks.models import Bank
from rubricweb.campaigns import ordering
from rubricweb.campaigns.models import SAMPLES, Campaign
from rubricweb.campaigns.ordering import Cells, Floats, Scores, sampled_units
from rubricweb.campaigns.ratable import RatableItem, confidences, grades_by_kind, ratable_items, readable_pool
from rubricweb.corpus.models import Topic
from rubricweb.corpus.pools import TopicPool
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.human_models import Draw
from rubricweb.grades.panels import is_panel, members
from rubricweb.grades.raters import Rater, raters
from rubricweb.grades.topic_ratings import judged, ratings_of

Order, PassageOrder, Taken = Campaign.Order, Campaign.PassageOrder, Campaign.Cells


@dataclass(frozen=True, slots=True)
class CellChoice:
    """The cells that an organizer chose."""

    bank: Bank
    topics: tuple[Topic, ...]
    kinds: frozenset[ItemKind]
    rater: Rater
    cells: Campaign.Cells = Taken.ALL
    order: Campaign.Order = Campaign.DEFAULT_ORDER
    min_grade: int = USUAL_MIN_GRADE
    cutoff: int = 20
    passage_order: Campaign.PassageOrder = PassageOrder.TOPIC
    size: int | None = None
    """How many cells; None for all."""
    random_share: float = 0.2
    drawn_by: str = ""
    """How the topics were drawn; empty where they were chosen by hand."""

    @property
    def design(self) -> Draw.Design | None:
        """Return the sampling design of its random cells; None if they are drawn from a part of the cells."""
        designs = {
            Taken.ALL: Draw.Design.CELLS,
            Taken.COVER: Draw.Design.COVER,
            Taken.ANSWERS: Draw.Design.ANSWERS,
            Taken.PASSAGES: Draw.Design.PASSAGES,
        }
        return designs.get(self.cells)


@dataclass(frozen=True, slots=True)
class ChosenCell:
    """A cell by primary keys; `item` has the wording `revision`."""

    topic: int
    item: int
    revision: int
    passage: int
    reason: str
    probability: float
    """The probability of the random draw; 0 for other cells."""
    config: int | None

    @property
    def is_random(self) -> bool:
        return self.probability > 0


@dataclass(frozen=True, slots=True)
class ChosenCells:
    cells: tuple[ChosenCell, ...]
    population: int
    revisions: tuple[int, ...] = ()
    """The wordings whose cells could have been drawn."""
    passages: tuple[int, ...] = ()
    """The passages likewise; empty for those of the pool."""
    half_width: float | None = None
    """Half the expected width of a middling run's interval; None where it is not known before."""
    textless: int = 0
    """Cells of the chosen topics that nobody can rate, since their passages have no text."""


@dataclass(frozen=True, eq=False)
class TopicPopulation:
    """One topic: its items and their cells as the graders rated them."""

    pool: TopicPool
    columns: tuple[RatableItem, ...]
    cells: Cells


def chosen(choice: CellChoice, *, seed: int) -> ChosenCells:
    """Draw and order the cells."""
    return drawn_from(ChoiceInputs(choice), seed=seed)


def drawn_from(gathered: ChoiceInputs, *, seed: int) -> ChosenCells:
    """Draw the cells, and put them into the order in which assessors meet them."""
    drawn = _cells_drawn(gathered, seed)
    textless = sum(
        n * len(gathered.columns.get(topic, ()))
        for topic, n in gathered.textless.items()
        if topic in gathered.chosen_topics
    )
    passages = drawn.passages
    if textless and not passages:  # an estimate must know that these could not be drawn
        passages = tuple(sorted({pk for sheet in gathered.sheets for pk in sheet.pool.passage_pks}))
    cells = in_passage_order(gathered, drawn.cells)
    return replace(drawn, cells=cells, passages=passages, textless=textless)


def in_passage_order(gathered: ChoiceInputs, cells: tuple[ChosenCell, ...]) -> tuple[ChosenCell, ...]:
    """Put the cells of each passage together, in the order of the bank's items.

    The passages of a topic, or those of equal value for the leaderboard, keep the order of their first cell.
    The value of a passage is the sum of the expected changes of the leaderboard by its chosen cells.
    """
    order = gathered.choice.passage_order
    if order == PassageOrder.CELL:
        return cells
    first: dict[tuple[int, int], int] = {}
    for place, cell in enumerate(cells):
        first.setdefault((cell.topic, cell.passage), place)
    values = gathered.passage_values(cells) if order == PassageOrder.BOARD else {}
    topics = {sheet.pool.topic_id: number for number, sheet in enumerate(gathered.sheets)}
    items = {
        (sheet.pool.topic_id, column.revision): number
        for sheet in gathered.sheets
        for number, column in enumerate(sheet.columns)
    }

    def key(cell: ChosenCell) -> tuple[float, ...]:
        place = (cell.topic, cell.passage)
        before = -values[place] if values else topics[cell.topic]
        return (before, first[place], items[cell.topic, cell.revision])

    return tuple(sorted(cells, key=key))


def _cells_drawn(gathered: ChoiceInputs, seed: int) -> ChosenCells:
    choice = gathered.choice
    sheets = [sheet for sheet in gathered.sheets if sheet.pool.topic_id in gathered.chosen_topics]
    revisions = tuple(column.revision for sheet in sheets for column in sheet.columns)
    if choice.cells == Taken.COVER:
        return replace(_sample(choice, sheets, seed), revisions=revisions)
    if choice.cells in SAMPLES:
        return replace(_unit_sample(gathered, sheets, seed), revisions=revisions)
    masks = [_taken(sheet, choice) for sheet in sheets]
    places = [
        (number, int(row), int(column))
        for number, mask in enumerate(masks)
        for row, column in np.argwhere(mask)
    ]
    scored = [gathered.scored(sheet) for sheet in sheets]
    scores = np.concatenate(
        [topic_scores.scores[mask] for topic_scores, mask in zip(scored, masks, strict=True)] or [_NONE]
    )
    size = len(scores) if choice.size is None else choice.size
    share = 1.0 if choice.order == Order.RANDOM else choice.random_share
    drawn = ordering.draw(scores, size=size, random_share=share, seed=seed)
    cells = []
    for place, is_random in zip(drawn.places.tolist(), drawn.is_random.tolist(), strict=True):
        number, row, column = places[place]
        is_named_random = is_random and choice.order != Order.RANK
        reason = RANDOM if is_named_random else gathered.reason(sheets[number], scored[number], row, column)
        probability = drawn.probability if is_random else 0.0
        cells.append(_cell(choice, sheets[number], (row, column), reason, probability))
    return ChosenCells(tuple(cells), len(places), revisions)


def _sample(choice: CellChoice, sheets: Sequence[TopicPopulation], seed: int) -> ChosenCells:
    """Sample the cells of the runs' first k passages, as many as an estimate of Rubric-Cover needs."""
    ranked = [
        Ranked(sheet.cells.high, np.asarray(sheet.pool.ranked_rows[:, : choice.cutoff])) for sheet in sheets
    ]
    drawn = cover_sample(ranked, size=choice.size or COVER_CELLS, seed=seed)
    cells = [
        _cell(choice, sheets[cell.topic], (cell.row, cell.column), RANDOM, cell.probability) for cell in drawn
    ]
    population = sum(int(sheet.cells.in_top.any(axis=0).sum()) * len(sheet.columns) for sheet in sheets)
    return ChosenCells(tuple(cells), population)


def _unit_sample(gathered: ChoiceInputs, sheets: Sequence[TopicPopulation], seed: int) -> ChosenCells:
    """Sample the units that scores of the runs are sums over: single cells of answers, or whole passages."""
    choice = gathered.choice
    units = sampled_units(
        [sheet.cells for sheet in sheets],
        [ordering.flip_chances(sheet.cells, gathered.checked) for sheet in sheets],
        are_passages=choice.cells == Taken.PASSAGES,
        n_cells=choice.size,
    )
    cells = [
        _cell(choice, sheets[number], place, RANDOM, float(units.chances[unit]))
        for unit in drawn(units.chances, units.size, seed=seed).tolist()
        for number, place in units.cells[unit]
    ]
    passages = {sheets[number].pool.passage_pks[row] for of in units.cells for number, (row, _) in of}
    population = sum(len(of) for of in units.cells)
    return ChosenCells(tuple(cells), population, (), tuple(sorted(passages)), units.half_width)


RANDOM = "random sample"
_NONE = np.zeros(0)


def _taken(sheet: TopicPopulation, choice: CellChoice) -> ordering.Mask:
    cells, which = sheet.cells, choice.cells
    if which == Taken.DECIDING:
        best = cover.deciding_rows(sheet.cells.ratings, sheet.pool.ranked_rows, cutoff=choice.cutoff)
        deciding = np.zeros(sheet.cells.ratings.shape, dtype=np.bool_)
        runs, columns = np.nonzero(best >= 0)
        deciding[best[runs, columns], columns] = True
        return deciding
    if which == Taken.HIGH:
        return cells.high
    if which == Taken.UNSURE:
        return ordering.unsure(cells)
    if which == Taken.DISAGREEING:
        return ordering.disagreeing(cells)
    return np.ones(cells.ratings.shape, dtype=np.bool_)


def _cell(
    choice: CellChoice, sheet: TopicPopulation, place: tuple[int, int], reason: str, probability: float
) -> ChosenCell:
    column = sheet.columns[place[1]]
    config = choice.rater.rating_config(column.item_column.kind)
    return ChosenCell(
        topic=sheet.pool.topic_id,
        item=column.item,
        revision=column.revision,
        passage=sheet.pool.passage_pks[place[0]],
        reason=reason,
        probability=probability,
        config=config.pk if config else None,
    )


class ChoiceInputs:
    """Everything that a choice needs, read with a fixed number of queries."""

    def __init__(self, choice: CellChoice) -> None:
        self.choice = choice
        self.chosen_topics = {topic.pk for topic in choice.topics}
        self.pool, self.textless = readable_pool(choice.bank.collection)
        self.columns = ratable_items(choice.bank, choice.kinds)

    @cached_property
    def sheets(self) -> list[TopicPopulation]:
        """Return all topics with items, whether chosen or not: the leaderboard uses all of them."""
        by_rater = [grades_by_kind(rater, self.pool) for rater in self._raters]
        confidence = confidences(self.choice.rater, self.columns)
        sheets = []
        for topic in self.pool.topics:
            columns = self.columns.get(topic.topic_id, ())
            if not columns or not topic.doc_ids:
                continue
            item_columns, size = tuple(column.item_column for column in columns), len(topic.doc_ids)
            grades = [{kind: by[topic.topic_id] for kind, by in rater.items()} for rater in by_rater]
            ratings = [ratings_of(grades_by_kind, item_columns, size) for grades_by_kind in grades]
            revisions = [column.revision for column in columns]
            values = [confidence.get((r, p), np.nan) for p in topic.passage_pks for r in revisions]
            placed_confidences = np.array(values, dtype=np.float64).reshape(len(topic.doc_ids), len(columns))
            cells = self._cells(topic, ratings, placed_confidences)
            sheets.append(TopicPopulation(topic, columns, cells))
        return sheets

    @property
    def _raters(self) -> list[Rater]:
        """Return the raters, the chosen one first; others with which it can disagree have the same purpose.

        Those of a panel are its members, and a panel disagrees with no grader that is none.
        """
        mine, purpose = {config.pk for config in self.choice.rater.configs}, self.choice.rater.purpose
        same = (rater for rater in raters(self.choice.bank) if rater.purpose is purpose)
        others = [rater for rater in same if not mine & {config.pk for config in rater.configs}]
        panels = [config for config in self.choice.rater.configs if is_panel(config)]
        if panels:
            voters = {voter.pk for panel in panels for voter in members(panel) if voter}
            others = [rater for rater in others if voters & {config.pk for config in rater.configs}]
        return [self.choice.rater, *others]

    def _cells(self, topic: TopicPool, ratings: list[Ratings], confidence: Floats) -> Cells:
        return Cells(
            ratings=ratings[0],
            confidence=confidence,
            others=tuple(ratings[1:]),
            judged=judged(topic),
            in_top=topic.top(self.choice.cutoff),
            min_relevant=self.choice.bank.collection.min_relevant,
            min_grade=self.choice.min_grade,
        )

    def scored(self, sheet: TopicPopulation) -> Scores:
        """Return the priority of each cell."""
        cells, none = sheet.cells, np.full(sheet.cells.ratings.shape, -1)
        if self.choice.order == Order.RANK:
            ranked = sheet.pool.ranked_rows[:, : self.choice.cutoff]
            return Scores(ordering.by_rank(cells, ranked), none)
        if self.choice.order == Order.CONFIDENCE:
            return Scores(ordering.by_confidence(cells), none)
        if self.choice.order == Order.DISAGREEMENT:
            return Scores(ordering.by_disagreement(cells), none)
        if self.choice.order == Order.LEADERBOARD:
            return self._by_leaderboard(sheet)
        return Scores(np.zeros(cells.ratings.shape), none)

    def _by_leaderboard(self, sheet: TopicPopulation) -> Scores:
        chances = ordering.flip_chances(sheet.cells, self.checked)
        return ordering.by_leaderboard(sheet.cells, chances, self.means, len(self.sheets))

    def passage_values(self, cells: Iterable[ChosenCell]) -> dict[tuple[int, int], float]:
        """Return the expected change of the leaderboard by these cells together, by topic and passage."""
        changes = {}
        for sheet in self.sheets:
            topic, scores = sheet.pool.topic_id, self._by_leaderboard(sheet).scores
            for passage, row in zip(sheet.pool.passage_pks, scores.tolist(), strict=True):
                for column, score in zip(sheet.columns, row, strict=True):
                    changes[topic, passage, column.revision] = score
        values: dict[tuple[int, int], float] = defaultdict(float)
        for cell in cells:
            values[cell.topic, cell.passage] += changes[cell.topic, cell.passage, cell.revision]
        return values

    @cached_property
    def means(self) -> Floats:
        """Return Rubric-Cover@k of each run over the topics with items."""
        return self.scores.mean(axis=1) if self.sheets else _NONE

    @cached_property
    def scores(self) -> Floats:
        """Return Rubric-Cover@k, shape (runs, topics with items)."""
        scores = [
            cover.cover(
                sheet.cells.ratings,
                sheet.pool.ranked_rows,
                cutoff=self.choice.cutoff,
                min_grade=self.choice.min_grade,
            )
            for sheet in self.sheets
        ]
        return np.column_stack(scores) if scores else np.zeros((0, 0))

    @cached_property
    def checked(self) -> Floats:
        human = human_matrices(self.pool)
        pairs = [
            (
                sheet.cells.ratings,
                human[sheet.pool.topic_id].matrix.columns([c.item_column.uid for c in sheet.columns]).ratings,
            )
            for sheet in self.sheets
        ]
        return ordering.checked_levels(pairs, self.choice.min_grade)

    def reason(self, sheet: TopicPopulation, scored: Scores, row: int, column: int) -> str:
        """Return why the cell was chosen, revealing neither the grader's rating nor a run's name.

        By rank most cells are at or above the threshold, so that those drawn at random say the same as they.
        """
        cells, pair = sheet.cells, int(scored.pairs[row, column])
        if self.choice.order == Order.LEADERBOARD and pair >= 0:
            return f"Could swap ranks {pair + 1} and {pair + 2} of the leaderboard."
        if cells.ratings[row, column] == FAILED:
            return "The grader failed here."
        if self.choice.order == Order.DISAGREEMENT and scored.scores[row, column] > 0:
            return "Graders disagree, or grader and judgment."
        if self.choice.order == Order.CONFIDENCE and cells.confidence[row, column] < 1:
            return f"The grader is {cells.confidence[row, column]:.0%} sure."
        if cells.ratings[row, column] == MISSING:
            return "Not graded yet."
        return "Next in this campaign."
