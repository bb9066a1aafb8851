"""The sortable heads of a board's columns, and the order that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

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


def changed(query: str, **changes: str) -> str:
    """The tail of an address with these words in place of what it says; an empty word takes one away."""
    said = dict(parse_qsl(query)) | changes
    return urlencode({name: value for name, value in said.items() if value})


def heads(board: Board, query: str, sort: str) -> list[Head]:
    """Of the further columns, then of what stands beside the score."""
    said = dict(parse_qsl(query))
    measure, tokens = said.get("measure", ""), [column.token for column in board.spec.columns]
    found = []
    for column in board.spec.columns:
        others = [measure if token == column.token else token for token in tokens]
        is_own = column.config is None and not column.is_judgments
        ranks = changed(query, measure=column.token, columns=",".join(others), sort="") if is_own else ""
        title = f"{column.token}; the order of runs is by {said.get('measure', 'the first measure')}"
        found.append(_head(column.token, column.label, title, query=query, sort=sort, ranks=ranks))
    k = board.judged_at
    found.append(
        _head("judged", f"judged@{k}", f"Graded share of the first {k} passages", query=query, sort=sort)
    )
    if board.verified[0]:
        title = f"Share of the cells of the first {k} passages that people have seen to"
        found.append(_head("verified", "Verified", title, query=query, sort=sort))
    return [*found, _head("topics", "Topics", "Topics in the mean", query=query, sort=sort)]


def score_head(board: Board, label: str, query: str, sort: str) -> Head:
    return _head("score", label, "What ranks the runs", query=query, sort=sort or "-score")


def in_order(board: Board, sort: str) -> Sequence[BoardRow]:
    """The rows by a column, "-" before it for falling; undefined values last. Other words: best first."""
    name, falls = sort.removeprefix("-"), sort.startswith("-")
    tokens = [column.token for column in board.spec.columns]

    def value(row: BoardRow) -> float | None:
        if name in tokens:
            return row.others[tokens.index(name)]
        return {"score": row.score, "judged": row.judged, "verified": row.verified}.get(name, row.n_answered)

    if name not in (*tokens, "score", "judged", "verified", "topics"):
        return board.rows
    known = [row for row in board.rows if value(row) is not None]
    ordered = sorted(known, key=lambda row: value(row) or 0.0, reverse=falls)
    return [*ordered, *(row for row in board.rows if value(row) is None)]


def is_ranked(sort: str) -> bool:
    """The rows stand in the order of their ranks, so that brackets join neighbours."""
    return sort in ("", "-score")


def _head(name: str, label: str, title: str, *, query: str, sort: str, ranks: str = "") -> Head:
    order = {name: "ascending", f"-{name}": "descending"}.get(sort, "")
    wanted = name if order == "descending" else f"-{name}"
    sorts = changed(query, sort="" if (name, wanted) == ("score", "-score") else wanted)
    return Head(name, label, title, order, sorts, ranks)
