"""The runs of a collection with how much of it they cover."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from rubricweb.corpus.models import Collection, Run


@dataclass(frozen=True, slots=True)
class RunRow:
    run: Run
    topics: int
    """Topics that the run has a ranking for."""


@dataclass(frozen=True, slots=True)
class RunList:
    rows: tuple[RunRow, ...]
    topics: int
    """Topics of the collection."""

    @property
    def accepted(self) -> int:
        return sum(row.run.is_accepted for row in self.rows)


def run_list(collection: Collection) -> RunList:
    """All runs, whatever their state, by team and tag."""
    runs = collection.runs.select_related("submitted_by").annotate(n_topics=Count("rankings"))
    rows = (RunRow(run, run.n_topics) for run in runs.order_by("team", "run_tag"))
    return RunList(tuple(rows), collection.topics.count())
