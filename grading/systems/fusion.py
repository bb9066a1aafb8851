"""Several rankings of a topic made into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from grading.types import Ranking

K = 60
"""The constant of Cormack et al. 2009, SIGIR, "Reciprocal rank fusion outperforms Condorcet"."""


def reciprocal_rank_fusion(
    rankings: Sequence[Ranking], *, depth: int, k: int = K, run_tag: str = "rrf"
) -> Ranking:
    """Rank passages by the sum of `1 / (k + rank)` over the rankings that have them.

    Equal sums are in the order of their ids, so that the order of the rankings does not matter. Raises
    ValueError for rankings of several topics, or none.

    >>> first = Ranking("a", "t1", ("d1", "d2"), (2.0, 1.0))
    >>> second = Ranking("b", "t1", ("d2", "d3"), (9.0, 8.0))
    >>> reciprocal_rank_fusion([first, second], depth=2).doc_ids
    ('d2', 'd1')
    """
    topics = {ranking.query_id for ranking in rankings}
    if len(topics) != 1:
        raise ValueError(f"rankings of one topic are fused, not of {len(topics)}")
    sums: defaultdict[str, float] = defaultdict(float)
    for ranking in sorted(rankings, key=lambda one: one.run_tag):
        for rank, doc_id in enumerate(ranking.doc_ids, 1):
            sums[doc_id] += 1 / (k + rank)
    return best_first(run_tag, topics.pop(), sums.items(), depth)


def best_first(run_tag: str, query_id: str, scored: Iterable[tuple[str, float]], depth: int) -> Ranking:
    """A ranking by descending score, equal ones in the order of their ids."""
    ordered = sorted(scored, key=lambda one: (-one[1], one[0]))[:depth]
    return Ranking(run_tag, query_id, tuple(doc for doc, _ in ordered), tuple(score for _, score in ordered))
