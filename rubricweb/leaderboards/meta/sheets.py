"""The tables of meta-evaluation, for the page and for papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grading.formats.sheets import Mark, PrintedTable, TextCell, marked, number
from grading.statistics.rank_correlation import Coefficient, Correlation
from grading.statistics.resampling import ConfidenceInterval
from grading.statistics.standing import Standing
from rubricweb import __version__
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta import files
from rubricweb.leaderboards.meta.contenders import Contender
from rubricweb.leaderboards.meta.selectors import (
    RESAMPLES,
    Comparison,
    CorrelationColumn,
    Found,
    MetaRow,
    MetaSpec,
)

SIGNS = {Coefficient.SPEARMAN: "S", Coefficient.KENDALL: "K", Coefficient.TAU_AP: "AP"}
NAMES = {Coefficient.SPEARMAN: "Spearman", Coefficient.KENDALL: "Kendall", Coefficient.TAU_AP: "tau-AP"}
NO_MEANING = "this measure has no meaning for this grader"
LABELS = ("Evaluation", "Bank", "\N{GREATER-THAN OR EQUAL TO}")


def comparison(found: Comparison, against: str) -> PrintedTable:
    """A row a board, a column a measure and coefficient; the best and those as good are marked."""
    cells = [_column(one) for one in found.columns]
    heads = [f"{one.measure} {SIGNS[one.coefficient]}" for one in found.columns]
    lines = [
        (*_labels(row.contender), *(column[place] for column in cells), TextCell(str(found.wins(place))))
        for place, row in enumerate(found.rows)
    ]
    said = (
        f"Correlation of the order of runs with {against}{_top(found.wanted)}",
        "S: Spearman's rho, K: Kendall's tau-b, AP: tau-AP; tied runs take average ranks",
        f"wins: {files.WINS}",
        void(found.rows),
        f"RubricWeb {__version__}",
    )
    legend = (Mark.BEST, "best of a column"), (Mark.TIED, files.as_good(found.wanted))
    columns, n_labels = (*LABELS, *heads, "Wins"), len(LABELS)
    return PrintedTable(
        said[0], columns, tuple(lines), n_labels, said[1:], legend=legend, data=files.table([found])
    )


def detail(found: Comparison, measure: str) -> PrintedTable:
    """One measure: every coefficient with its interval and standing, and the runs that cost most."""
    columns = found.of(measure)
    heads = [head for one in columns for head in (NAMES[one.coefficient], "95 % interval", "Behind the best")]
    lines = []
    for place, row in enumerate(found.rows):
        if not columns[0].found[place].by:
            continue
        values = [cell for one in columns for cell in _detail_cells(one, place)]
        of_row = columns[0].found[place]
        costs = ", ".join(f"{cost.run_tag} ({cost.cost:+.3f})" for cost in of_row.costs)
        n_runs = of_row.by[columns[0].coefficient].n
        lines.append((*_labels(row.contender), *values, TextCell(str(n_runs)), TextCell(costs or "none")))
    against = next((one.against for one in columns[0].found if one.against), "nothing") if columns else ""
    said = (
        f"intervals: 95 %, {RESAMPLES:,} resamples of topics, the same for all rows",
        "behind the best: how much lower, with the interval of the difference",
        "a run's cost is what Kendall's tau gains without it",
    )
    title = f"{measure} against {against}{_top(found.wanted)}"
    names = (*LABELS, *heads, "Runs", "Costliest runs")
    data = files.table([replace(found, columns=columns)], with_costs=True)
    return PrintedTable(title, names, tuple(lines), len(LABELS), said, n_notes=1, data=data)


def void(rows: Sequence[MetaRow]) -> str:
    """What a dash in the table says; nothing where there is none."""
    has_meaning = all(cell.by for row in rows for cell in row.found)
    found = {value.reason for row in rows for cell in row.found for value in cell.by.values()} - {""}
    reasons = sorted(found) + ([] if has_meaning else [NO_MEANING])
    return f"a dash is void: {'; '.join(reasons)}" if reasons else ""


def span(spread: ConfidenceInterval) -> str:
    return f"{spread.low:.3f} to {spread.high:.3f}" if spread.is_defined else "\N{EN DASH}"


def _top(wanted: MetaSpec) -> str:
    return f", official top {wanted.k} only" if wanted.k else ""


def _column(one: CorrelationColumn) -> list[TextCell]:
    titles = [
        _title(found, one.coefficient, standing)
        for found, standing in zip(one.found, one.standings, strict=True)
    ]
    return marked([found.value(one.coefficient) for found in one.found], one.as_good, titles)


def _title(found: Found, coefficient: Coefficient, standing: Standing | None) -> str:
    value = found.by.get(coefficient)
    if value is None:
        return NO_MEANING
    if value.value is None or standing is None:
        return f"void: {value.reason}"
    return f"over {value.n} runs; 95 % interval {span(found.interval(coefficient))}{_behind_best(standing)}"


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
    found, standing = one.found[place], one.standings[place]
    value = _value(found.by[one.coefficient])
    return value, TextCell(span(found.interval(one.coefficient))), TextCell(_behind(standing))


def _value(found: Correlation) -> TextCell:
    if found.value is None:
        return TextCell(f"void: {found.reason}")
    return TextCell(number(found.value))
