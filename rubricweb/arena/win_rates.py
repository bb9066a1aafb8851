"""How often each run wins its votes beside its Rubric-Cover, and how it was made where it was made here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grading.statistics.rank_correlation import Correlation, kendall
from rubricweb.arena.answers import CountedVote, Place, named_runs
from rubricweb.arena.selectors import modules_of_runs
from rubricweb.corpus.models import Collection


@dataclass(frozen=True, slots=True)
class WinRate:
    """A run's votes against its answers' coverage."""

    run_id: int
    run_tag: str
    modules: str
    """How it was made here; empty for other runs, and where the reader knows it by a pseudonym."""
    votes: int
    rate: float
    """The share of its votes that it won, a tie as half."""
    cover: float | None
    """Mean share of items that its answers cover, on the topics of its votes; None without grades."""
    topics: int
    """Topics with grades, over which `cover` is a mean."""


@dataclass(frozen=True, slots=True)
class WinRates:
    rows: tuple[WinRate, ...]
    """The highest rate first."""
    tau: Correlation
    """Kendall's, of win rates with coverage, over the runs that have both."""


def win_rates(
    collection: Collection, votes: Sequence[CountedVote], scores: Mapping[Place, float]
) -> WinRates:
    """Set win rates against coverage: `scores` has the share of items that each graded answer covers."""
    outcomes: dict[int, Counter[int]] = {}
    places: dict[int, set[Place]] = {}
    for vote in votes:
        for run in vote.pair:
            outcomes.setdefault(run, Counter())[vote.outcome_of(run)] += 1
            places.setdefault(run, set()).add((run, vote.topic_id))
    names, made = named_runs(collection, set(outcomes)), modules_of_runs(collection.pk, outcomes)
    rows = []
    for run, counts in outcomes.items():
        covers = [scores[place] for place in places[run] if place in scores]
        rate = (counts[1] + counts[0] / 2) / counts.total()
        cover = float(np.mean(covers)) if covers else None
        rows.append(WinRate(run, names[run], made.get(run, ""), counts.total(), rate, cover, len(covers)))
    rows.sort(key=lambda row: (-row.rate, row.run_tag))
    both = [(row.rate, row.cover) for row in rows if row.cover is not None]
    return WinRates(tuple(rows), kendall([rate for rate, _ in both], [cover for _, cover in both]))
