"""The tables of influence for programs: all rows, whatever a page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grading.formats.tables import DataTable, Value, from_mappings
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.scored import ScoredBoard
from rubricweb.leaderboards.influence.duplicates import DuplicatesRow
from rubricweb.leaderboards.influence.items import DependentRow, InfluenceRow, PairRow
from rubricweb.leaderboards.influence.pool import HOLE_DEPTHS, HolesRow, OriginRow, TeamRow
from rubricweb.leaderboards.influence.sheets import LOSS, ONCE, REPEATS

Texts = Mapping[tuple[int, str], str]
Line = dict[str, Value]


def items(scored: ScoredBoard, rows: Sequence[InfluenceRow], texts: Texts) -> DataTable:
    """Rows of items without a text are left out."""
    lines: list[Line] = [
        {
            "topic": row.query_id,
            "item": row.uid,
            "text": texts[row.topic_id, row.uid],
            "share_of_runs": row.by_runs,
            "share_of_passages": row.by_passages,
            "r_over_runs": row.tells_runs,
            "r_over_passages": row.tells_passages,
            "tau_without": row.influence.tau,
            "swapped_pairs": row.influence.n_swapped,
            "largest_move": row.influence.largest_move,
            "runs_beyond": row.n_beyond,
            "mean_change": row.influence.mean_change,
        }
        for row in rows
        if (row.topic_id, row.uid) in texts
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def runs(scored: ScoredBoard, rows: Sequence[DependentRow], texts: Texts) -> DataTable:
    lines: list[Line] = [
        {
            "run_tag": one.run_tag,
            "rank": one.before,
            **_possible(one.possible),
            "rank_without": one.after,
            "is_beyond": int(one.is_beyond),
            "topic": one.row.query_id,
            "item": one.row.uid,
            "text": texts[one.row.topic_id, one.row.uid],
        }
        for one in rows
        if (one.row.topic_id, one.row.uid) in texts
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def pairs(scored: ScoredBoard, rows: Sequence[PairRow], texts: Texts) -> DataTable:
    lines: list[Line] = [
        {
            "topic": one.query_id,
            "item": one.first,
            "text": texts[one.topic_id, one.first],
            "other_item": one.second,
            "other_text": texts[one.topic_id, one.second],
            "overlap": one.overlap,
            "both": one.n_both,
            "either": one.n_either,
        }
        for one in rows
        if (one.topic_id, one.first) in texts and (one.topic_id, one.second) in texts
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def holes(scored: ScoredBoard, rows: Sequence[HolesRow]) -> DataTable:
    lines: list[Line] = [
        {
            "run_tag": one.run_tag,
            "rank": one.rank,
            **_possible(one.possible),
            "score": one.score,
            **{f"ungraded_{k}": share for k, share in zip(HOLE_DEPTHS, one.shares, strict=True)},
            f"not_pooled_{max(HOLE_DEPTHS)}": one.outside,
        }
        for one in rows
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def teams(scored: ScoredBoard, rows: Sequence[TeamRow], depth: int) -> DataTable:
    lines: list[Line] = [
        {
            "run_tag": one.run_tag,
            "team": one.team,
            "rank": one.before,
            **_possible(one.possible),
            "rank_left_out": one.after,
            "error": one.error,
            "p": one.p,
            "is_sure": int(one.is_sure),
            "score": one.score,
            "score_left_out": one.score_without,
            "only_theirs": one.n_alone,
        }
        for one in rows
    ]
    stated = [*provenance.scored_statements(scored), ("pool depth", str(depth)), ("p", LOSS)]
    return from_mappings(lines, stated)


def origins(scored: ScoredBoard, rows: Sequence[OriginRow]) -> DataTable:
    lines: list[Line] = [
        {
            "origin": one.origin,
            "items": one.n_items,
            "family": one.family,
            "runs": one.n_runs,
            "advantage": one.advantage.value,
            "low": one.advantage.interval.low,
            "high": one.advantage.interval.high,
            "n_topics": one.advantage.n_topics,
        }
        for one in rows
    ]
    return from_mappings(lines, provenance.scored_statements(scored))


def duplicates(scored: ScoredBoard, rows: Sequence[DuplicatesRow], threshold: float) -> DataTable:
    lines: list[Line] = [
        {
            "run_tag": one.run_tag,
            "rank": one.rank,
            "score": one.score,
            "repeats": one.repeats,
            "share": one.share,
            "marked": one.marked,
            "score_once": one.score_once,
            "rank_once": one.rank_once,
        }
        for one in rows
    ]
    basis = [("near-duplicates", f"Jaccard similarity >= {threshold:g} of shingles of nine words")]
    told = [("repeats", REPEATS), ("once", ONCE), ("k", str(scored.spec.measure.judged_at))]
    return from_mappings(lines, [*provenance.scored_statements(scored), *basis, *told])


def _possible(ranks: tuple[int, int] | None) -> Line:
    """Return the ranks that the topics leave open."""
    first, last = ranks or (None, None)
    return {"rank_first": first, "rank_last": last}
