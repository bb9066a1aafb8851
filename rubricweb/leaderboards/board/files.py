"""A board as a file or document: JSON, TSV, LaTeX."""

from __future__ import annotations

import json
from collections.abc import Mapping

from grading.formats import tables
from grading.formats.tables import Value, from_mappings
from grading.formats.tables import tsv_lines as tsv_lines_of
from grading.measures import registry
from grading.statistics.cover_estimate import LEVEL
from grading.statistics.rank_correlation import Correlation
from rubricweb import __version__
from rubricweb.leaderboards.board import provenance, sentences
from rubricweb.leaderboards.board.types import (
    Board,
    BoardCorrelation,
    BoardRow,
    BoardSpec,
    EstimateSample,
    MeasureColumn,
    RunEstimate,
    Top,
)

Json = dict[str, object]

STDERR = "\N{PLUS-MINUS SIGN} std. err."
FORMATS = ("json", "tsv", "tex")


def document(board: Board) -> Json:
    """Return the board as one JSON document; what is undefined is null."""
    statements = dict(provenance.statements(board))
    return {
        **_spec(board.spec),
        "items": board.n_items,
        "items_stamp": board.items_stamp,
        "denominator": provenance.denominator(board),
        "topics": board.n_topics,
        "topics_left_out": board.n_left_out,
        "topics_undefined": board.n_undefined,
        "judged_at": board.judged_at,
        "uncertainty": provenance.uncertainty(board),
        "test": str(board.test),
        "monte_carlo_error": _monte_carlo(board),
        "headline": sentences.headline(board.top, board.n_topics) or None,
        "top": _top(board.top),
        "marks": _marks(board),
        "estimate": _sample(board),
        "verified_cells": board.verified[0],
        "cells": board.verified[1] or None,
        "version": __version__,
        "made": statements["made"],
        "columns": [_column(board, place) for place in range(len(board.spec.columns))],
        "importance": provenance.importance(board) or None,
        "rows": [_row(row, board.spec.columns) for row in board.rows],
        "correlations": [_correlation(correlation) for correlation in board.correlations],
    }


def json_lines(board: Board) -> list[str]:
    return json.dumps(document(board), indent=1, allow_nan=False, ensure_ascii=False).split("\n")


def tsv_lines(board: Board) -> list[str]:
    """Comment lines that state everything, a header, one run a line; numbers with all their digits."""
    statements = [*_verdict(board), *provenance.statements(board)]
    statements += [
        (f"{name} with {correlation.against} ({correlation.measure})", f"{_value(value)} over {value.n} runs")
        for correlation in board.correlations
        for name, value in (("Spearman", correlation.spearman), ("Kendall tau-b", correlation.kendall))
    ]
    has_estimates = any(row.estimate for row in board.rows)
    name = f"{'cover' if board.spec.measure.name == registry.DEFAULT else 'score'}_by_people"
    rows = [_values(row, board.spec.columns, name if has_estimates else "") for row in board.rows]
    return tsv_lines_of(from_mappings(rows, statements))


def _values(row: BoardRow, columns: tuple[MeasureColumn, ...], by_people: str) -> dict[str, Value]:
    """Return a row of the file; each further column has its standard error and its number of topics beside
    it. The columns of estimates are named after `by_people`; without a name there are none.
    """
    values: dict[str, Value] = {
        "run_tag": row.run_tag,
        "rank": row.rank,
        "score": row.score,
        "stderr": row.stderr,
        "n_topics": row.n_topics,
        "n_answered": row.n_answered,
        "rank_first": row.first,
        "rank_last": row.last,
        "is_clearly_behind": row.is_behind,
        "low": row.low,
        "high": row.high,
        "judged": row.judged,
        "verified": row.verified,
    }
    if by_people:
        estimate = row.estimate
        values[by_people] = estimate.value if estimate else None
        values[f"{by_people}_low"] = estimate.low if estimate else None
        values[f"{by_people}_high"] = estimate.high if estimate else None
    for column, other in zip(columns, row.others, strict=True):
        values[column.token] = other.score
        values[f"{column.token}_stderr"] = other.stderr
        values[f"{column.token}_n_topics"] = other.n_topics
    return values


def tex_lines(board: Board) -> list[str]:
    """Return a table for a paper, with what it stands on in comments."""
    columns = ["Rank", "Possible ranks", "Run", provenance.measure_name(board.spec), STDERR]
    has_estimates = any(row.estimate for row in board.rows)
    if has_estimates:
        columns += ["By people, estimated", "low", "high"]
    for column in board.spec.columns:
        columns += [column.label, STDERR]
    rows = tuple(
        (
            *(tables.TextCell(text) for text in (str(row.rank), row.interval, row.run_tag)),
            *tables.row(row.score, row.stderr),
            *(_estimate_cells(row) if has_estimates else ()),
            *(cell for other in row.others for cell in tables.row(other.score, other.stderr)),
        )
        for row in board.rows
    )
    return tables.tex_lines(
        tables.PrintedTable(
            title="",
            columns=tuple(columns),
            rows=rows,
            n_labels=3,
            comments=tuple(
                f"{name}: {value}" for name, value in (*_verdict(board), *provenance.statements(board))
            ),
        )
    )


def _estimate_cells(row: BoardRow) -> tuple[tables.TextCell, ...]:
    """Return the estimate with the ends of its interval; dashes for what is certain, or not estimated."""
    if row.estimate is None:
        return tables.row(None, None, None)
    estimate = row.estimate
    ends = (None, None) if estimate.is_certain else (estimate.low, estimate.high)
    return tables.row(estimate.value, *ends)


def _checks(sample: EstimateSample) -> Json | None:
    if sample.checks is None:
        return None
    return {
        name: {"p": trend.p, "is_rising": trend.is_rising} for name, trend in sample.checks._asdict().items()
    }


def _sample(board: Board) -> Json | None:
    """Return what the estimates of the rows are of and stand on; None for measures that have none."""
    sample = board.sample
    if sample is None:
        return None
    return {
        "estimand": provenance.estimand(board.spec),
        "level": LEVEL,
        "is_level_at_least": sample.is_level_at_least,
        "method": sample.method,
        "design": sample.design,
        "cells_drawn": sample.drawn,
        "cells_drawn_and_rated": sample.rated,
        "warnings": sentences.warnings(sample),
        "checks": _checks(sample),
        "cells": sample.size.cells,
        "cells_below_threshold": sample.size.below,
        "cells_missed_by_grader": sample.size.misses,
        "cells_of_other_draws": sample.elsewhere,
        "items_not_sampled": sample.unsampled,
        "reason_for_none": sentences.lacks(sample) or None,
        "more_cells_to_halve": sample.to_halve,
    }


def _spec(spec: BoardSpec) -> Json:
    measure = spec.measure
    mode: Json = {"mode": str(measure.mode), "min_answers": measure.min_answers}
    level = None if measure.takes_gains else measure.level
    by_labels: Json = {**mode, "labels": provenance.labels(spec), "level": level}
    order: Json = {"trec_eval": str(measure.trec_eval)} if spec.uses_labels else {}
    return {
        "collection": spec.collection.slug,
        "measure": measure.name,
        "definition": str(measure.definition),
        "grader": provenance.grader(spec),
        "ratings": str(spec.source),
        "bank": spec.bank.name if spec.bank else None,
        "bank_version": spec.version.number if spec.version else None,
        "kinds": sorted(spec.kinds),
        "min_grade": measure.min_grade,
        "threshold": provenance.threshold(spec),
        "slice": _slice(spec),
        "topic": spec.topic or None,
        "subtopic": spec.facet or None,
        "by_subtopic": spec.by_subtopic,
        "missing": "skip" if spec.skips_missing else "zero",
        **(by_labels if measure.uses_labels else {"cutoff": measure.cutoff}),
        **order,
    }


def _slice(spec: BoardSpec) -> Json | None:
    """Return the topics that the board is of, by an attribute; None for all."""
    topics = spec.topic_slice
    if topics is None:
        return None
    return {"topics": topics.token, "stated": topics.stated, "query_ids": sorted(topics.query_ids)}


def _column(board: Board, place: int) -> Json:
    column, counted = board.spec.columns[place], board.columns[place]
    measure = column.measure
    return {
        "token": column.token,
        "label": column.label,
        "items": column.items or None,
        "bank": column.bank.name if column.bank else None,
        "measure": f"support_{column.support.name}" if column.support else measure.name,
        "min_grade": None if column.is_judgments or column.support else measure.min_grade,
        "cutoff": None if measure.uses_labels else measure.cutoff,
        "level": measure.level if measure.uses_labels and not measure.takes_gains else None,
        "topics": counted.n_topics,
        "topics_left_out": counted.n_left_out,
        "denominator": provenance.column_denominator(board, place),
        "stated": provenance.column_stated(board, place),
    }


def _row(row: BoardRow, columns: tuple[MeasureColumn, ...]) -> Json:
    return {
        "rank": row.rank,
        "rank_first": row.first,
        "rank_last": row.last,
        "is_clearly_behind": row.is_behind,
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
        "columns": {
            column.token: {"score": other.score, "stderr": other.stderr, "n_topics": other.n_topics}
            for column, other in zip(columns, row.others, strict=True)
        },
    }


def _estimate(estimate: RunEstimate | None) -> Json | None:
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high} if estimate else None


def _verdict(board: Board) -> list[tuple[str, str]]:
    verdict = sentences.headline(board.top, board.n_topics)
    parts = (verdict, sentences.resolution(board.top, board.n_topics))
    return [("verdict", " ".join(filter(None, parts)))] if verdict else []


def _monte_carlo(board: Board) -> Json | None:
    return dict(zip(("p", "interval_ends"), board.monte_carlo, strict=True)) if board.monte_carlo else None


def _top(top: Top | None) -> Json | None:
    """Return what the headline stands on."""
    if top is None:
        return None
    return {
        "can_tell": top.can_tell,
        "first": list(top.first),
        "not_clearly_behind": top.n_not_behind if top.can_tell else None,
        "resolution": top.resolution,
    }


def _marks(board: Board) -> Json | None:
    marks = board.marks
    if marks is None or marks.median != marks.median:
        return None
    return {
        "min": marks.minimum,
        "median": marks.median,
        "max": marks.maximum,
        "percentile_75": marks.upper_quarter,
        "percentile_85": marks.upper_15,
    }


def _correlation(correlation: BoardCorrelation) -> Json:
    both: Mapping[str, Json] = {
        name: {"value": value.value, "runs": value.n, "reason": value.reason}
        for name, value in (("spearman", correlation.spearman), ("kendall", correlation.kendall))
    }
    return {"against": correlation.against, "measure": correlation.measure, **both}


def _value(correlation: Correlation) -> str:
    return f"void, {correlation.reason}" if correlation.value is None else repr(correlation.value)
