"""A board as a file; `FORMATS` has all formats, those with a row for each topic too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from grading.formats import tables
from grading.formats.leaderboards import ALL, TABLES, LeaderboardRow, json_lines, table_lines, trec_eval_lines
from grading.formats.tables import from_mappings, tsv_lines as tsv_lines_of
from grading.statistics.mean_intervals import mean_and_stderr
from grading.statistics.rank_correlation import Correlation
from rubricweb.core.formatting import counted
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import (
    Board,
    BoardSpec,
    provenance,
    selectors,
    sentences,
)
from rubricweb.leaderboards.board.columns import FIRST, Place, at, columns_of
from rubricweb.leaderboards.board.document import COEFFICIENTS, board_document
from rubricweb.leaderboards.board.scores import Basis, basis, column_basis, score_column, score_units


def document_lines(board: Board) -> list[str]:
    return json.dumps(board_document(board), indent=1, allow_nan=False, ensure_ascii=False).split("\n")


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


def _verdict(board: Board) -> list[tuple[str, str]]:
    verdict = sentences.headline(board.top, board.n_topics)
    parts = (verdict, sentences.resolution(board.top, board.n_topics))
    return [("verdict", " ".join(filter(None, parts)))] if verdict else []


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
