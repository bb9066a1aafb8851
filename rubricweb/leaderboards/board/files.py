"""A board as a file or document; `FORMATS` has all formats, those with a row for each topic too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from grading.formats import tables
from grading.formats.leaderboards import ALL, TABLES, LeaderboardRow, json_lines, table_lines, trec_eval_lines
from grading.formats.tables import from_mappings, tsv_lines as tsv_lines_of
from grading.statistics.cover_estimate import LEVEL
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_correlation import Correlation
from rubricweb import __version__
from rubricweb.core.formatting import counted
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import (
    Board,
    BoardCorrelation,
    BoardSpec,
    EstimateSample,
    Top,
    provenance,
    selectors,
    sentences,
)
from rubricweb.leaderboards.board.columns import FIRST, Further, Place, at, columns_of
from rubricweb.leaderboards.board.scores import Basis, basis, column_basis, score_column, score_units

Json = dict[str, object]
COEFFICIENTS = {
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "tau_gap": "tau-GAP",
    "pearson": "Pearson",
}


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


def document_lines(board: Board) -> list[str]:
    return json.dumps(document(board), indent=1, allow_nan=False, ensure_ascii=False).split("\n")


def tsv_lines(board: Board) -> list[str]:
    """Return comment lines that state everything, a header, and a line a run; numbers have all digits."""
    statements = [*_verdict(board), *provenance.statements(board)]
    statements += [
        (
            f"{name} with {correlation.against} ({correlation.measure})",
            f"{_value(value)} over {counted(value.n, 'run')}",
        )
        for correlation in board.correlations
        for key, name in COEFFICIENTS.items()
        for value in (getattr(correlation, key),)
    ]
    statements += [
        (f"approximate rank of {run.run_tag} on {correlation.against}", run.with_interval)
        for correlation in board.correlations
        for run in correlation.placed
    ]
    columns = at(columns_of(board), Place.TSV, FIRST)
    rows = [
        {name: value for column in columns for name, value in column.tsv(row).items()} for row in board.rows
    ]
    return tsv_lines_of(from_mappings(rows, statements))


def tex_lines(board: Board) -> list[str]:
    """Return a table for a paper, with what it stands on in comments."""
    columns = at(columns_of(board), Place.TEX)
    names = [column.name for column in columns]
    heads = [head for column in columns for head in column.tex_heads]
    heads[names.index("score")] = provenance.measure_name(board.spec)
    statements = (*_verdict(board), *provenance.statements(board))
    return tables.tex_lines(
        tables.PrintedTable(
            title="",
            columns=tuple(heads),
            rows=tuple(tuple(cell for column in columns for cell in column.tex(row)) for row in board.rows),
            n_labels=names.index("score"),
            comments=tuple(f"{name}: {value}" for name, value in statements),
        )
    )


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


def _verdict(board: Board) -> list[tuple[str, str]]:
    verdict = sentences.headline(board.top, board.n_topics)
    parts = (verdict, sentences.resolution(board.top, board.n_topics))
    return [("verdict", " ".join(filter(None, parts)))] if verdict else []


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


def _value(correlation: Correlation) -> str:
    return f"void, {correlation.reason}" if correlation.value is None else repr(correlation.value)


MEASURES = "eval.measures.yml"
"""The ending of the file that AutoJudge's tools put beside a leaderboard."""
LOSSES = (
    "standard errors, intervals and rank intervals",
    "what the board is based on: grader, rubric, threshold, version",
    "topics that count for no mean: they have no row",
    "blanks in pseudonyms of runs: they become hyphens",
)
"""What none of these formats can say of a board."""


def measures_lines(spec: BoardSpec) -> list[str]:
    """Return the file that names the measures of a leaderboard, with the type of their values and in words.

    Names and words are quoted as in JSON, which YAML reads.
    """
    names = {measure_token(spec.measure): _described(spec.measure, spec.measure.label_with_threshold)}
    for column in spec.columns:
        if column.token not in names:
            text = column.label if column.support else _described(column.measure, column.label)
            names[column.token] = text
    return [
        "measures:",
        *(
            line
            for name, text in names.items()
            for line in (
                f"- name: {json.dumps(name)}",
                "  dtype: float",
                f"  description: {json.dumps(text)}",
            )
        ),
    ]


def _described(measure: MeasureSpec, label: str) -> str:
    """Return the label, and the name in the other spelling."""
    return f"{label}, in other spelling {measure.other_name}" if measure.other_name else label


def value_rows(spec: BoardSpec) -> Iterator[LeaderboardRow]:
    """Yield every score of the board and its further columns, and of each run the mean as topic `all`.

    A topic that counts for no mean has no row, as on the board. Pseudonyms get a hyphen for their space,
    since readers of these files split their lines at white space.
    """
    base = basis(spec)
    scores = {measure_token(spec.measure): (_units(base), score_units(base, spec.measure).scores)}
    for column in spec.columns:
        if column.token not in scores:
            of = column_basis(base, column)
            scores[column.token] = (_units(of), score_column(of, column).scores)
    for place, run_tag in enumerate(base.pool.run_tags):
        for name, (units, table) in scores.items():
            mean = float(mean_and_stderr(table[place][np.newaxis]).mean[0])
            for unit, score in zip([*units, ALL], [*table[place].tolist(), mean], strict=True):
                if score == score:
                    yield LeaderboardRow(run_tag.replace(" ", "-"), unit, name, score)


def measure_token(measure: MeasureSpec) -> str:
    """Return the measure's name with what it depends on, as `--columns` takes it: `rubric_cover@20:4`.

    A name of ir_measures is kept as it was typed.
    """
    if measure.spelling:
        return measure.spelling
    cutoff = "" if measure.uses_labels else f"@{measure.cutoff}"
    return f"{measure.name}{cutoff}:{measure.min_grade}"


def _units(base: Basis) -> list[str]:
    """Return the names of what the mean goes over: topics, or `topic/subtopic` on a board of one topic."""
    if not (base.spec.by_subtopic and base.spec.topic):
        return [topic.query_id for topic, _ in base.units()]
    return [
        "/".join(filter(None, (topic.query_id, next(iter(items.facets), ""))))
        for topic, items in base.units()
    ]


_Rows = Iterable[LeaderboardRow]


@dataclass(frozen=True, slots=True)
class BoardFormat:
    """A format of files of a board: it writes the board, its rows by topic, or what its spec says."""

    name: str
    """In addresses and on the command line; also the ending of the file."""
    label: str
    media_type: str
    of_board: Callable[[Board], list[str]] | None = None
    of_rows: Callable[[_Rows], Iterator[str]] | None = None

    def lines(self, spec: BoardSpec) -> list[str]:
        """Return the lines of the file. Raises `BadFormat` for a board that the format cannot have."""
        if self.of_board:
            return self.of_board(selectors.board(spec))
        return list(self.of_rows(value_rows(spec))) if self.of_rows else measures_lines(spec)


_TEXT = "text/plain; charset=utf-8"
_TABLES = {columns.name: partial(table_lines, columns=columns) for columns in TABLES}
FORMATS = {
    form.name: form
    for form in (
        BoardFormat("tsv", "TSV", "text/tab-separated-values; charset=utf-8", of_board=tsv_lines),
        BoardFormat("tex", "LaTeX", "text/x-tex; charset=utf-8", of_board=tex_lines),
        BoardFormat("json", "JSON", "application/json", of_board=document_lines),
        BoardFormat("trec_eval", "trec_eval", _TEXT, of_rows=trec_eval_lines),
        BoardFormat("ir_measures", "ir_measures", _TEXT, of_rows=_TABLES["ir_measures"]),
        BoardFormat("jsonl", "JSON lines", "application/jsonl; charset=utf-8", of_rows=json_lines),
        BoardFormat("tot", "ToT", _TEXT, of_rows=_TABLES["tot"]),
        BoardFormat("rag4reports", "RAG4Reports", _TEXT, of_rows=_TABLES["rag4reports"]),
        BoardFormat(MEASURES, "Measures (YAML)", "application/yaml; charset=utf-8"),
    )
}
"""Every format in which a board is written; page, command, releases and tests loop over it."""
OF_RUNS = [form for form in FORMATS.values() if form.of_board]
"""Formats with a row for each run."""
OF_TOPICS = [form for form in FORMATS.values() if not form.of_board]
"""Formats with a row for each run, topic and measure, which other tools read, and the list of measures."""
PER_TOPIC = {form.name: form.of_rows for form in OF_TOPICS if form.of_rows}
"""Writers of such rows, whatever was scored."""
