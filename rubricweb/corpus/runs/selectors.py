"""The runs of a collection with how much of it they cover."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from rubricweb.corpus.models import Collection, Ranking, Response, Run


@dataclass(frozen=True, slots=True)
class RunRow:
    run: Run
    topics: int
    """Topics that the run has a ranking for."""
    responses: int
    """Topics that it generated an answer to."""


@dataclass(frozen=True, slots=True)
class RunList:
    rows: tuple[RunRow, ...]
    topics: int
    """Topics of the collection."""

    @property
    def accepted(self) -> int:
        return sum(row.run.is_accepted for row in self.rows)

    @property
    def has_teams(self) -> bool:
        return any(row.run.team for row in self.rows)

    @property
    def has_tasks(self) -> bool:
        return any(row.run.task or row.run.type for row in self.rows)


def run_list(collection: Collection) -> RunList:
    """All runs, whatever their state, by team and tag."""
    rankings, responses = (
        dict(rows.filter(run__collection=collection).values_list("run").annotate(Count("pk")))
        for rows in (Ranking.objects.order_by(), Response.objects.order_by())
    )
    runs = collection.runs.select_related("submitted_by").order_by("team", "run_tag")
    listed = (RunRow(run, rankings.get(run.pk, 0), responses.get(run.pk, 0)) for run in runs)
    return RunList(tuple(listed), collection.topics.count())
