"""The columns of a board: one list for head, rows, sorting, files, documents, public pages and the API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.template.defaultfilters import floatformat

from grading.formats import tables
from grading.formats.tables import TextCell, Value
from grading.measures import registry
from rubricweb.core.formatting import counted, number
from rubricweb.core.tags import percent, score as score_text
from rubricweb.leaderboards.board import Board, BoardRow, RunEstimate, provenance, sentences

STDERR = "\N{PLUS-MINUS SIGN} std. err."
FIRST = ("run_tag", "rank", "score", "stderr", "n_topics", "n_answered")
"""The columns with which a TSV file begins."""


class Place(Flag):
    """Where a column stands."""

    PAGE = auto()
    JSON = auto()
    """In the JSON file and the API."""
    TSV = auto()
    TEX = auto()
    FROZEN = auto()
    """In the document of a published board, and so in each frozen one."""
    PUBLIC = auto()
    """On the page of a published board."""
    PUBLIC_FILE = auto()


FILES = Place.JSON | Place.TSV


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    return number(value) if isinstance(value, int) else score_text(value)


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column on a page, with the queries of a click on it and of ranking by it."""

    name: str
    label: str
    title: str = ""
    note: str = ""
    """What stands small under the label."""
    sorts: str = ""
    order: str = ""
    ranks: str = ""


@dataclass(frozen=True, slots=True)
class BoardCell:
    value: str
    note: str = ""
    note_title: str = ""


@dataclass(frozen=True)
class Column:
    """A column whose value is a field of `BoardRow`; subclasses compute theirs from several."""

    name: str
    """In files, in the API, and in addresses that sort by it."""
    places: Place
    kind: type = float
    attribute: str = ""
    """The field of `BoardRow`, if it is not called as the column."""
    label: str = ""
    """On pages and in LaTeX."""
    show: Callable[[Any], str] = _text
    """How pages print the value."""
    is_sortable: bool = False
    is_nullable: bool = False
    help: str = ""
    """What the API's schema says of it."""
    title: str = ""
    note: str = ""
    less_is_better: bool = False

    @property
    def best_first(self) -> str:
        """Return the name in addresses that sort by it, best first."""
        return self.name if self.less_is_better else f"-{self.name}"

    @property
    def field(self) -> str:
        return self.attribute or self.name

    def value(self, row: BoardRow) -> Value:
        value: Value = getattr(row, self.field)
        return value

    def tsv(self, row: BoardRow) -> dict[str, Value]:
        """Return its values in a TSV file, by the names of their columns."""
        return {self.name: self.value(row)}

    def json(self, row: BoardRow) -> object:
        return self.value(row)

    @property
    def tex_heads(self) -> tuple[str, ...]:
        return (self.label,)

    def tex(self, row: BoardRow) -> tuple[TextCell, ...]:
        return tables.row(self.value(row))

    def cell(self, row: BoardRow) -> BoardCell:
        return BoardCell(self.show(self.value(row)))


class Answered(Column):
    """How many topics count, and of how many of them the run has a ranking."""

    def cell(self, row: BoardRow) -> BoardCell:
        of = "" if row.n_answered == row.n_topics else f"{row.n_answered} of "
        return BoardCell(f"{of}{row.n_topics}")


@dataclass(frozen=True)
class EstimateColumn(Column):
    """The score by people, with the ends of its interval."""

    by_people: str = ""
    """Its name in a TSV file."""

    def tsv(self, row: BoardRow) -> dict[str, Value]:
        ends = ("", "value"), ("_low", "low"), ("_high", "high")
        return {f"{self.by_people}{suffix}": getattr(row.estimate, end, None) for suffix, end in ends}

    def json(self, row: BoardRow) -> dict[str, float] | None:
        estimate = row.estimate
        if estimate is None:
            return None
        return {"value": estimate.value, "low": estimate.low, "high": estimate.high}

    @property
    def tex_heads(self) -> tuple[str, ...]:
        return (self.label, "low", "high")

    def tex(self, row: BoardRow) -> tuple[TextCell, ...]:
        """Return dashes for the ends of what is certain, and for what is not estimated."""
        if row.estimate is None:
            return tables.row(None, None, None)
        return tables.row(row.estimate.value, *(_ends(row.estimate) or (None, None)))

    def cell(self, row: BoardRow) -> BoardCell:
        if row.estimate is None:
            return BoardCell("\N{EN DASH}")
        ends = _ends(row.estimate)
        note = f"{floatformat(ends[0], 2)} to {floatformat(ends[1], 2)}" if ends else ""
        return BoardCell(floatformat(row.estimate.value, 2), note)


def _ends(estimate: RunEstimate) -> tuple[float, float] | None:
    return None if estimate.is_certain else (estimate.low, estimate.high)


@dataclass(frozen=True)
class Further(Column):
    """A further measure, with its standard error and its number of topics."""

    place: int = 0
    """Among the further columns of the board."""

    def value(self, row: BoardRow) -> float | None:
        return row.others[self.place].score

    def tsv(self, row: BoardRow) -> dict[str, Value]:
        other = row.others[self.place]
        return {
            self.name: other.score,
            f"{self.name}_stderr": other.stderr,
            f"{self.name}_n_topics": other.n_topics,
        }

    def json(self, row: BoardRow) -> dict[str, float | None]:
        other = row.others[self.place]
        return {"score": other.score, "stderr": other.stderr, "n_topics": other.n_topics}

    @property
    def tex_heads(self) -> tuple[str, ...]:
        return (self.label, STDERR)

    def tex(self, row: BoardRow) -> tuple[TextCell, ...]:
        other = row.others[self.place]
        return tables.row(other.score, other.stderr)

    def cell(self, row: BoardRow) -> BoardCell:
        other = row.others[self.place]
        if not other.stderr:
            return BoardCell(score_text(other.score))
        title = f"standard error over {counted(other.n_topics, 'topic')}" if other.n_topics else ""
        return BoardCell(score_text(other.score), f"\N{PLUS-MINUS SIGN} {score_text(other.stderr)}", title)


P = Place
COLUMNS: tuple[Column, ...] = (
    Column("rank", FILES | P.TEX | P.FROZEN, int, label="Rank"),
    Column("interval", P.TEX | P.FROZEN | P.PUBLIC_FILE, str, label="Possible ranks"),
    Column("rank_first", FILES, int, "first", help="The best rank that the run may have."),
    Column("rank_last", FILES, int, "last"),
    Column(
        "is_clearly_behind",
        FILES | P.FROZEN,
        bool,
        "is_behind",
        help="Clearly behind the first, by the board's test.",
    ),
    Column("run_tag", FILES | P.TEX | P.FROZEN | P.PUBLIC_FILE, str, label="Run"),
    Column("score", ~P.PUBLIC, label="Score", is_sortable=True, is_nullable=True),
    Column(
        "stderr",
        FILES | P.TEX | P.FROZEN | P.PUBLIC_FILE,
        label=STDERR,
        is_nullable=True,
        help="The standard error over topics.",
    ),
    Column("low", FILES | P.FROZEN | P.PUBLIC_FILE, is_nullable=True, help="The 95 % interval over topics."),
    Column("high", FILES | P.FROZEN | P.PUBLIC_FILE, is_nullable=True),
    Column("n_topics", FILES | P.FROZEN, int, help="Topics that count."),
    Column("n_answered", FILES | P.FROZEN, int, is_nullable=True),
    Column(
        "judged",
        FILES | P.FROZEN | P.PUBLIC | P.PUBLIC_FILE,
        show=percent,
        label="judged@k",
        is_nullable=True,
        help="The share of first passages with a label.",
    ),
    Answered("n_topics", P.PUBLIC | P.PUBLIC_FILE, int, label="Topics"),
    Column(
        "verified",
        FILES,
        show=percent,
        is_nullable=True,
        help="The share of passage-question pairs that people checked.",
    ),
    EstimateColumn(
        "estimate",
        P.JSON,
        dict,
        label="By people, estimated",
        is_nullable=True,
        help="`value`, `low` and `high` of the score that people would give.",
    ),
)
"""In the order of pages, of JSON and of LaTeX. What follows are the further measures of each board."""


def columns_of(board: Board) -> list[Column]:
    """Return the columns of a board with its further measures, and with estimates where it has any."""
    name = f"{'cover' if board.spec.measure.name == registry.DEFAULT else 'score'}_by_people"
    columns: list[Column] = []
    for column in COLUMNS:
        if isinstance(column, EstimateColumn) and any(row.estimate for row in board.rows):
            title = f"{provenance.estimand(board.spec)}; "
            title += sentences.method(board.sample) if board.sample else ""
            places = column.places | P.TSV | P.TEX | P.PAGE
            columns.append(replace(column, by_people=name, title=title, places=places))
        elif column.name == "score":
            title = f"{provenance.measure_name(board.spec)}: {provenance.denominator(board)}"
            note = _topics(board.n_topics) if board.spec.columns else ""
            less = board.spec.measure.registered.less_is_better
            columns.append(replace(column, title=title, note=note, less_is_better=less))
        else:
            columns.append(column)
    for place, further in enumerate(board.spec.columns):
        stated = provenance.column_stated(board, place)
        column = Further(
            further.token,
            ~P.PUBLIC_FILE,
            label=further.label,
            is_sortable=True,
            title=f"{further.token}: {stated}. Each score with its standard error",
            note=_topics(board.columns[place].n_topics),
            place=place,
            less_is_better=(further.support or further.measure.registered).less_is_better,
        )
        columns.append(column)
    return columns


def at(columns: Iterable[Column], place: Place, first: Sequence[str] = ()) -> list[Column]:
    """Return the columns of a place: those that are named `first` in that order, then the others."""
    there = [column for column in columns if place in column.places]
    order = {name: number for number, name in enumerate(first)}
    return sorted(there, key=lambda column: order.get(column.name, len(first)))


def heads(board: Board, columns: Iterable[Column], query: str = "", sort: str = "") -> list[Head]:
    """Return the heads of the page, each with the queries of a click on it."""
    own = {column.token for column in board.spec.columns if column.is_own}
    tokens = [column.token for column in board.spec.columns]
    measure = dict(parse_qsl(query)).get("measure", "")
    rows = []
    for column in at(columns, Place.PAGE):
        head = Head(column.name, column.label, column.title, column.note)
        if column.is_sortable:
            order = {column.name: "ascending", f"-{column.name}": "descending"}.get(sort, "")
            worst_first = f"-{column.name}" if column.less_is_better else column.name
            then = worst_first if sort == column.best_first else column.best_first
            head = replace(head, order=order, sorts=changed(query, sort=then))
        if column.name in own:
            others = ",".join(measure if token == column.name else token for token in tokens)
            ranks = changed(query, measure=column.name, columns=others, sort="")
            head = replace(head, ranks=ranks)
        rows.append(head)
    return rows


def in_order(board: Board, columns: Iterable[Column], sort: str) -> Sequence[BoardRow]:
    """Return the rows by a column, "-" before it for falling, undefined ones last; else best first."""
    name = sort.removeprefix("-")
    column = next((column for column in columns if column.is_sortable and column.name == name), None)
    if column is None:
        return board.rows
    values = [(column.value(row), row) for row in board.rows]
    defined = [(value, row) for value, row in values if isinstance(value, int | float)]
    ordered = sorted(defined, key=lambda pair: pair[0], reverse=sort.startswith("-"))
    return [*(row for _, row in ordered), *(row for value, row in values if value is None)]


def by_rank(board: Board) -> str:
    """Return the name of the sort by score in which the rows stand in the order of their ranks."""
    return next(column.best_first for column in columns_of(board) if column.name == "score")


def changed(query: str, **changes: str) -> str:
    """Return the query of an address with these values changed; an empty value removes one."""
    values = dict(parse_qsl(query)) | changes
    return urlencode({name: value for name, value in values.items() if value})


def _topics(n: int) -> str:
    return f"{n} topic" if n == 1 else f"{n} topics"
