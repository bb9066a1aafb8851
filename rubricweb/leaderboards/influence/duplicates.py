"""What near-duplicates do to runs: how many a run returns, and its score with each group counted once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from grading.arrays import none_if_nan
from grading.formats.tables import PrintedTable
from grading.statistics.influence import ranks
from rubricweb.corpus.duplicates import groups_by_doc_id
from rubricweb.corpus.pools import TopicPool
from rubricweb.corpus.topic_pools import rankings_of
from rubricweb.grades.matrices import TopicGrades
from rubricweb.grades.scoring import fresh_scores
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.certainty import ScoredBoard
from rubricweb.leaderboards.board.scores import score_units
from rubricweb.leaderboards.sheets import SheetColumn, sheet

Groups = Mapping[str, int]
"""By doc id: the number of its group; passages without near-duplicates are in none."""
REPEATS = "repeats: passages among the first k below another one of their group of near-duplicates"
ONCE = "once: on rankings without repeats, where what follows moves up; measures of labels have no such score"


@dataclass(frozen=True, slots=True)
class DuplicatesRow:
    """One run with the near-duplicates that it returns."""

    run_tag: str
    rank: int
    score: float | None
    repeats: int
    """Passages among its first k of all topics of whose group it returns another one above."""
    share: float | None
    """The share of its first k passages; None without any."""
    marked: int
    """Passages among its first k that have near-duplicates in the collection."""
    score_once: float | None
    """The score without repeats, so that what follows moves up.

    None for measures of labels, which count passages in their denominators.
    """
    rank_once: int | None


def duplicates(scored: ScoredBoard) -> list[DuplicatesRow]:
    """Return the runs of a board, best first."""
    groups, k = groups_by_doc_id(scored.spec.collection), scored.spec.measure.judged_at
    counts = np.zeros((len(scored.run_tags), 3), dtype=np.int64)
    for topic in scored.base.pool.topics:
        tops = [(doc_ids or ())[:k] for doc_ids in topic.ranked]
        # By run: repeats, passages with near-duplicates and passages among the first k.
        of_runs = [
            (sum(repeated(top, groups)), sum(doc_id in groups for doc_id in top), len(top)) for top in tops
        ]
        counts += np.array(of_runs, dtype=np.int64).reshape(counts.shape)
    repeats, marked, returned = counts.T.tolist()
    once = _once(scored, groups)
    places, means = ranks(scored.mean_merits), scored.means
    once_places, once_means = (ranks(once.mean_merits), once.means) if once else (None, None)
    rows = [
        DuplicatesRow(
            run_tag=tag,
            rank=int(places[run]),
            score=none_if_nan(means[run]),
            repeats=repeats[run],
            share=repeats[run] / returned[run] if returned[run] else None,
            marked=marked[run],
            score_once=none_if_nan(once_means[run]) if once_means is not None else None,
            rank_once=int(once_places[run]) if once_places is not None else None,
        )
        for run, tag in enumerate(scored.run_tags)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.run_tag))


def repeated(doc_ids: Sequence[str], groups: Groups) -> list[bool]:
    """Return for each passage of a ranking whether one of its group stands above it.

    >>> repeated(["d1", "d2", "d3", "d4"], {"d1": 1, "d3": 1, "d4": 2})
    [False, False, True, False]
    """
    seen: set[int] = set()
    flags = []
    for doc_id in doc_ids:
        group = groups.get(doc_id)
        flags.append(group in seen)
        if group is not None:
            seen.add(group)
    return flags


def _once(scored: ScoredBoard, groups: Groups) -> ScoredBoard | None:
    """Return the board on rankings without repeats; None for measures of labels."""
    if scored.spec.measure.uses_labels:
        return None
    grades = scored.base.grades
    topics = tuple(_without_repeats(topic, groups) for topic in scored.base.pool.topics)
    supposed = {topic.topic_id: TopicGrades(topic, grades[topic.topic_id].matrix) for topic in topics}
    base = replace(scored.base, pool=replace(scored.base.pool, topics=topics))
    return ScoredBoard(base, score_units(base, scored.spec.measure, supposed, scorer=fresh_scores))


def _without_repeats(topic: TopicPool, groups: Groups) -> TopicPool:
    ranked, scores = [], []
    for doc_ids, values in zip(topic.ranked, topic.scores, strict=True):
        kept = [not repeat for repeat in repeated(doc_ids or (), groups)]
        ranked.append(None if doc_ids is None else tuple(compress(doc_ids, kept)))
        scores.append(None if values is None else tuple(compress(values, kept)))
    return replace(topic, rankings=rankings_of(topic.doc_ids, ranked, scores))


def duplicates_table(scored: ScoredBoard, rows: Sequence[DuplicatesRow], threshold: float) -> PrintedTable:
    k = scored.spec.measure.judged_at
    columns: list[SheetColumn[DuplicatesRow]] = [
        SheetColumn("Run", "run_tag", lambda row: row.run_tag),
        SheetColumn("Rank", "rank", lambda row: row.rank),
        SheetColumn("Score", "score", lambda row: row.score),
        SheetColumn(f"Repeats@{k}", "repeats", lambda row: row.repeats),
        SheetColumn("Share", "share", lambda row: row.share),
        SheetColumn("Marked", "marked", lambda row: row.marked),
        SheetColumn("Score once", "score_once", lambda row: row.score_once),
        SheetColumn("Rank once", "rank_once", lambda row: row.rank_once),
    ]
    stated = [
        *provenance.scored_statements(scored),
        ("near-duplicates", f"Jaccard similarity >= {threshold:g} of shingles of nine words"),
        ("repeats", REPEATS),
        ("once", ONCE),
        ("k", str(k)),
    ]
    return sheet("Near-duplicates", columns, rows, stated, comments=(REPEATS, ONCE))
