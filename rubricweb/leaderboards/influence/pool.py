"""Whether the pool treats all runs alike: holes, teams left out, and items that a run's own model wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from grading.arrays import none_if_nan
from grading.formats.tables import Mark, PrintedTable, TextCell
from grading.statistics.diagnostics import Advantage, advantage, contributed_alone
from grading.statistics.influence import ranks
from grading.statistics.max_t import ALPHA, adjusted_p
from grading.statistics.rank_intervals import relative_gains
from grading.types import MISSING
from rubricweb.banks.models import Bank, BankVersion, Item, ItemChange
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.scoring import MeasureSpec, Uids, Weights, fresh_scores, topic_scores
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import score_units
from rubricweb.leaderboards.board.selectors import judged_shares
from rubricweb.leaderboards.influence import POSSIBLE
from rubricweb.leaderboards.meta_tables import span
from rubricweb.leaderboards.sheets import SheetColumn, possible_ranks, sheet

Floats = NDArray[np.float64]
HOLE_DEPTHS = (5, 10, 20)
IMPORTED, PEOPLE = "imported", "written by people"
LOSS = (
    "max-T test over topics of what the runs lose against the mean of all runs, each board in standard "
    "deviations of its runs' means"
)
TESTED = f"p: {LOSS}"


@dataclass(frozen=True, slots=True)
class HolesRow:
    """How much of a run is ungraded."""

    run_tag: str
    rank: int
    possible: tuple[int, int] | None
    """The ranks that the topics leave open."""
    score: float | None
    shares: tuple[float | None, ...]
    """Ungraded share of the first k passages, by `HOLE_DEPTHS`."""
    outside: int
    """Passages of its first 20 that are not in the pool at all."""


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A run as it would rank without its team: what only they found would be ungraded."""

    team: str
    run_tag: str
    before: int
    after: int
    score: float
    score_without: float
    n_alone: int
    """Passages that only the team contributed."""
    possible: tuple[int, int] | None
    """The ranks that the topics leave open on the board."""
    p: float | None
    """The p-value of the run's loss against the mean of all runs, adjusted for all runs; None if untested."""

    @property
    def error(self) -> int:
        """Return places by which the run would be ranked too low."""
        return self.after - self.before

    @property
    def is_sure(self) -> bool:
        """Return whether the error is clear."""
        return bool(self.error) and self.p is not None and self.p <= ALPHA


@dataclass(frozen=True, slots=True)
class OriginRow:
    """Items of one origin against all others, for one family of runs."""

    origin: str
    n_items: int
    family: str
    n_runs: int
    advantage: Advantage


def holes(scored: ScoredBoard) -> list[HolesRow]:
    """Return the share of ungraded passages among the first of each run, best run first."""
    shares = [1 - judged_shares(scored.base, k) for k in HOLE_DEPTHS]
    outside = _outside(scored, max(HOLE_DEPTHS))
    places, means = ranks(scored.mean_merits), scored.means
    rows = [
        HolesRow(
            tag,
            int(places[run]),
            scored.ranks.possible(run) if scored.ranks else None,
            none_if_nan(means[run]),
            tuple(none_if_nan(s[run]) for s in shares),
            outside[run],
        )
        for run, tag in enumerate(scored.run_tags)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.run_tag))


def teams_left_out(
    scored: ScoredBoard, families: Mapping[str, Sequence[str]], *, depth: int
) -> list[TeamRow]:
    """Return every run, ranked as if what only its team found to `depth` were ungraded; worst first."""
    names = list(families)
    place = {tag: run for run, tag in enumerate(scored.run_tags)}
    team_of = [0] * len(scored.run_tags)
    for team, name in enumerate(names):
        for tag in families[name]:
            team_of[place[tag]] = team
    alone = {
        topic.topic_id: contributed_alone(topic.ranked_rows, team_of, depth=depth, n=len(topic.doc_ids))
        for topic in scored.base.pool.topics
    }
    rows: list[TeamRow] = []
    gains: list[Floats] = []
    for team, name in enumerate(names):
        of_team = {topic_id: entry[team] for topic_id, entry in alone.items()}
        without = _with_holes(scored, of_team)
        own = [place[tag] for tag in families[name]]
        rows += _team_rows(
            scored, without, name, own, n_alone=int(sum(entry.sum() for entry in of_team.values()))
        )
        gains.append(relative_gains(scored.merits, without.merits)[own])
    return sorted(_tested(scored, rows, gains), key=lambda row: (-abs(row.error), row.before))


def _team_rows(
    scored: ScoredBoard, without: ScoredBoard, name: str, own: Sequence[int], *, n_alone: int
) -> list[TeamRow]:
    before, after = ranks(scored.mean_merits), ranks(without.mean_merits)
    return [
        TeamRow(
            name,
            scored.run_tags[run],
            int(before[run]),
            int(after[run]),
            float(scored.means[run]),
            float(without.means[run]),
            n_alone,
            scored.ranks.possible(run) if scored.ranks else None,
            None,
        )
        for run in own
    ]


def _tested(scored: ScoredBoard, rows: list[TeamRow], gains: list[Floats]) -> list[TeamRow]:
    """Return the rows with the p-values of their gains, each of shape (runs of the team, topics)."""
    if scored.ranks is None or not rows:
        return rows
    p = adjusted_p(np.concatenate(gains), scored.ranks.test).tolist()
    return [replace(row, p=value) for row, value in zip(rows, p, strict=True)]


def origins(scored: ScoredBoard) -> dict[str, dict[int, tuple[str, ...]]]:
    """Return the uids of the board's items by origin (a model's name, imported, people) and topic id."""
    if scored.spec.bank is None:
        return {}
    origin_of = _origin_of(scored.spec.bank, scored.spec.version)
    by_origin: dict[str, dict[int, tuple[str, ...]]] = {}
    for topic, items in scored.base.units():
        for uid in items.uids:
            of_topic = by_origin.setdefault(origin_of.get((topic.topic_id, uid), PEOPLE), {})
            of_topic[topic.topic_id] = (*of_topic.get(topic.topic_id, ()), uid)
    return by_origin


def _origin_of(bank: Bank, version: BankVersion | None) -> dict[tuple[int, str], str]:
    """Return the origin by topic and uid, of the wordings that the bank has, or had as of the version."""
    imports = ItemChange.including_secret.filter(item__bank=bank, verb=ItemChange.Verb.IMPORTED)
    imported = set(imports.values_list("item_id", flat=True))
    fields = ("topic_id", "draft__request__llm")
    if version is None:
        items = Item.including_secret.filter(bank=bank).values_list("pk", "revision__uid", *fields)
    else:
        of_item = [f"item__{name}" for name in fields]
        items = version.all_entries.values_list("item_id", "revision__uid", *of_item)
    return {
        (topic_id, uid): llm or (IMPORTED if pk in imported else PEOPLE)
        for pk, uid, topic_id, llm in items.order_by("pk")
    }


def circularity(scored: ScoredBoard, families: Mapping[str, Sequence[str]]) -> list[OriginRow]:
    """Return how much each family of runs gains on the items of each origin, largest gains first."""
    by_origin = origins(scored)
    rows = []
    for origin, kept in by_origin.items():
        others = {
            topic_id: tuple(uid for uid in uids if uid not in kept.get(topic_id, ()))
            for topic_id, uids in scored.base.items.items()
        }
        own, rest = scored.with_items(kept).table.scores, scored.with_items(others).table.scores
        for family, run_tags in families.items():
            is_family = np.array([tag in run_tags for tag in scored.run_tags])
            gained = advantage(own, rest, is_family)
            n_items = sum(len(uids) for uids in kept.values())
            if gained.value is not None:
                rows.append(OriginRow(origin, n_items, family, len(run_tags), gained))
    return sorted(rows, key=lambda row: -(row.advantage.value or 0))


def _with_holes(scored: ScoredBoard, alone: Mapping[int, NDArray[np.bool_]]) -> ScoredBoard:
    """Return the board if these passages of each topic had no grade."""
    base, given = scored.base, scored.base.grades
    supposed = {
        topic_id: _with_hole(given[topic_id], hole) if hole.any() else given[topic_id]
        for topic_id, hole in alone.items()
    }

    def scorer(grades: TopicGrades, uids: Uids, measure: MeasureSpec, weights: Weights) -> Floats:
        is_given = grades is given[grades.pool.topic_id]
        return (topic_scores if is_given else fresh_scores)(grades, uids, measure, weights)

    return replace(scored, table=score_units(base, scored.spec.measure, supposed, scorer=scorer))


def _with_hole(grades: TopicGrades, hole: NDArray[np.bool_]) -> TopicGrades:
    ratings = grades.matrix.ratings.copy()
    ratings[hole] = MISSING
    return TopicGrades(grades.pool, replace(grades.matrix, ratings=ratings))


def _outside(scored: ScoredBoard, k: int) -> list[int]:
    counts = np.zeros(len(scored.run_tags), dtype=np.int64)
    for topic in scored.base.pool.topics:
        if scored.base.items.get(topic.topic_id):
            in_pool = (topic.ranked_rows[:, :k] >= 0).sum(axis=1)
            counts += np.minimum(topic.lengths, k) - in_pool
    return [int(count) for count in counts]


def holes_table(scored: ScoredBoard, rows: Sequence[HolesRow]) -> PrintedTable:
    deepest = max(HOLE_DEPTHS)
    columns: list[SheetColumn[HolesRow]] = [
        SheetColumn("Run", "run_tag", lambda row: row.run_tag),
        SheetColumn("Rank", "rank", lambda row: row.rank),
        *possible_ranks("Possible ranks", "rank", lambda row: row.possible),
        SheetColumn("Score", "score", lambda row: row.score),
        *(
            SheetColumn(f"Ungraded@{k}", f"ungraded_{k}", partial(_share, place=place))
            for place, k in enumerate(HOLE_DEPTHS)
        ),
        SheetColumn(f"Not pooled@{deepest}", f"not_pooled_{deepest}", lambda row: row.outside),
    ]
    comments = ("ungraded share of the first k passages", POSSIBLE)
    return sheet("Holes", columns, rows, provenance.scored_statements(scored), comments=comments)


def _share(row: HolesRow, place: int) -> float | None:
    return row.shares[place]


def teams_table(scored: ScoredBoard, rows: Sequence[TeamRow], depth: int) -> PrintedTable:
    columns: list[SheetColumn[TeamRow]] = [
        SheetColumn("Run", "run_tag", lambda row: row.run_tag),
        SheetColumn("Team", "team", lambda row: row.team),
        SheetColumn("Rank", "rank", lambda row: row.before),
        *possible_ranks("Possible ranks", "rank", lambda row: row.possible),
        SheetColumn("Rank left out", "rank_left_out", lambda row: row.after),
        SheetColumn("Error", "error", lambda row: row.error, _error),
        SheetColumn("p", "p", lambda row: row.p),
        SheetColumn("", "is_sure", lambda row: int(row.is_sure)),
        SheetColumn("Score", "score", lambda row: row.score),
        SheetColumn("Score left out", "score_left_out", lambda row: row.score_without),
        SheetColumn("Only theirs", "only_theirs", lambda row: row.n_alone),
    ]
    note = f"left out: passages that only this team has among the first {depth} count as ungraded"
    return sheet(
        "Teams left out",
        columns,
        rows,
        [*provenance.scored_statements(scored), ("pool depth", str(depth)), ("p", LOSS)],
        n_labels=2,
        comments=(note, POSSIBLE, TESTED),
        legend=((Mark.TIED, "clear"),),
    )


def _error(row: TeamRow) -> TextCell:
    return TextCell(f"{row.error:+d}" if row.error else "0", Mark.TIED if row.is_sure else Mark.NONE)


def origins_table(scored: ScoredBoard, rows: Sequence[OriginRow]) -> PrintedTable:
    columns: list[SheetColumn[OriginRow]] = [
        SheetColumn("Items by", "origin", lambda row: row.origin),
        SheetColumn("Items", "items", lambda row: row.n_items),
        SheetColumn("Runs of", "family", lambda row: row.family),
        SheetColumn("Runs", "runs", lambda row: row.n_runs),
        SheetColumn("Advantage", "advantage", lambda row: row.advantage.value),
        SheetColumn("95 % interval", "", lambda row: span(row.advantage.interval)),
        SheetColumn("", "low", lambda row: row.advantage.interval.low),
        SheetColumn("", "high", lambda row: row.advantage.interval.high),
        SheetColumn("Topics", "n_topics", lambda row: row.advantage.n_topics),
    ]
    note = "how much more these runs gain than other runs where the items are of this origin"
    return sheet("Who wrote the items", columns, rows, provenance.scored_statements(scored), comments=(note,))
