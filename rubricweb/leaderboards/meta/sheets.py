"""The tables of meta-evaluation, for the page, for papers and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grading.formats.sheets import Cell, Mark, Sheet, marked, number
from grading.measures.rank_correlation import VOID_NAMES, Coefficient, Correlation
from grading.measures.resampling import Interval
from rubricweb import __version__
from rubricweb.leaderboards.board.choices import grader_name
from rubricweb.leaderboards.meta.contenders import Contender
from rubricweb.leaderboards.meta.selectors import RESAMPLES, DetailRow, Found, MetaRow, Wanted

Json = dict[str, object]

SIGNS = {Coefficient.SPEARMAN: "S", Coefficient.KENDALL: "K", Coefficient.TAU_AP: "AP"}
NAMES = {Coefficient.SPEARMAN: "Spearman", Coefficient.KENDALL: "Kendall", Coefficient.TAU_AP: "tau-AP"}
NO_MEANING = "this measure has no meaning for this grader"
LABELS = ("Evaluation", "Bank", "\N{GREATER-THAN OR EQUAL TO}")


def comparison(rows: Sequence[MetaRow], wanted: Wanted, against: str, shown: Sequence[Coefficient]) -> Sheet:
    """A row a board, a column a measure and coefficient; the best and its ties are marked and counted."""
    columns = [
        _column([row.found[place] for row in rows], coefficient, wanted.within)
        for place, _ in enumerate(wanted.measures)
        for coefficient in shown
    ]
    heads = [f"{name} {SIGNS[coefficient]}" for name in wanted.measures for coefficient in shown]
    lines = []
    for place, row in enumerate(rows):
        cells = [column[place] for column in columns]
        wins = sum(cell.mark is not Mark.NONE for cell in cells)
        lines.append((*_labels(row.contender), *cells, Cell(str(wins))))
    top = f", official top {wanted.k} only" if wanted.k else ""
    said = (
        f"Correlation of the order of runs with {against}{top}",
        "S: Spearman's rho, K: Kendall's tau-b, AP: tau-AP; tied runs take average ranks",
        "wins: in how many columns best, or as good",
        void(rows),
        f"RubricWeb {__version__}",
    )
    legend = (Mark.BEST, "best of a column"), (Mark.TIED, f"at most {wanted.within:g} below it")
    return Sheet(said[0], (*LABELS, *heads, "Wins"), tuple(lines), len(LABELS), said[1:], legend=legend)


def detail(rows: Sequence[DetailRow], measure: str, wanted: Wanted) -> Sheet:
    """One measure: every coefficient with its interval, the number of runs, and those that cost most."""
    heads = [head for name in Coefficient for head in (NAMES[name], "95 % interval")]
    lines = []
    for row in rows:
        pairs = [row.by[name] for name in Coefficient]
        values = [cell for value, spread in pairs for cell in (_value(value), Cell(span(spread)))]
        costs = ", ".join(f"{cost.run_tag} ({cost.cost:+.3f})" for cost in row.costs)
        lines.append((*_labels(row.contender), *values, Cell(str(pairs[0][0].n)), Cell(costs or "none")))
    against = rows[0].against if rows else "nothing"
    top = f", official top {wanted.k} only" if wanted.k else ""
    said = (
        f"intervals: {RESAMPLES:,} resamples of topics; a run's cost is what Kendall's tau gains without it"
    )
    title = f"{measure} against {against}{top}"
    columns = (*LABELS, *heads, "Runs", "Costliest runs")
    return Sheet(title, columns, tuple(lines), len(LABELS), (said,), n_notes=1)


def document(
    rows: Sequence[MetaRow], details: Iterable[tuple[str, Sequence[DetailRow]]], wanted: Wanted
) -> Json:
    """Everything as one JSON document; what is void is null, with the reason's name beside it."""
    by_measure = {name: {row.contender: row for row in found} for name, found in details}
    return {
        "against": wanted.reference,
        "official_top": wanted.k,
        "within": wanted.within,
        "resamples": RESAMPLES,
        "version": __version__,
        "rows": [
            {
                "grader": grader_name(row.contender.config),
                "bank": row.contender.bank.name if row.contender.bank else None,
                "min_grade": row.contender.min_grade,
                "measures": {
                    name: _measure_document(by_measure[name].get(row.contender)) for name in wanted.measures
                },
            }
            for row in rows
        ],
    }


def void(rows: Sequence[MetaRow]) -> str:
    """What a dash in the table says; nothing where there is none."""
    has_meaning = all(cell.by for row in rows for cell in row.found)
    found = {value.reason for row in rows for cell in row.found for value in cell.by.values()} - {""}
    reasons = sorted(found) + ([] if has_meaning else [NO_MEANING])
    return f"a dash is void: {'; '.join(reasons)}" if reasons else ""


def span(spread: Interval) -> str:
    return f"{spread.low:.3f} to {spread.high:.3f}" if spread.is_defined else "\N{EN DASH}"


def _column(found: Sequence[Found], coefficient: Coefficient, within: float) -> list[Cell]:
    titles = [_title(cell.by.get(coefficient)) for cell in found]
    return marked([cell.value(coefficient) for cell in found], within=within, titles=titles)


def _title(found: Correlation | None) -> str:
    if found is None:
        return NO_MEANING
    return f"void: {found.reason}" if found.value is None else f"over {found.n} runs"


def _labels(row: Contender) -> tuple[Cell, ...]:
    return Cell(row.label, title=grader_name(row.config)), Cell(row.bank_name), Cell(str(row.min_grade))


def _value(found: Correlation) -> Cell:
    if found.value is None:
        return Cell(f"void: {found.reason}")
    return Cell(number(found.value))


def _measure_document(row: DetailRow | None) -> Json | None:
    if row is None:
        return None
    found: Json = {"against": row.against}
    for name, (value, spread) in row.by.items():
        found[name.value] = {
            "value": value.value,
            "runs": value.n,
            "void": VOID_NAMES.get(value.reason),
            "interval": [spread.low, spread.high] if spread.is_defined else None,
        }
    found["costliest"] = [{"run_tag": cost.run_tag, "cost": cost.cost} for cost in row.costs]
    return found
