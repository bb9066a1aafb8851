"""The tables of what changed between two boards: on the page, and for programs with all their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.urls import reverse

from grading.formats.tables import DataTable, Mark, PrintedTable, TextCell, from_mappings, number
from rubricweb.banks.models import Bank
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.comparison.changes import UNTOLD, CellChange, Explained, MovedRow
from rubricweb.leaderboards.influence.items import Line, possible, signed

SHOWN_CELLS = 8
RUN_COLUMNS = (
    "Run",
    "Rank before",
    "Possible before",
    "Rank after",
    "Possible after",
    "Moved",
    "p",
    "Score before",
    "Score after",
    "Difference",
)
GAIN = (
    "max-T test over topics of what the runs gain on the mean of all runs, each board in standard "
    "deviations of its runs' means"
)
METHOD = f"possible: ranks that the topics leave open; p: {GAIN}"


def run_sheet(rows: Sequence[MovedRow], link: Callable[[str], str]) -> PrintedTable:
    """Return every run with its places and scores; a link explains its difference."""
    lines = [
        (
            TextCell(row.run_tag, href=link(row.run_tag)),
            TextCell(str(row.rank_before)),
            TextCell(possible(row.possible_before)),
            TextCell(str(row.rank_after)),
            TextCell(possible(row.possible_after)),
            TextCell(_moved(row.rose), Mark.TIED if row.is_sure else Mark.NONE),
            TextCell(number(row.p)),
            TextCell(number(row.before)),
            TextCell(number(row.after)),
            TextCell(signed(row.difference)),
        )
        for row in rows
    ]
    return PrintedTable("Runs", RUN_COLUMNS, tuple(lines), 1, (METHOD,), legend=((Mark.TIED, "clear"),))


def reason_sheet(rows: Sequence[Explained], run_tag: str, bank: Bank | None) -> PrintedTable:
    """Return what each item adds to the run's difference, with the cells that made it."""
    is_items = any(row.text for row in rows)
    lines = []
    for row in rows:
        grid = reverse("review:topic", args=[bank.pk, row.topic_id], query={"view": "grid"}) if bank else ""
        cells = [_cell(cell, row, bank) for cell in row.cells[:SHOWN_CELLS]]
        more = len(row.cells) - len(cells)
        texts = ", ".join([text for text, _ in cells] + ([f"and {more} more"] if more else []))
        links = (
            (*cells, *([(f"and {more} more", "")] if more else [])) if any(href for _, href in cells) else ()
        )
        names = (
            (TextCell(row.text, href=grid), TextCell(row.query_id))
            if is_items
            else (TextCell(row.query_id, href=grid),)
        )
        lines.append(
            (*names, TextCell(row.cause), TextCell(signed(row.contribution)), TextCell(texts, links=links))
        )
    heads = ("Item", "Topic") if is_items else ("Topic",)
    columns = (*heads, "Change", "Adds to the score", "Pairs" if is_items else "Passages labelled otherwise")
    title = f"Why {run_tag} differs"
    note = (
        "ratings (of passages: labels) before and after the arrow, a dash for none; one number alone is "
        "the same on both boards, and counts on one"
    )
    return PrintedTable(title, columns, tuple(lines), len(heads) + 1, (note,), n_notes=1)


def _cell(cell: CellChange, row: Explained, bank: Bank | None) -> tuple[str, str]:
    values = dict.fromkeys((cell.before, cell.after))
    texts = (str(value) if value >= 0 else "\N{EN DASH}" for value in values)
    text = f"{cell.doc_id} " + " \N{RIGHTWARDS ARROW} ".join(texts)
    if bank is None or cell.passage_id is None or row.item_id is None:
        return text, ""
    return text, reverse("review:cell", args=[bank.pk, row.topic_id, cell.passage_id, row.item_id])


def _moved(rose: int) -> str:
    return f"up {rose}" if rose > 0 else f"down {-rose}" if rose else "\N{EN DASH}"


def run_data(before: ScoredBoard, after: ScoredBoard, rows: Sequence[MovedRow]) -> DataTable:
    """Return a line a run."""
    lines: list[Line] = [
        {
            "run_tag": row.run_tag,
            "rank_before": row.rank_before,
            **_possible("before", row.possible_before),
            "rank_after": row.rank_after,
            **_possible("after", row.possible_after),
            "rose": row.rose,
            "p": row.p,
            "is_sure": int(row.is_sure),
            "score_before": row.before,
            "score_after": row.after,
            "difference": row.difference,
        }
        for row in rows
    ]
    return from_mappings(lines, [*stated(before, after), ("p", GAIN)])


def reason_data(
    before: ScoredBoard, after: ScoredBoard, rows: Sequence[Explained], run_tag: str
) -> DataTable:
    """Return a line a part: their contributions sum to the difference of the run's scores."""
    lines: list[Line] = [
        {
            "run_tag": run_tag,
            "topic": row.query_id,
            "text": UNTOLD if row.is_secret else row.text,
            "change": row.cause,
            "contribution": row.contribution,
            "cells": "" if row.is_secret else " ".join(_cell_text(cell) for cell in row.cells),
        }
        for row in rows
    ]
    cells = "passage:before:after, ratings (of labels: labels), none where there is none"
    return from_mappings(lines, [*stated(before, after), ("cells", cells)])


def stated(before: ScoredBoard, after: ScoredBoard) -> list[tuple[str, str]]:
    """Return what the board after stands on, and what was different before."""
    ours, theirs = provenance.scored_statements(after), dict(provenance.scored_statements(before))
    was = [(f"before: {name}", theirs[name]) for name, value in ours if theirs.get(name, value) != value]
    return [*ours, *was]


def _possible(when: str, ranks: tuple[int, int] | None) -> Line:
    """Return the ranks that the topics leave open."""
    first, last = ranks or (None, None)
    return {f"rank_{when}_first": first, f"rank_{when}_last": last}


def _cell_text(cell: CellChange) -> str:
    return ":".join(
        (cell.doc_id, *(str(value) if value >= 0 else "none" for value in (cell.before, cell.after)))
    )
