"""Boards and rows as data frames, for notebooks. pandas is an extra: `pip install 'rubricweb[pandas]'`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rubricweb.client.rows import Board

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = ("grader", "topic", "item", "outcome", "assessor", "how", "kind", "importance")
"""Columns whose few values repeat in every row."""
TIMES = ("at", "created_at", "started_at", "ended_at", "retired_at")


def to_pandas(table: Board | Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a data frame of a board, with the runs as index, or of rows, with their ids as index.

    Further columns of a board have the names of its files: `NAME`, `NAME_stderr`, `NAME_n_topics`. A frame of
    a board has the rest of the board in `attrs["board"]`. Ratings are of pandas' type Int8, in which what is
    missing is not 0. Raises ImportError without pandas.
    """
    return _board_frame(table) if isinstance(table, dict) else _rows_frame(table)


def _board_frame(board: Board) -> pd.DataFrame:
    import pandas as pd

    rows = [_flat(row) for row in board["rows"]]
    frame = pd.DataFrame(rows, columns=None if rows else ["run_tag", "rank", "score"]).set_index("run_tag")
    frame.attrs["board"] = {name: value for name, value in board.items() if name != "rows"}
    return frame


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat = {name: value for name, value in row.items() if name not in ("columns", "estimate")}
    for name, value in (row["estimate"] or {}).items():
        flat["cover_by_people" if name == "value" else f"cover_by_people_{name}"] = value
    for token, values in row["columns"].items():
        flat[token] = values["score"]
        flat |= {f"{token}_{name}": value for name, value in values.items() if name != "score"}
    return flat


def _rows_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(list(rows))
    if "id" in frame:
        frame = frame.set_index("id")
    types = {name: "category" for name in CATEGORIES if name in frame}
    types |= {"rating": "Int8"} if "rating" in frame else {}
    frame = frame.astype(types)
    for name in TIMES:
        if name in frame:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
    return frame
