"""The tables of meta-evaluation, for the page and for papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grading.formats.tables import Mark, PrintedTable, TextCell, marked, number
from grading.statistics.mean_intervals import ConfidenceInterval
from grading.statistics.rank_correlation import Coefficient, Correlation
from grading.statistics.rank_intervals import Standing
from rubricweb import __version__
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta import files
from rubricweb.leaderboards.meta.contenders import Contender
from rubricweb.leaderboards.meta.selectors import (
    RESAMPLES,
    Comparison,
    CorrelationCell,
    CorrelationColumn,
    MetaRow,
    MetaSpec,
)

SIGNS = {Coefficient.SPEARMAN: "S", Coefficient.KENDALL: "K", Coefficient.TAU_AP: "AP"}
NAMES = {Coefficient.SPEARMAN: "Spearman", Coefficient.KENDALL: "Kendall", Coefficient.TAU_AP: "tau-AP"}
NO_MEANING = "this measure has no meaning for this grader"
LABELS = ("Evaluation", "Rubric", "\N{GREATER-THAN OR EQUAL TO}")


def comparison(compared: Comparison, against: str) -> PrintedTable:
    """Return a row a board, a column a measure and coefficient; the best and those as good are marked."""
    cells = [_column(one) for one in compared.columns]
    heads = [f"{one.measure} {SIGNS[one.coefficient]}" for one in compared.columns]
    lines = [
        (*_labels(row.contender), *(column[place] for column in cells), TextCell(str(compared.wins(place))))
        for place, row in enumerate(compared.rows)
    ]
    notes = (
        f"Correlation of the order of runs with {against}{_top(compared.spec)}",
        "S: Spearman's rho, K: Kendall's tau-b, AP: tau-AP; tied runs take average ranks",
        f"wins: {files.WINS}",
        void(compared.rows),
        f"RubricWeb {__version__}",
    )
    legend = (Mark.BEST, "best of a column"), (Mark.TIED, files.as_good(compared.spec))
    columns, n_labels = (*LABELS, *heads, "Wins"), len(LABELS)
    return PrintedTable(
        notes[0], columns, tuple(lines), n_labels, notes[1:], legend=legend, data=files.table([compared])
    )


def detail(compared: Comparison, measure: str) -> PrintedTable:
    """Return one measure: every coefficient with its interval and standing, and the runs that cost most."""
    columns = compared.of(measure)
    heads = [head for one in columns for head in (NAMES[one.coefficient], "95 % interval", "Behind the best")]
    lines = []
    for place, row in enumerate(compared.rows):
        if not columns[0].cells[place].by:
            continue
        values = [cell for one in columns for cell in _detail_cells(one, place)]
        of_row = columns[0].cells[place]
        costs = ", ".join(f"{cost.run_tag} ({cost.cost:+z.3f})" for cost in of_row.costs)
        n_runs = of_row.by[columns[0].coefficient].n
        lines.append((*_labels(row.contender), *values, TextCell(str(n_runs)), TextCell(costs or "none")))
    against = next((one.against for one in columns[0].cells if one.against), "nothing") if columns else ""
    notes = (
        f"intervals: 95 %, {RESAMPLES:,} resamples of topics, the same for all rows",
        "behind the best: how much lower, with the interval of the difference",
        "a run's cost is what Kendall's tau gains without it",
    )
    title = f"{measure} against {against}{_top(compared.spec)}"
    names = (*LABELS, *heads, "Runs", "Costliest runs")
    data = files.table([replace(compared, columns=columns)], with_costs=True)
    return PrintedTable(title, names, tuple(lines), len(LABELS), notes, n_notes=1, data=data)


def void(rows: Sequence[MetaRow]) -> str:
    """Return what a dash in the table says; nothing where there is none."""
    has_meaning = all(cell.by for row in rows for cell in row.cells)
    given = {value.reason for row in rows for cell in row.cells for value in cell.by.values()} - {""}
    reasons = sorted(given) + ([] if has_meaning else [NO_MEANING])
    return f"a dash is void: {'; '.join(reasons)}" if reasons else ""


def span(spread: ConfidenceInterval) -> str:
    """Return both ends; a dash for what is undefined or has no width that three decimals show."""
    low, high = f"{spread.low:z.3f}", f"{spread.high:z.3f}"
    return f"{low} to {high}" if spread.is_defined and low != high else "\N{EN DASH}"


def _top(spec: MetaSpec) -> str:
    top = f", official top {spec.k} only" if spec.k else ""
    return f"{top}, {spec.topics.stated}" if spec.topics else top


def _column(one: CorrelationColumn) -> list[TextCell]:
    titles = [
        _title(cell, one.coefficient, standing)
        for cell, standing in zip(one.cells, one.standings, strict=True)
    ]
    return marked([cell.value(one.coefficient) for cell in one.cells], one.as_good, titles)


def _title(cell: CorrelationCell, coefficient: Coefficient, standing: Standing | None) -> str:
    value = cell.by.get(coefficient)
    if value is None:
        return NO_MEANING
    if value.value is None or standing is None:
        return f"void: {value.reason}"
    return f"over {value.n} runs; 95 % interval {span(cell.interval(coefficient))}{_behind_best(standing)}"


def _behind_best(standing: Standing) -> str:
    return "" if standing.is_best else f"; behind the best by {_behind(standing)}"


def _behind(standing: Standing | None) -> str:
    if standing is None:
        return "\N{EN DASH}"
    if standing.is_best:
        return "best"
    return f"{number(standing.behind)} ({span(standing.interval)})"


def _labels(row: Contender) -> tuple[TextCell, ...]:
    return (
        TextCell(row.label, title=grader_name(row.config)),
        TextCell(row.bank_name),
        TextCell(str(row.min_grade)),
    )


def _detail_cells(one: CorrelationColumn, place: int) -> tuple[TextCell, ...]:
    cell, standing = one.cells[place], one.standings[place]
    value = _value(cell.by[one.coefficient])
    return value, TextCell(span(cell.interval(one.coefficient))), TextCell(_behind(standing))


def _value(correlation: Correlation) -> TextCell:
    if correlation.value is None:
        return TextCell(f"void: {correlation.reason}")
    return TextCell(number(correlation.value))
