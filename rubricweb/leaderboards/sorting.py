"""The sortable heads of a board's columns, and the order that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from urllib.parse import parse_qsl, urlencode

from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.types import Board, BoardRow


@dataclass(frozen=True, slots=True)
class Head:
    """One column of numbers: `sorts` is the query of a click on it, `ranks` that of ranking by it."""

    name: str
    label: str
    title: str
    order: str
    sorts: str
    ranks: str = ""
    note: str = ""
    """What stands small under the label."""


def changed(query: str, **changes: str) -> str:
    """Return the query with these values changed; an empty value removes one."""
    words = dict(parse_qsl(query)) | changes
    return urlencode({name: value for name, value in words.items() if value})


def further_heads(board: Board, query: str = "", sort: str = "") -> list[Head]:
    """Return the heads of the further columns: what each stands on and how many topics it counts."""
    measure = dict(parse_qsl(query)).get("measure", "")
    tokens = [column.token for column in board.spec.columns]
    heads = []
    for place, column in enumerate(board.spec.columns):
        title = (
            f"{column.token}: {provenance.column_stated(board, place)}. Each score with its standard error"
        )
        head = _head(column.token, column.label, title, query=query, sort=sort)
        if column.is_own:
            others = ",".join(measure if token == column.token else token for token in tokens)
            head = replace(head, ranks=changed(query, measure=column.token, columns=others, sort=""))
        heads.append(replace(head, note=_topics(board.columns[place].n_topics)))
    return heads


def _topics(n: int) -> str:
    return f"{n} topic" if n == 1 else f"{n} topics"


def score_head(board: Board, query: str, sort: str) -> Head:
    title = f"{provenance.measure_name(board.spec)}: {provenance.denominator(board)}"
    head = _head("score", "Score", title, query=query, sort=sort)
    return replace(head, note=_topics(board.n_topics)) if board.spec.columns else head


def in_order(board: Board, sort: str) -> Sequence[BoardRow]:
    """Return the rows by a column, "-" before it for falling, undefined ones last; else best first."""
    name, falls = sort.removeprefix("-"), sort.startswith("-")
    tokens = [column.token for column in board.spec.columns]

    def value(row: BoardRow) -> float | None:
        if name in tokens:
            return row.others[tokens.index(name)].score
        return row.score

    if name not in (*tokens, "score"):
        return board.rows
    known = [row for row in board.rows if value(row) is not None]
    ordered = sorted(known, key=lambda row: value(row) or 0.0, reverse=falls)
    return [*ordered, *(row for row in board.rows if value(row) is None)]


def band_rows(bands: Sequence[object]) -> list[int]:
    """Return, for rows of these bands, how many rows the band has at its first row, else 0.

    >>> band_rows(["a", "a", "b", "a"])
    [2, 0, 1, 1]
    """
    rows: list[int] = []
    for _, group in groupby(bands):
        n = len(list(group))
        rows += [n, *[0] * (n - 1)]
    return rows


def is_ranked(sort: str) -> bool:
    """Return whether the rows stand in the order of their ranks, in which the bands stand."""
    return sort in ("", "-score")


def _head(name: str, label: str, title: str, *, query: str, sort: str) -> Head:
    order = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    sorts = changed(query, sort=name if order == "descending" else f"-{name}")
    return Head(name, label, title, order, sorts)
