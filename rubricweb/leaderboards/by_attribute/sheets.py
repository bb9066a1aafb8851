"""The tables of a board by an attribute of topics."""

from __future__ import annotations

from collections.abc import Callable

from grading.arrays import none_if_nan
from grading.formats.data_table import DataTable, from_mappings
from grading.formats.sheets import Mark, PrintedTable, TextCell, number
from grading.statistics.max_t import MIN_TOPICS
from grading.topic_attributes import Attribute, TopicSlice
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard
from rubricweb.leaderboards.by_attribute.selectors import BoardByAttribute, SliceColumn

Link = Callable[[TopicSlice | None], str]
"""From a slice to the address of its board."""
ALL = "all topics"
BOLD = "not clearly behind the first run on the topics of the slice"


def slice_sheet(board: BoardByAttribute, link: Link) -> PrintedTable:
    """How many topics each slice has, and whether they can tell runs apart."""
    rows = [
        (
            TextCell(_name(column), href=link(column.topics)),
            TextCell(str(column.n_topics)),
            TextCell(number(column.order_kept.value), title=column.order_kept.reason),
            TextCell(_tells(column, len(board.run_tags))),
        )
        for column in (board.whole, *board.columns)
    ]
    heads = ("Topics with", "Topics", "\N{GREEK SMALL LETTER TAU} with all topics", "What they can tell")
    note = "topics: those in the mean"
    data = from_mappings([_slice_line(column) for column in (board.whole, *board.columns)])
    return PrintedTable("Slices", heads, tuple(rows), comments=(note,), n_notes=1, data=data)


def score_sheet(board: BoardByAttribute, scored: ScoredBoard) -> PrintedTable:
    """Each run's mean on each slice with its standard error."""
    columns = (board.whole, *board.columns)
    tops = [set(column.not_behind) for column in columns]
    rows = [
        (
            TextCell(tag),
            *(
                TextCell(_score(column, run), Mark.TIED if run in top else Mark.NONE)
                for column, top in zip(columns, tops, strict=True)
            ),
        )
        for run, tag in enumerate(board.run_tags)
    ]
    heads = ("Run", *(f"{_short_name(column, board.attribute)} ({column.n_topics})" for column in columns))
    return PrintedTable(
        f"{provenance.measure_name(scored.spec)} by {board.attribute.name}",
        heads,
        tuple(rows),
        comments=("in brackets: topics in the mean; \N{PLUS-MINUS SIGN}: one standard error",),
        legend=((Mark.TIED, BOLD),),
        data=_data(board, scored),
    )


def _data(board: BoardByAttribute, scored: ScoredBoard) -> DataTable:
    lines = [
        {
            "slice": column.topics.token if column.topics else "",
            "n_topics": column.n_topics,
            "run_tag": tag,
            "score": none_if_nan(column.means[run]),
            "stderr": none_if_nan(column.stderrs[run]),
        }
        for column in (board.whole, *board.columns)
        for run, tag in enumerate(board.run_tags)
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def _slice_line(column: SliceColumn) -> dict[str, str | int | float | None]:
    return {
        "slice": column.topics.token if column.topics else "",
        "n_topics": column.n_topics,
        "tau": column.order_kept.value,
    }


def _name(column: SliceColumn) -> str:
    return column.topics.words if column.topics else ALL


def _short_name(column: SliceColumn, attribute: Attribute) -> str:
    """Return the name of a slice where the attribute is known."""
    if column.topics is None:
        return ALL
    return f"{column.topics.value} third" if attribute.is_scored else column.topics.value


def _score(column: SliceColumn, run: int) -> str:
    stderr = column.stderrs[run]
    error = "" if stderr != stderr else f" \N{PLUS-MINUS SIGN}{stderr:z.2f}"
    return f"{number(float(column.means[run]))}{error}"


def _tells(column: SliceColumn, runs: int) -> str:
    if column.ranks is None:
        return "\N{EN DASH}"
    if not column.ranks.can_tell:
        return f"too few topics: it takes {MIN_TOPICS}"
    return f"not clearly behind the first: {len(column.not_behind) - 1} of {runs - 1} others"
