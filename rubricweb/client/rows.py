"""The documents of the API, as its OpenAPI document describes them, and as data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    import pandas as pd


Board = dict[str, Any]
"""A leaderboard as the page and its JSON file have it: `rows`, `columns`, and what it stands on."""
JsonDict = dict[str, Any]
"""An answer whose fields the OpenAPI document alone describes."""
Steer = Literal["pause", "resume", "cancel", "cancel-now", "first", "in-turn"]

CATEGORIES = ("grader", "topic", "item", "outcome", "assessor", "how", "kind", "importance")
"""Columns whose few values repeat in every row."""
TIMES = ("at", "created_at", "started_at", "ended_at", "retired_at")


class Collection(TypedDict):
    id: int
    slug: str
    name: str
    description: str
    min_relevant: int
    created_at: str


class Topic(TypedDict):
    id: int
    query_id: str
    text: str
    description: str
    narrative: str
    background: str
    attributes: Any
    attribute_sources: Any
    position: int


class Pooled(TypedDict):
    id: int
    passage: int
    doc_id: str
    position: int


class Passage(TypedDict):
    id: int
    doc_id: str
    title: str
    url: str
    headings: str
    start_char: int | None
    end_char: int | None
    text: str


class Run(TypedDict):
    id: int
    name: str
    type: str
    is_closed_book: bool
    is_made_here: bool


class Bank(TypedDict):
    id: int
    name: str


class Item(TypedDict):
    id: int
    topic: str
    kind: str
    facet_id: str
    uid: str
    text: str
    importance: str
    weight: float
    position: int
    version: int
    retired_at: str | None


class Change(TypedDict):
    id: int
    version: int
    verb: str
    text: str
    detail: str
    at: str


class Version(TypedDict):
    id: int
    number: int
    name: str
    note: str
    at: str


class Grader(TypedDict):
    id: int
    fingerprint: str
    backend: str
    llm: str
    prompt_class: str
    purpose: str
    options: Any


class Grade(TypedDict):
    id: int
    grader: str
    topic: str
    doc_id: str
    item: str
    rating: int | None
    outcome: str
    answer: str
    confidence: float | None
    expectation: float | None
    call_items: int | None
    call_place: int | None
    at: str


class Rating(TypedDict):
    id: int
    event: str
    assessor: str
    topic: str
    doc_id: str
    item: str
    number: int
    rating: int | None
    verdict: str
    how: str
    is_withdrawn: bool
    at: str


class Price(TypedDict):
    cells: int
    calls: int | None
    tokens: int | None
    seconds: list[float] | None
    dollars: float | None


class PlanPart(TypedDict):
    grader: str
    cells: int


class Plan(TypedDict):
    cells: int
    later: int
    failed: int
    by_grader: list[PlanPart]
    price: Price | None


class Job(TypedDict):
    id: int
    state: str
    scope: str
    grader: str
    total: int
    error: str
    pause_reason: str
    created_at: str
    started_at: str | None
    ended_at: str | None


class Panel(TypedDict):
    id: int
    fingerprint: str
    name: str
    purpose: str
    rule: str
    quorum: int
    members: list[int | None]
    weights: list[list[float]]
    to_combine: int


class Progress(TypedDict):
    done: int
    failed: int
    rate: float | None
    remaining: list[float] | None


class JobWithProgress(Job):
    progress: Progress


class LabelChange(TypedDict):
    doc_id: str
    before: int | None
    after: int | None
    was_covered: bool
    is_covered: bool


class RunMove(TypedDict):
    run: str
    score_before: float
    score_after: float
    rank_before: int
    rank_after: int
    rank_interval: str
    is_beyond: bool


class WhatIf(TypedDict):
    grader: str
    min_grade: int
    labels: list[LabelChange]
    runs: list[RunMove]
    swapped_pairs: int
    rescored: int


class Impact(TypedDict):
    passages: int
    already_graded: int
    to_grade: int
    seconds: float | None
    dollars: float | None
    runs: int
    could_move: list[str]
    is_twin: bool


class Import(TypedDict):
    id: int
    step: str
    state: str
    error: str
    created_at: str
    ended_at: str | None
    undone_at: str | None


class ImportFile(TypedDict):
    id: int
    name: str
    size: int
    state: str
    format: str
    author: str
    takes_author: bool
    read: str
    problem: str
    line: int | None
    choices: list[str]


class Count(TypedDict):
    kind: str
    before: int | None
    new: int
    changed: int
    unchanged: int


class ImportWithFiles(Import):
    files: list[ImportFile]
    counts: list[Count]
    notes: list[str]
    problem: str
    is_ready: bool
    options: Any


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
