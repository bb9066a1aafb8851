"""The tables of influence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from grading.formats.tables import Mark, PrintedTable, TextCell, number
from rubricweb.grades.rank_intervals import span as span_of_ranks
from rubricweb.leaderboards.influence.duplicates import DuplicatesRow
from rubricweb.leaderboards.influence.items import DependentRow, InfluenceRow, PairRow
from rubricweb.leaderboards.influence.pool import HOLE_DEPTHS, HolesRow, OriginRow, TeamRow
from rubricweb.leaderboards.meta.sheets import span

Texts = Mapping[tuple[int, str], str]
Link = Callable[[int], str]
"""From a topic id to the address of its grid."""

ITEM_COLUMNS = (
    "Item",
    "Topic",
    "Runs",
    "Passages",
    "r over runs",
    "r over passages",
    "\N{GREEK SMALL LETTER TAU} without",
    "Swaps",
    "Largest move",
    "Beyond possible",
    "Mean change",
)
TEAM_COLUMNS = (
    "Run",
    "Team",
    "Rank",
    "Possible ranks",
    "Rank left out",
    "Error",
    "p",
    "Score",
    "Score left out",
    "Only theirs",
)
POSSIBLE = "possible: ranks that the topics leave open, by the max-T test of all pairs"
LOSS = (
    "max-T test over topics of what the runs lose against the mean of all runs, each board in standard "
    "deviations of its runs' means"
)
TESTED = f"p: {LOSS}"
REPEATS = "repeats: passages among the first k below another one of their group of near-duplicates"
ONCE = "once: on rankings without repeats, where what follows moves up; measures of labels have no such score"


def items(rows: Sequence[InfluenceRow], texts: Texts, link: Link) -> PrintedTable:
    lines = [
        (
            TextCell(texts.get((row.topic_id, row.uid), row.uid), href=link(row.topic_id)),
            TextCell(row.query_id),
            *(
                TextCell(number(value))
                for value in (row.by_runs, row.by_passages, row.tells_runs, row.tells_passages)
            ),
            TextCell(number(row.influence.tau)),
            TextCell(str(row.influence.n_swapped)),
            TextCell(str(row.influence.largest_move)),
            TextCell(str(row.n_beyond)),
            TextCell(signed(row.influence.mean_change)),
        )
        for row in rows
    ]
    notes = (
        "runs, passages: share that covers the item; r: corrected item-total correlation",
        "without: the board without this item, against the board",
        "beyond possible: runs whose rank without it is none that the topics leave open with it",
    )
    return PrintedTable("Items", ITEM_COLUMNS, tuple(lines), 2, notes)


def runs(rows: Sequence[DependentRow], texts: Texts, link: Link) -> PrintedTable:
    lines = [
        (
            TextCell(one.run_tag),
            TextCell(str(one.before)),
            TextCell(possible(one.possible)),
            TextCell(str(one.after), Mark.TIED if one.is_beyond else Mark.NONE),
            TextCell(texts.get((one.row.topic_id, one.row.uid), one.row.uid), href=link(one.row.topic_id)),
            TextCell(one.row.query_id),
        )
        for one in rows
    ]
    columns = ("Run", "Rank", "Possible ranks", "Without it", "The item", "Topic")
    title, legend = "Runs whose rank hangs on one item", ((Mark.TIED, "outside of the possible ranks"),)
    return PrintedTable(title, columns, tuple(lines), 1, (POSSIBLE,), n_notes=2, legend=legend)


def pairs(rows: Sequence[PairRow], texts: Texts, link: Link) -> PrintedTable:
    lines = [
        (
            TextCell(texts.get((one.topic_id, one.first), one.first), href=link(one.topic_id)),
            TextCell(texts.get((one.topic_id, one.second), one.second)),
            TextCell(one.query_id),
            TextCell(number(one.overlap)),
            TextCell(str(one.n_both)),
            TextCell(str(one.n_either)),
        )
        for one in rows
    ]
    columns = ("Item", "is answered with", "Topic", "Overlap", "Both", "Either")
    note = "passages that count for both / for at least one; from 0.7 and three passages on"
    return PrintedTable("Redundant pairs", columns, tuple(lines), 3, (note,))


def holes(rows: Sequence[HolesRow]) -> PrintedTable:
    lines = [
        (
            TextCell(one.run_tag),
            TextCell(str(one.rank)),
            TextCell(possible(one.possible)),
            TextCell(number(one.score)),
            *(TextCell(number(share)) for share in one.shares),
            TextCell(str(one.outside)),
        )
        for one in rows
    ]
    heads = (f"Ungraded@{k}" for k in HOLE_DEPTHS)
    columns = ("Run", "Rank", "Possible ranks", "Score", *heads, f"Not pooled@{max(HOLE_DEPTHS)}")
    return PrintedTable(
        "Holes", columns, tuple(lines), 1, ("ungraded share of the first k passages", POSSIBLE)
    )


def teams(rows: Sequence[TeamRow], depth: int) -> PrintedTable:
    lines = [
        (
            TextCell(one.run_tag),
            TextCell(one.team),
            TextCell(str(one.before)),
            TextCell(possible(one.possible)),
            TextCell(str(one.after)),
            TextCell(f"{one.error:+d}" if one.error else "0", Mark.TIED if one.is_sure else Mark.NONE),
            TextCell(number(one.p)),
            TextCell(number(one.score)),
            TextCell(number(one.score_without)),
            TextCell(str(one.n_alone)),
        )
        for one in rows
    ]
    note = f"left out: passages that only this team has among the first {depth} count as ungraded"
    legend = ((Mark.TIED, "clear"),)
    return PrintedTable(
        "Teams left out", TEAM_COLUMNS, tuple(lines), 2, (note, POSSIBLE, TESTED), legend=legend
    )


def origins(rows: Sequence[OriginRow]) -> PrintedTable:
    lines = [
        (
            TextCell(one.origin),
            TextCell(str(one.n_items)),
            TextCell(one.family),
            TextCell(str(one.n_runs)),
            TextCell(number(one.advantage.value)),
            TextCell(span(one.advantage.interval)),
            TextCell(str(one.advantage.n_topics)),
        )
        for one in rows
    ]
    columns = ("Items by", "Items", "Runs of", "Runs", "Advantage", "95 % interval", "Topics")
    note = "how much more these runs gain than other runs where the items are of this origin"
    return PrintedTable("Who wrote the items", columns, tuple(lines), 1, (note,))


def duplicates(rows: Sequence[DuplicatesRow], k: int) -> PrintedTable:
    lines = [
        (
            TextCell(one.run_tag),
            TextCell(str(one.rank)),
            TextCell(number(one.score)),
            TextCell(str(one.repeats)),
            TextCell(number(one.share)),
            TextCell(str(one.marked)),
            TextCell(number(one.score_once)),
            TextCell(number(one.rank_once)),
        )
        for one in rows
    ]
    columns = ("Run", "Rank", "Score", f"Repeats@{k}", "Share", "Marked", "Score once", "Rank once")
    return PrintedTable("Near-duplicates", columns, tuple(lines), 1, (REPEATS, ONCE))


def possible(ranks: tuple[int, int] | None) -> str:
    """Ranks as people read them: "2-5"; a dash where nothing is tested."""
    return span_of_ranks(*ranks) if ranks else "\N{EN DASH}"


def signed(value: float | None) -> str:
    """Four decimals with their sign; 0 has none, and what is undefined is a dash."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:+z.4f}".replace("+0.0000", "0.0000")
