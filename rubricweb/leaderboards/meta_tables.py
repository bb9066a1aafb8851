"""Print meta-evaluations for the page and for papers, and write them as TSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from grading.formats.tables import (
    DataTable,
    Mark,
    PrintedTable,
    TextCell,
    Value,
    from_mappings,
    marked,
    number,
)
from grading.statistics.mean_intervals import ConfidenceInterval
from grading.statistics.rank_correlation import VOID_NAMES, Coefficient, Correlation
from grading.statistics.rank_intervals import Standing
from rubricweb import __version__
from rubricweb.core.formatting import counted
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta import (
    NAMED_COSTS,
    RESAMPLES,
    Comparison,
    Contender,
    CorrelationCell,
    CorrelationColumn,
    MetaRow,
    MetaSpec,
)

Json = dict[str, object]

WINS = "measures of which the row is best, or as good, by Spearman, Kendall and tau-AP, as far as shown"
SIGNS = {
    Coefficient.SPEARMAN: "S",
    Coefficient.KENDALL: "K",
    Coefficient.TAU_AP: "AP",
    Coefficient.TAU_GAP: "GAP",
    Coefficient.PEARSON: "r",
}
NAMES = {
    Coefficient.SPEARMAN: "Spearman",
    Coefficient.KENDALL: "Kendall",
    Coefficient.TAU_AP: "tau-AP",
    Coefficient.TAU_GAP: "tau-GAP",
    Coefficient.PEARSON: "Pearson",
}
NO_MEANING = "this measure has no meaning for this grader"
LABELS = ("Evaluation", "Rubric", "\N{GREATER-THAN OR EQUAL TO}")


def table(comparisons: Sequence[Comparison], *, with_costs: bool = False) -> DataTable:
    """Return a line for each board, measure and reference board.

    `with_costs` adds the runs that cost Kendall's tau most.
    """
    lines = [
        _line(comparison, place, measure)
        | (_costs(comparison.of(measure)[0].cells[place]) if with_costs else {})
        for comparison in comparisons
        for place in range(len(comparison.rows))
        for measure in dict.fromkeys(row.measure for row in comparison.columns)
    ]
    return from_mappings(lines, stated(comparisons))


def stated(comparisons: Sequence[Comparison]) -> list[tuple[str, str]]:
    """Return names and values of what holds for all comparisons."""
    slugs = dict.fromkeys(
        row.contender.collection.slug for comparison in comparisons for row in comparison.rows
    )
    specs = [comparison.spec for comparison in comparisons]
    return [
        *(("collection", slug) for slug in slugs),
        *(("topics", text) for text in dict.fromkeys(entry.topics.stated for entry in specs if entry.topics)),
        *(("runs", text) for text in dict.fromkeys(entry.runs.stated for entry in specs if entry.runs)),
        ("first relevant judgment", ", ".join(dict.fromkeys(str(entry.min_relevant) for entry in specs))),
        ("cutoff", "first 20 passages by rank, where a measure of items names no other"),
        ("banks", "as of now"),
        ("ratings", "the grader"),
        ("intervals", f"95 %, {RESAMPLES:,} resamples of topics, the same for all rows"),
        *(("as good", text) for text in dict.fromkeys(as_good(entry) for entry in specs)),
        ("wins", WINS),
        *provenance.when(),
    ]


def document(comparison: Comparison) -> Json:
    """Return everything as one JSON document; what is void is null, with the reason's name beside it."""
    spec = comparison.spec
    return {
        "against": spec.reference,
        "official_top": spec.k,
        "topics": spec.topics.token if spec.topics else None,
        "runs": spec.runs.stated if spec.runs else None,
        "within": spec.within,
        "as_good": as_good(spec),
        "resamples": RESAMPLES,
        "version": __version__,
        "rows": [
            {
                "grader": grader_name(row.contender.config),
                "bank": row.contender.bank.name if row.contender.bank else None,
                "min_grade": row.contender.min_grade,
                "wins": comparison.wins(place),
                "measures": {name: _measure(comparison.of(name), place) for name in spec.measures},
            }
            for place, row in enumerate(comparison.rows)
        ],
    }


def as_good(spec: MetaSpec) -> str:
    """Return the rule by which a row is as good as the best of a column."""
    if spec.within is not None:
        return f"at most {spec.within:g} below the best"
    return "not clearly behind the best, by the max-T test of all pairs over the same resampled topics"


def _line(comparison: Comparison, place: int, measure: str) -> dict[str, Value]:
    contender, columns = comparison.rows[place].contender, comparison.of(measure)
    first = columns[0].cells[place]
    line: dict[str, Value] = {
        "grader": grader_name(contender.config),
        "grader_id": contender.config.pk,
        "bank": contender.bank_name,
        "n_items": first.n_items,
        "items_stamp": first.items_stamp,
        "min_grade": contender.min_grade,
        "measure": measure,
        "against": first.against,
        "official_top": comparison.spec.k,
        "wins": comparison.wins(place),
    }
    for row in columns:
        line |= _coefficient(row, place)
    return line


def _coefficient(row: CorrelationColumn, place: int) -> dict[str, Value]:
    name, cell, standing = row.coefficient.value, row.cells[place], row.standings[place]
    value, spread = cell.by.get(row.coefficient), cell.interval(row.coefficient)
    return {
        name: value.value if value else None,
        f"{name}_low": spread.low,
        f"{name}_high": spread.high,
        f"{name}_behind_best": standing.behind if standing else None,
        f"{name}_behind_best_low": standing.interval.low if standing else None,
        f"{name}_behind_best_high": standing.interval.high if standing else None,
        f"{name}_as_good": int(standing.is_as_good) if standing else None,
        f"{name}_runs": value.n if value else None,
        f"{name}_void": VOID_NAMES.get(value.reason, "") if value else "no_meaning",
    }


def _costs(cell: CorrelationCell) -> dict[str, Value]:
    costs = cell.costs
    line: dict[str, Value] = {}
    for place in range(NAMED_COSTS):
        defined = costs[place] if place < len(costs) else None
        line[f"costliest_{place + 1}"] = defined.run_tag if defined else ""
        line[f"costliest_{place + 1}_cost"] = defined.cost if defined else None
    return line


def _measure(columns: Sequence[CorrelationColumn], place: int) -> Json | None:
    first = columns[0].cells[place]
    if not first.by:
        return None
    document: Json = {"against": first.against}
    for row in columns:
        value, standing = first.by[row.coefficient], row.standings[place]
        document[row.coefficient.value] = {
            "value": value.value,
            "runs": value.n,
            "void": VOID_NAMES.get(value.reason),
            "interval": _ends(first.interval(row.coefficient)),
            "behind_best": standing.behind if standing else None,
            "behind_best_interval": _ends(standing.interval) if standing else None,
            "as_good": standing.is_as_good if standing else None,
        }
    document["costliest"] = [{"run_tag": cost.run_tag, "cost": cost.cost} for cost in first.costs]
    return document


def _ends(spread: ConfidenceInterval) -> list[float] | None:
    return [spread.low, spread.high] if spread.is_defined else None


def comparison(compared: Comparison, against: str) -> PrintedTable:
    """Return a row a board, a column a measure and coefficient; the best and those as good are marked."""
    cells = [_column(entry) for entry in compared.columns]
    heads = [f"{entry.measure} {SIGNS[entry.coefficient]}" for entry in compared.columns]
    lines = [
        (*_labels(row.contender), *(column[place] for column in cells), TextCell(str(compared.wins(place))))
        for place, row in enumerate(compared.rows)
    ]
    notes = (
        f"Correlation of the order of runs with {against}{_top(compared.spec)}",
        "S: Spearman's rho, K: Kendall's tau-b, AP: tau-AP; tied runs take average ranks",
        "GAP: tau-GAP, of our order, with the gaps between scores of the other board; tied runs by name",
        "r: Pearson's, of the scores",
        f"wins: {WINS}",
        void(compared.rows),
        f"RubricWeb {__version__}",
    )
    legend = (Mark.BEST, "best of a column"), (Mark.TIED, as_good(compared.spec))
    columns, n_labels = (*LABELS, *heads, "Wins"), len(LABELS)
    return PrintedTable(
        notes[0], columns, tuple(lines), n_labels, notes[1:], legend=legend, data=table([compared])
    )


def detail(compared: Comparison, measure: str) -> PrintedTable:
    """Return one measure: every coefficient with its interval and standing, and the runs that cost most."""
    columns = compared.of(measure)
    heads = [
        head for entry in columns for head in (NAMES[entry.coefficient], "95 % interval", "Behind the best")
    ]
    lines = []
    for place, row in enumerate(compared.rows):
        if not columns[0].cells[place].by:
            continue
        values = [cell for entry in columns for cell in _detail_cells(entry, place)]
        of_row = columns[0].cells[place]
        costs = ", ".join(f"{cost.run_tag} ({cost.cost:+z.3f})" for cost in of_row.costs)
        n_runs = of_row.by[columns[0].coefficient].n
        lines.append((*_labels(row.contender), *values, TextCell(str(n_runs)), TextCell(costs or "none")))
    against = (
        next((entry.against for entry in columns[0].cells if entry.against), "nothing") if columns else ""
    )
    notes = (
        f"intervals: 95 %, {RESAMPLES:,} resamples of topics, the same for all rows",
        "behind the best: how much lower, with the interval of the difference",
        "a run's cost is what Kendall's tau gains without it",
    )
    title = f"{measure} against {against}{_top(compared.spec)}"
    names = (*LABELS, *heads, "Runs", "Costliest runs")
    data = table([replace(compared, columns=columns)], with_costs=True)
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


def _column(row: CorrelationColumn) -> list[TextCell]:
    titles = [
        _title(cell, row.coefficient, standing)
        for cell, standing in zip(row.cells, row.standings, strict=True)
    ]
    return marked([cell.value(row.coefficient) for cell in row.cells], row.as_good, titles)


def _title(cell: CorrelationCell, coefficient: Coefficient, standing: Standing | None) -> str:
    value = cell.by.get(coefficient)
    if value is None:
        return NO_MEANING
    if value.value is None or standing is None:
        return f"void: {value.reason}"
    interval = f"95 % interval {span(cell.interval(coefficient))}"
    return f"over {counted(value.n, 'run')}; {interval}{_behind_best(standing)}"


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


def _detail_cells(row: CorrelationColumn, place: int) -> tuple[TextCell, ...]:
    cell, standing = row.cells[place], row.standings[place]
    value = _value(cell.by[row.coefficient])
    return value, TextCell(span(cell.interval(row.coefficient))), TextCell(_behind(standing))


def _value(correlation: Correlation) -> TextCell:
    if correlation.value is None:
        return TextCell(f"void: {correlation.reason}")
    return TextCell(number(correlation.value))
