"""What moved between two boards, for programs: all runs, and all parts of one run's difference."""

from __future__ import annotations

from collections.abc import Sequence

from grading.formats.data_table import DataTable, Value, from_mappings
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard
from rubricweb.leaderboards.moved.selectors import UNTOLD, CellChange, Explained, MovedRow
from rubricweb.leaderboards.moved.sheets import GAIN

Line = dict[str, Value]


def runs(before: ScoredBoard, after: ScoredBoard, rows: Sequence[MovedRow]) -> DataTable:
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


def reasons(before: ScoredBoard, after: ScoredBoard, rows: Sequence[Explained], run_tag: str) -> DataTable:
    """Return a line a part: their contributions sum to the difference of the run's scores."""
    lines: list[Line] = [
        {
            "run_tag": run_tag,
            "topic": row.query_id,
            "text": UNTOLD if row.is_secret else row.text,
            "change": row.cause,
            "contribution": row.contribution,
            "cells": "" if row.is_secret else " ".join(_cell(cell) for cell in row.cells),
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


def _cell(cell: CellChange) -> str:
    return ":".join(
        (cell.doc_id, *(str(value) if value >= 0 else "none" for value in (cell.before, cell.after)))
    )
