"""One board then and now, with its tables: runs that score differently, the topics behind it, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from django.urls import reverse

from grading.arrays import none_if_nan
from grading.formats.tables import Mark, PrintedTable, TextCell, Value, from_mappings
from rubricweb.banks.models import Bank
from rubricweb.banks.versions import Piece, word_diff
from rubricweb.leaderboards import plots
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.sentences import headline
from rubricweb.leaderboards.comparison import changes
from rubricweb.leaderboards.comparison.changes import UNTOLD, CellChange, ExplainedItem, MovedRow
from rubricweb.leaderboards.influence import signed
from rubricweb.leaderboards.sheets import SheetColumn, possible_ranks, sheet

SHOWN_PARTS = 40
SHOWN_CELLS = 8
GAIN = (
    "max-T test over topics of what the runs gain on the mean of all runs, each board in standard "
    "deviations of its runs' means"
)
METHOD = f"possible: ranks that the topics leave open; p: {GAIN}"
SHADES = 5
"""The number of shades of a score by topic above 0: as many as there are grades."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run whose score differs, with its place on the axis of all of them."""

    pk: int
    moved: MovedRow
    dots: plots.Dots


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic on which some run has another score."""

    query_id: str
    text: str
    up: int
    down: int


@dataclass(frozen=True, slots=True)
class ItemEffect:
    """An item that the opened run's score differs by, with both wordings as one."""

    part: ExplainedItem
    pieces: Sequence[tuple[Piece, str]]


@dataclass(frozen=True, slots=True)
class TopicReasons:
    """Why the opened run's score on a topic differs: items, and of other measures passages."""

    topic_id: int
    query_id: str
    text: str
    then: float | None
    now: float | None
    items: tuple[ItemEffect, ...]
    same: tuple[ExplainedItem, ...]
    """Items that only count otherwise, since others came or went."""


@dataclass(frozen=True, slots=True)
class StripCell:
    """A topic in a strip, in per cent of its width; the shade is -1 where the topic does not count."""

    query_id: str
    score: float | None
    shade: int
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class OpenedRun:
    row: RunRow
    strips: tuple[tuple[str, float | None, tuple[StripCell, ...]], ...]
    """Then and now: a word, the score, and a cell a topic."""
    topics: tuple[TopicReasons, ...]
    parts: tuple[ExplainedItem, ...]
    """All that the difference is made of."""
    n_shown: int
    """How many of them are in `topics`."""


@dataclass(frozen=True, eq=False)
class Then:
    """A board before and after."""

    before: ScoredBoard
    after: ScoredBoard

    @cached_property
    def moved(self) -> list[MovedRow]:
        """Return every run, the largest moves first."""
        return changes.moved_rows(self.before, self.after)

    @cached_property
    def rows(self) -> list[RunRow]:
        """Return the runs with another score, the largest gain first."""
        rows = [row for row in self.moved if row.difference and round(row.difference, 12)]
        axis, pks = self.axis, dict(zip(self.after.run_tags, self.after.base.pool.run_pks, strict=True))
        placed = [
            RunRow(pks[row.run_tag], row, plots.dots(row.before or 0, row.after or 0, axis)) for row in rows
        ]
        return sorted(placed, key=lambda row: -(row.moved.difference or 0))

    @property
    def same(self) -> list[str]:
        """Return the runs without another score."""
        differing = {row.moved.run_tag for row in self.rows}
        return sorted(set(self.after.run_tags) - differing)

    @property
    def axis(self) -> list[float]:
        rows = [row for row in self.moved if row.difference]
        return plots.dots_axis(
            [score for row in rows for score in (row.before, row.after) if score is not None]
        )

    @property
    def ticks(self) -> list[plots.Tick]:
        return plots.dots_ticks(self.axis)

    @property
    def verdict(self) -> str:
        """Return what the board says of its runs, then and now."""
        if not self.rows:
            n = len(self.after.run_tags)
            return f"The same {n} score{'' if n == 1 else 's'}."
        then, now = (
            headline(row.top, row.ranks.topics if row.ranks else 0) for row in (self.before, self.after)
        )
        if then == now:
            return f"Then as now: {now}" if now else ""
        return f"{now} Before: {then}".strip()

    @property
    def facts(self) -> str:
        """Return how many runs have another score and place, and how many moves are clear."""
        n, n_moved = len(self.rows), sum(row.rose != 0 for row in self.moved)
        if not n:
            return ""
        clear = ""
        ranks = self.after.ranks
        can_tell = ranks is not None and ranks.can_tell
        if n_moved and can_tell and any(row.p is not None for row in self.moved):
            clear = f", {sum(row.is_sure for row in self.moved) or 'none'} of them clearly"
        have = "run has" if n == 1 else "runs have"
        return f"{n} of {len(self.moved)} {have} another score, {n_moved or 'none'} another place{clear}."

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """Name, before and after of what the two boards are made of."""
        before, after = self.before.spec, self.after.spec
        pairs = [
            ("grader", str(before.config), str(after.config)),
            ("bank", str(before.bank or "labels"), str(after.bank or "labels")),
            ("version", _version(before), _version(after)),
            ("ratings by", before.source.value, after.source.value),
            ("definition", _definition(before), _definition(after)),
            ("measure", provenance.measure_name(before), provenance.measure_name(after)),
            ("threshold", str(before.measure.min_grade), str(after.measure.min_grade)),
        ]
        return [pair for pair in pairs if pair[1] != pair[2]]

    @cached_property
    def topic_changes(self) -> list[TopicChange]:
        """Return the topics on which some run has another score, those of most runs first."""
        then, now = self._by_topic(self.before), self._by_topic(self.after)
        rows = []
        for topic in self.after.base.pool.topics:
            pair = then.get(topic.topic_id), now.get(topic.topic_id)
            if pair[0] is None or pair[1] is None:
                continue
            gains = np.nan_to_num(np.round(pair[1] - pair[0], 12))
            up, down = int((gains > 0).sum()), int((gains < 0).sum())
            if up or down:
                rows.append(TopicChange(topic.query_id, self.texts[topic.topic_id], up, down))
        return sorted(rows, key=lambda row: -(row.up + row.down))

    @cached_property
    def texts(self) -> dict[int, str]:
        return dict(self.after.spec.collection.topics.values_list("pk", "text"))

    def _by_topic(self, scored: ScoredBoard) -> dict[int, plots.Floats]:
        """Return the scores of all runs by topic id; of a board of subtopics the last one's."""
        return dict(zip(scored.table.topic_ids, scored.table.scores.T, strict=True))

    def opened(self, run_pk: int | None, *, has_all: bool) -> OpenedRun | None:
        """Return why the score of the run differs, or else that of the run that gained most."""
        row = next((row for row in self.rows if row.pk == run_pk), next(iter(self.rows), None))
        if row is None:
            return None
        parts = changes.explained(self.before, self.after, row.moved.run_tag)
        visible = parts if has_all else parts[:SHOWN_PARTS]
        place = self.after.run_tags.index(row.moved.run_tag)
        then, now = (
            {pk: none_if_nan(scores[place]) for pk, scores in self._by_topic(board).items()}
            for board in (self.before, self.after)
        )
        topics = []
        for pk in dict.fromkeys(part.topic_id for part in visible):
            of_topic = [part for part in visible if part.topic_id == pk]
            items = tuple(
                ItemEffect(part, word_diff(part.text_before, part.text) if part.text_before else ())
                for part in of_topic
                if not part.is_same_but_its_weight
            )
            same = tuple(part for part in of_topic if part.is_same_but_its_weight)
            ends = then.get(pk), now.get(pk)
            topics.append(TopicReasons(pk, of_topic[0].query_id, self.texts[pk], *ends, items, same))
        strips = (("then", row.moved.before, self._strip(then)), ("now", row.moved.after, self._strip(now)))
        return OpenedRun(row, strips, tuple(topics), tuple(parts), len(visible))

    def _strip(self, scores: dict[int, float | None]) -> tuple[StripCell, ...]:
        """Return the run's scores, the easiest topic of the board first."""
        by_topic = {pk: of for pk, of in self._by_topic(self.after).items() if not np.isnan(of).all()}
        order = sorted(by_topic, key=lambda pk: -float(np.nanmean(by_topic[pk])))
        width = 100 / max(len(order), 1)
        return tuple(
            StripCell(
                self.after.base.pool.by_topic[pk].query_id,
                scores.get(pk),
                _shade(scores.get(pk)),
                round(place * width, 2),
                round(width, 2),
            )
            for place, pk in enumerate(order)
        )

    def run_table(self, query: str = "") -> PrintedTable:
        """Return every run with its places and scores; a link explains its difference."""
        pks = dict(zip(self.after.run_tags, self.after.base.pool.run_pks, strict=True))
        columns: list[SheetColumn[MovedRow]] = [
            SheetColumn(
                "Run",
                "run_tag",
                lambda row: row.run_tag,
                lambda row: TextCell(row.run_tag, href=f"?{query}&a={pks[row.run_tag]}"),
            ),
            SheetColumn("Rank before", "rank_before", lambda row: row.rank_before),
            *possible_ranks("Possible before", "rank_before", lambda row: row.possible_before),
            SheetColumn("Rank after", "rank_after", lambda row: row.rank_after),
            *possible_ranks("Possible after", "rank_after", lambda row: row.possible_after),
            SheetColumn("Moved", "rose", lambda row: row.rose, _moved),
            SheetColumn("p", "p", lambda row: row.p),
            SheetColumn("", "is_sure", lambda row: int(row.is_sure)),
            SheetColumn("Score before", "score_before", lambda row: row.before),
            SheetColumn("Score after", "score_after", lambda row: row.after),
            SheetColumn(
                "Difference",
                "difference",
                lambda row: row.difference,
                lambda row: TextCell(signed(row.difference)),
            ),
        ]
        return sheet(
            "Runs",
            columns,
            self.moved,
            [*self._statements(), ("p", GAIN)],
            comments=(METHOD,),
            legend=((Mark.TIED, "clear"),),
        )

    def reason_table(self, opened: OpenedRun) -> PrintedTable:
        """Return what each item adds to the run's difference, with the cells that made it."""
        run_tag, rows, bank = opened.row.moved.run_tag, opened.parts[: opened.n_shown], self.after.spec.bank
        is_items = any(row.text for row in rows)
        heads = ("Item", "Topic") if is_items else ("Topic",)
        pairs = "Pairs" if is_items else "Passages labelled otherwise"
        note = (
            "ratings (of passages: labels) before and after the arrow, a dash for none; one number alone is "
            "the same on both boards, and counts on one"
        )
        # A line a part: their contributions sum to the difference of the run's scores.
        lines: list[dict[str, Value]] = [
            {
                "run_tag": opened.row.moved.run_tag,
                "topic": row.query_id,
                "text": UNTOLD if row.is_secret else row.text,
                "change": row.cause,
                "contribution": row.contribution,
                "cells": "" if row.is_secret else " ".join(_cell_text(cell) for cell in row.cells),
            }
            for row in opened.parts
        ]
        cells = "passage:before:after, ratings (of labels: labels), none where there is none"
        return PrintedTable(
            f"Why {run_tag} differs",
            (*heads, "Change", "Adds to the score", pairs),
            tuple(_reason(row, bank, is_items=is_items) for row in rows),
            len(heads) + 1,
            (note,),
            n_notes=1,
            data=from_mappings(lines, [*self._statements(), ("cells", cells)]),
        )

    def _statements(self) -> list[tuple[str, str]]:
        """Return what the board after stands on, and what was different before."""
        ours = provenance.scored_statements(self.after)
        theirs = dict(provenance.scored_statements(self.before))
        was = [(f"before: {name}", theirs[name]) for name, value in ours if theirs.get(name, value) != value]
        return [*ours, *was]

    def dots_file(self) -> str:
        """Return the plot of the runs as an SVG file."""
        rows = [(row.moved.run_tag, row.moved.before or 0.0, row.moved.after or 0.0) for row in self.rows]
        return plots.dots_file("Scores then (hollow) and now (full)", rows)


def _version(spec: BoardSpec) -> str:
    return f"{spec.version} ({spec.version.at:%-d %b %Y, %H:%M})" if spec.version else "as of now"


def _definition(spec: BoardSpec) -> str:
    return provenance.DEFINITIONS[spec.measure.definition]


def _shade(score: float | None) -> int:
    """Return 0 for 0, 1 to 5 for what is above, -1 where the topic does not count.

    >>> [_shade(score) for score in (None, 0.0, 0.05, 0.5, 1.0)]
    [-1, 0, 1, 3, 5]
    """
    if score is None:
        return -1
    return 0 if score <= 0 else min(SHADES, 1 + int(score * SHADES))


def _reason(row: ExplainedItem, bank: Bank | None, *, is_items: bool) -> tuple[TextCell, ...]:
    grid = reverse("review:topic", args=[bank.pk, row.topic_id], query={"view": "grid"}) if bank else ""
    cells = [_cell(cell, row, bank) for cell in row.cells[:SHOWN_CELLS]]
    if len(row.cells) > len(cells):
        cells.append((f"and {len(row.cells) - len(cells)} more", ""))
    links = tuple(cells) if any(href for _, href in cells) else ()
    texts = TextCell(", ".join(text for text, _ in cells), links=links)
    query_id = TextCell(row.query_id, href="" if is_items else grid)
    names = (TextCell(row.text, href=grid), query_id) if is_items else (query_id,)
    return (*names, TextCell(row.cause), TextCell(signed(row.contribution)), texts)


def _cell(cell: CellChange, row: ExplainedItem, bank: Bank | None) -> tuple[str, str]:
    values = dict.fromkeys((cell.before, cell.after))
    texts = (str(value) if value >= 0 else "\N{EN DASH}" for value in values)
    text = f"{cell.doc_id} " + " \N{RIGHTWARDS ARROW} ".join(texts)
    if bank is None or cell.passage_id is None or row.item_id is None:
        return text, ""
    return text, reverse("review:cell", args=[bank.pk, row.topic_id, cell.passage_id, row.item_id])


def _moved(row: MovedRow) -> TextCell:
    text = f"up {row.rose}" if row.rose > 0 else f"down {-row.rose}" if row.rose else "\N{EN DASH}"
    return TextCell(text, Mark.TIED if row.is_sure else Mark.NONE)


def _cell_text(cell: CellChange) -> str:
    return ":".join(
        (cell.doc_id, *(str(value) if value >= 0 else "none" for value in (cell.before, cell.after)))
    )
