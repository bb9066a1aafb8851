"""A board as a file or document: JSON, TSV, LaTeX."""

from __future__ import annotations

import json
from collections.abc import Mapping

from grading.formats import sheets
from grading.formats.leaderboard_tsv import LeaderboardRow, leaderboard_lines
from grading.measures.prediction_powered import Estimate
from grading.measures.rank_correlation import Correlation
from rubricweb import __version__
from rubricweb.leaderboards.board import stating
from rubricweb.leaderboards.board.types import Board, BoardCorrelation, BoardRow, BoardSpec, Column

Json = dict[str, object]

FORMATS = ("json", "tsv", "tex")


def document(board: Board) -> Json:
    """The board as one JSON document; what is undefined is null."""
    said = dict(stating.statements(board))
    return {
        **_spec(board.spec),
        "items": board.n_items,
        "items_stamp": board.items_stamp,
        "denominator": stating.denominator(board),
        "topics": board.n_topics,
        "topics_left_out": board.n_left_out,
        "topics_undefined": board.n_undefined,
        "judged_at": board.judged_at,
        "uncertainty": stating.uncertainty(board),
        "test": str(board.test),
        "top": {"group": board.top.group, "more_topics": board.top.more_topics} if board.top else None,
        "marks": _marks(board),
        "verified_cells": board.verified[0],
        "cells": board.verified[1] or None,
        "version": __version__,
        "made": said["made"],
        "rows": [_row(row, board.spec.columns) for row in board.rows],
        "brackets": [[board.rows[n].run_tag for n in range(a, b + 1)] for a, b in board.brackets],
        "correlations": [_correlation(found) for found in board.correlations],
    }


def json_lines(board: Board) -> list[str]:
    return json.dumps(document(board), indent=1, allow_nan=False, ensure_ascii=False).splitlines()


def tsv_lines(board: Board) -> list[str]:
    """Comment lines that state everything, a header, one run a line; numbers with all their digits."""
    said = [f"{name}: {value}" for name, value in stating.statements(board)]
    said += [
        f"{name} with {found.against} ({found.measure}): {_value(value)} over {value.n} runs"
        for found in board.correlations
        for name, value in (("Spearman", found.spearman), ("Kendall tau-b", found.kendall))
    ]
    beside: dict[str, list[float | None]] = {
        "rank_first": [row.first for row in board.rows],
        "rank_last": [row.last for row in board.rows],
    }
    beside |= {"low": [row.low for row in board.rows], "high": [row.high for row in board.rows]}
    beside |= {"judged": [row.judged for row in board.rows], "verified": [row.verified for row in board.rows]}
    if any(row.estimate for row in board.rows):
        found = [row.estimate for row in board.rows]
        beside["estimate"] = [one.value if one else None for one in found]
        beside["estimate_half_width"] = [one.half_width if one else None for one in found]
    beside |= {c.token: [row.others[n] for row in board.rows] for n, c in enumerate(board.spec.columns)}
    return leaderboard_lines(tsv_rows(board), said, beside)


def tsv_rows(board: Board) -> list[LeaderboardRow]:
    return [LeaderboardRow(row.run_tag, row.score, row.stderr, row.n_topics) for row in board.rows]


def tex_lines(board: Board) -> list[str]:
    """A table for a paper, with what it stands on in comments."""
    columns = ("Ranks", "Run", stating.measure_name(board.spec), "\N{PLUS-MINUS SIGN} std. err.")
    rows = tuple(
        (
            sheets.Cell(row.interval),
            sheets.Cell(row.run_tag),
            *sheets.row(row.score, row.stderr, *row.others),
        )
        for row in board.rows
    )
    return sheets.tex_lines(
        sheets.Sheet(
            title="",
            columns=(*columns, *(column.label for column in board.spec.columns)),
            rows=rows,
            n_labels=2,
            comments=tuple(f"{name}: {value}" for name, value in stating.statements(board)),
        )
    )


def _spec(spec: BoardSpec) -> Json:
    measure = spec.measure
    mode: Json = {"mode": str(measure.mode), "min_answers": measure.min_answers}
    by_labels: Json = {**mode, "labels": stating.labels(spec), "level": measure.level}
    return {
        "collection": spec.collection.slug,
        "measure": measure.name,
        "definition": str(measure.definition),
        "grader": stating.grader(spec),
        "ratings": str(spec.source),
        "bank": spec.bank.name if spec.bank else None,
        "bank_version": spec.version.number if spec.version else None,
        "kinds": sorted(spec.kinds),
        "min_grade": measure.min_grade,
        "threshold": stating.threshold(spec),
        "topic": spec.topic or None,
        "subtopic": spec.facet or None,
        "by_subtopic": spec.by_subtopic,
        "missing": "skip" if spec.skips_missing else "zero",
        **(by_labels if measure.is_trec else {"cutoff": measure.cutoff}),
    }


def _row(row: BoardRow, columns: tuple[Column, ...]) -> Json:
    return {
        "rank": row.rank,
        "rank_first": row.first,
        "rank_last": row.last,
        "run_tag": row.run_tag,
        "score": row.score,
        "stderr": row.stderr,
        "low": row.low,
        "high": row.high,
        "n_topics": row.n_topics,
        "n_answered": row.n_answered,
        "judged": row.judged,
        "verified": row.verified,
        "estimate": _estimate(row.estimate),
        "columns": {column.token: value for column, value in zip(columns, row.others, strict=True)},
    }


def _estimate(found: Estimate | None) -> Json | None:
    if found is None:
        return None
    return {
        "value": found.value,
        "half_width": found.half_width,
        "verified": found.verified,
        "cells": found.cells,
    }


def _marks(board: Board) -> Json | None:
    found = board.marks
    if found is None or found.median != found.median:
        return None
    return {
        "min": found.minimum,
        "median": found.median,
        "max": found.maximum,
        "percentile_75": found.upper_quarter,
        "percentile_85": found.upper_15,
    }


def _correlation(found: BoardCorrelation) -> Json:
    both: Mapping[str, Json] = {
        name: {"value": value.value, "runs": value.n, "reason": value.reason}
        for name, value in (("spearman", found.spearman), ("kendall", found.kendall))
    }
    return {"against": found.against, "measure": found.measure, **both}


def _value(found: Correlation) -> str:
    return f"void, {found.reason}" if found.value is None else f"{found.value:.4f}"
