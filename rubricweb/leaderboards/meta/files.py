"""Meta-evaluation for programs: TSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from grading.formats.tables import DataTable, Value, from_mappings
from grading.statistics.mean_intervals import ConfidenceInterval
from grading.statistics.rank_correlation import VOID_NAMES
from rubricweb import __version__
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta.selectors import (
    NAMED_COSTS,
    RESAMPLES,
    Comparison,
    CorrelationCell,
    CorrelationColumn,
    MetaSpec,
)

Json = dict[str, object]

WINS = "measures of which the row is best, or as good, by every coefficient shown"


def table(comparisons: Sequence[Comparison], *, with_costs: bool = False) -> DataTable:
    """Return a line a board, measure and board that it is compared with; with the runs that cost Kendall
    most.
    """
    lines = [
        _line(comparison, place, measure)
        | (_costs(comparison.of(measure)[0].cells[place]) if with_costs else {})
        for comparison in comparisons
        for place in range(len(comparison.rows))
        for measure in dict.fromkeys(one.measure for one in comparison.columns)
    ]
    return from_mappings(lines, stated(comparisons))


def stated(comparisons: Sequence[Comparison]) -> list[tuple[str, str]]:
    """Return what holds for all of them."""
    slugs = dict.fromkeys(
        row.contender.collection.slug for comparison in comparisons for row in comparison.rows
    )
    specs = [comparison.spec for comparison in comparisons]
    return [
        *(("collection", slug) for slug in slugs),
        *(("topics", text) for text in dict.fromkeys(one.topics.stated for one in specs if one.topics)),
        ("first relevant judgment", ", ".join(dict.fromkeys(str(one.min_relevant) for one in specs))),
        ("cutoff", "first 20 passages by rank, where a measure of items names no other"),
        ("banks", "as of now"),
        ("ratings", "the grader"),
        ("intervals", f"95 %, {RESAMPLES:,} resamples of topics, the same for all rows"),
        *(("as good", text) for text in dict.fromkeys(as_good(one) for one in specs)),
        ("wins", WINS),
        *provenance.when(),
    ]


def document(comparison: Comparison) -> Json:
    """Everything as one JSON document; what is void is null, with the reason's name beside it."""
    spec = comparison.spec
    return {
        "against": spec.reference,
        "official_top": spec.k,
        "topics": spec.topics.token if spec.topics else None,
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
    """When a row is as good as the best of a column."""
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
    for one in columns:
        line |= _coefficient(one, place)
    return line


def _coefficient(one: CorrelationColumn, place: int) -> dict[str, Value]:
    name, cell, standing = one.coefficient.value, one.cells[place], one.standings[place]
    value, spread = cell.by.get(one.coefficient), cell.interval(one.coefficient)
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
        known = costs[place] if place < len(costs) else None
        line[f"costliest_{place + 1}"] = known.run_tag if known else ""
        line[f"costliest_{place + 1}_cost"] = known.cost if known else None
    return line


def _measure(columns: Sequence[CorrelationColumn], place: int) -> Json | None:
    first = columns[0].cells[place]
    if not first.by:
        return None
    document: Json = {"against": first.against}
    for one in columns:
        value, standing = first.by[one.coefficient], one.standings[place]
        document[one.coefficient.value] = {
            "value": value.value,
            "runs": value.n,
            "void": VOID_NAMES.get(value.reason),
            "interval": _ends(first.interval(one.coefficient)),
            "behind_best": standing.behind if standing else None,
            "behind_best_interval": _ends(standing.interval) if standing else None,
            "as_good": standing.is_as_good if standing else None,
        }
    document["costliest"] = [{"run_tag": cost.run_tag, "cost": cost.cost} for cost in first.costs]
    return document


def _ends(spread: ConfidenceInterval) -> list[float] | None:
    return [spread.low, spread.high] if spread.is_defined else None
