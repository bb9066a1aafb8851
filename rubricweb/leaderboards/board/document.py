"""A board as one JSON document, which its file and the API have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from grading.statistics.cover_estimate import LEVEL
from rubricweb import __version__
from rubricweb.leaderboards.board import (
    Board,
    BoardCorrelation,
    BoardSpec,
    EstimateSample,
    Top,
    provenance,
    sentences,
)
from rubricweb.leaderboards.board.columns import Further, Place, at, columns_of

Json = dict[str, object]
COEFFICIENTS = {
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "tau_gap": "tau-GAP",
    "pearson": "Pearson",
}


def board_document(board: Board) -> Json:
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
        "monte_carlo_error": dict(zip(("p", "interval_ends"), board.monte_carlo, strict=True))
        if board.monte_carlo
        else None,
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
        "rows": _rows(board),
        "correlations": [_correlation(correlation) for correlation in board.correlations],
    }


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
    brought: Json = {"measure_by": measure.registered.plugin} if measure.registered.plugin else {}
    return {
        "collection": spec.collection.slug,
        "measure": measure.name,
        "ir_measures": measure.ir_measures or None,
        "measure_label": measure.label,
        "definition": str(measure.definition),
        "grader": provenance.grader(spec),
        "ratings": str(spec.source),
        "bank": spec.bank.name if spec.bank else None,
        "bank_version": spec.version.number if spec.version else None,
        "kinds": sorted(spec.kinds),
        "min_grade": measure.min_grade,
        "threshold": provenance.threshold(spec),
        "slice": _slice(spec),
        "runs": spec.runs.document if spec.runs else None,
        "topic": spec.topic or None,
        "subtopic": spec.facet or None,
        "by_subtopic": spec.by_subtopic,
        "missing": "skip" if spec.skips_missing else "zero",
        **({"judged_only": True} if measure.is_judged_only else {}),
        **(by_labels if measure.uses_labels else {"cutoff": measure.cutoff}),
        **(order | brought),
    }


def _slice(spec: BoardSpec) -> Json | None:
    """Return the topics that the board is of, by an attribute; None for all."""
    if (topics := spec.topic_slice) is None:
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
        "ir_measures": None if column.support else measure.ir_measures or None,
        "min_grade": None if column.is_judgments or column.support else measure.min_grade,
        "cutoff": None if measure.uses_labels else measure.cutoff,
        "level": measure.level if measure.uses_labels and not measure.takes_gains else None,
        "topics": counted.n_topics,
        "topics_left_out": counted.n_left_out,
        "denominator": provenance.column_denominator(board, place),
        "stated": provenance.column_stated(board, place),
    }


def _rows(board: Board) -> list[Json]:
    columns = at(columns_of(board), Place.JSON)
    plain = [column for column in columns if not isinstance(column, Further)]
    further = [column for column in columns if isinstance(column, Further)]
    return [
        {
            **{column.name: column.json(row) for column in plain},
            "columns": {column.name: column.json(row) for column in further},
        }
        for row in board.rows
    ]


def _top(top: Top | None) -> Json | None:
    """Return the headline: the first runs, and how many are not clearly behind them."""
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
        key: {"value": value.value, "runs": value.n, "reason": value.reason}
        for key in COEFFICIENTS
        for value in (getattr(correlation, key),)
    }
    stated = {"against": correlation.against, "measure": correlation.measure, "origin": correlation.source}
    return {**stated, **both, "approximate_ranks": [asdict(run) for run in correlation.placed]}
