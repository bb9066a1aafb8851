"""What the page of a published board draws, and its file: made of its document and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from grading.formats.tables import Value, from_mappings, tex, tsv_lines
from rubricweb.core.templatetags.core import percent
from rubricweb.leaderboards import board_plots
from rubricweb.leaderboards.board_plots import Dot, DotAxis, Spread
from rubricweb.leaderboards.public.documents import Document, left_out
from rubricweb.leaderboards.public.models import PublicBoard
from rubricweb.leaderboards.sorting import band_rows
from rubricweb.plots.cells import shade

SORTS = ("", "score", "run")
"""By rank, the lowest score first, by name."""


@dataclass(frozen=True, slots=True)
class Line:
    row: dict[str, Any]  # JSON
    dot: Dot | None
    band: str
    band_rows: int
    cells: list[tuple[str, float | None, int | None]]
    """Of each topic its name, the score and its shade."""


def page_context(public: PublicBoard, document: Document, address: str, sort: str) -> dict[str, object]:
    """Return the context of the page; `address` is its own, for those who cite it."""
    spreads = [spread for row in document["rows"] if (spread := _spread(row))]
    axis = board_plots.dot_axis(spreads)
    made = date.fromisoformat(document["made"]) if "made" in document else public.at.date()
    return {
        "public": public,
        "board": document,
        "axis": axis,
        "lines": _lines(document, axis, sort),
        "sort": sort,
        "made": made,
        "facts": _facts(public, document),
        "left_out": left_out(document),
        "address": address,
        "bibtex": _bibtex(public, document, address, made),
    }


def _facts(public: PublicBoard, document: Document) -> str:
    """Return how much the board is made of and who graded it, in words."""
    runs = f"{len(document['rows'])} runs{' with pseudonyms' if public.is_anonymous else ''}"
    if "graded_by" not in document:
        return runs
    checked, cells = document["checked"]
    by_people = f"; {percent(checked / cells)} checked by people" if cells else ""
    size = f"{document['n_topics']} topics, {document['n_items']} questions and nuggets"
    return f"{runs}, {size} · {document['graded_by']}{by_people}"


def file_lines(document: Document) -> list[str]:
    """Return the board as tab-separated values: what it stands on in comments, then a run a line."""
    topics = document.get("topics", [])
    names = ("run_tag", "interval", "score", "stderr", "low", "high", "judged", "n_topics")
    rows: list[dict[str, Value]] = []
    for row in document["rows"]:
        of_topics = zip(topics, row.get("by_topic", []), strict=True)
        values: dict[str, Value] = {name: row[name] for name in names}
        others = zip(document["heads"], row["others"], strict=True)
        values |= {head["label"]: other["score"] for head, other in others}
        rows.append(values | {f"topic {topic}": score for topic, score in of_topics})
    stated = [("verdict", document["headline"])] if document["headline"] else []
    return tsv_lines(
        from_mappings(rows, [*stated, *((one["name"], one["value"]) for one in document["statements"])])
    )


def _lines(document: Document, axis: DotAxis | None, sort: str) -> list[Line]:
    rows = document["rows"]
    has_bands = any(row.get("is_behind") for row in rows)
    if sort == "run":
        rows = sorted(rows, key=lambda row: str(row["run_tag"]))
    elif sort == "score":
        rows = [*(row for row in rows[::-1] if row["score"] is not None), *_without(rows)]
    elif has_bands:
        rows = sorted(rows, key=lambda row: (row["is_behind"] is None, row["is_behind"]))
    topics = document.get("topics", [])
    scores = [score for row in rows for score in row.get("by_topic", []) if score is not None]
    highest = max([1.0, *scores])
    lines = []
    for row, n_rows in zip(rows, band_rows([row.get("is_behind") for row in rows]), strict=True):
        spread = _spread(row)
        is_banded = has_bands and row.get("is_behind") is not None
        line = Line(
            row,
            axis.dot(spread) if axis and spread else None,
            board_plots.BANDS[bool(row["is_behind"])] if is_banded else "",
            n_rows if is_banded else 0,
            [
                (topic, score, None if score is None else shade(score / highest))
                for topic, score in zip(topics, row.get("by_topic", []), strict=True)
            ],
        )
        lines.append(line)
    return lines


def _spread(row: dict[str, Any]) -> Spread | None:
    return None if row["score"] is None else Spread(row["score"], row["low"], row["high"])


def _without(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["score"] is None]


def _bibtex(public: PublicBoard, document: Document, address: str, made: date) -> str:
    kind = "frozen" if public.is_frozen else "as of"
    fields = {
        "title": f"{{{tex(public.title)}}}",
        "author": f"{{{tex(document.get('collection', 'RubricWeb'))}}}",
        "year": str(made.year),
        "howpublished": rf"\url{{{address}}}",
        "note": f"Leaderboard, {kind} {made.isoformat()}",
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{leaderboard-{public.token[:8]},\n{lines}}}"
