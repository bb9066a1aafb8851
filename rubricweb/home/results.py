"""Results, for participants: what organizers published, and the scores of the team's own runs.

Nothing here is drawn, ordered or counted by other teams' runs: no rank, no band, and topics as they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from rubricweb.accounts import roles
from rubricweb.core.http import HtmxRequest
from rubricweb.corpus.access import collection_for
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.leaderboards import actions, plots
from rubricweb.leaderboards.board import Board, BoardRow, provenance, selectors
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.plots.cells import shade
from rubricweb.submissions import access
from rubricweb.submissions.models import Submission


@dataclass(frozen=True, slots=True)
class OwnRun:
    row: BoardRow
    run_tag: str
    task: str
    dot: plots.Dot | None
    cells: tuple[tuple[str, float | None, int | None], ...]
    """(name, score, shade) of each topic."""


@dataclass(frozen=True, slots=True)
class OwnScores:
    """The team's runs on the collection's board, best first."""

    runs: tuple[OwnRun, ...]
    axis: plots.DotAxis | None
    measure: str
    graded_by: str
    n_topics: int


@require_safe
def results(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the published boards, and the team's scores for calls whose organizers show them."""
    collection = collection_for(request.user, slug, needed=roles.TO_SUBMIT)
    if roles.holds(request.user, collection, roles.TO_VIEW):
        return redirect("leaderboards:board", slug)  # the results of all others
    place = access.desk_for(request.user, slug)
    calls = place.collection.calls.filter(shows_scores=True)
    context = {
        "collection": place.collection,
        "place": place,
        "published": place.collection.public_boards.filter(closed_at=None),
        "shows_scores": calls.exists(),
        "own": own_scores(place.collection, place.team),
    }
    return render(request, "home/results.html", context)


def own_scores(collection: Collection, team: str) -> OwnScores | None:
    """Return the scores of the accepted runs of a team in calls that show them; None where there are none.

    They are those of the collection's board as everybody may read it.
    """
    counted = Submission.objects.counted().filter(call__collection=collection, call__shows_scores=True)
    of_team = counted.filter(team=team, run__state=Run.State.ACCEPTED)
    names = {run: (tag, task) for run, tag, task in of_team.values_list("run", "run__run_tag", "call__task")}
    form = BoardForm(QueryDict(), collection=collection)
    if not names or not form.graders or not form.is_valid():
        return None
    with actions.reading(collection):
        board = selectors.board(form.spec)
    if collection.requires_calibration and board.calibration_lacks:
        return None
    rows = [row for row in board.rows if row.run_id in names]
    spreads = [plots.Spread(row.score, row.low, row.high) for row in rows if row.score is not None]
    axis = plots.dot_axis(spreads)
    runs = tuple(_own_run(row, names[row.run_id], axis, _places(board)) for row in rows)
    if not runs:
        return None
    measure, graded_by = provenance.measure_name(board.spec), provenance.graded_by(board.spec)
    return OwnScores(runs, axis, measure, graded_by, board.n_topics)


def _places(board: Board) -> list[tuple[str, int]]:
    """Return the topics with their columns in the order in which they came; the board's is by ease."""
    topics = Topic.objects.filter(pk__in=[topic.topic_id for topic in board.topics])
    positions = dict(topics.values_list("pk", "position"))
    columns = sorted(enumerate(board.topics), key=lambda pair: positions[pair[1].topic_id])
    return [(topic.name, column) for column, topic in columns]


def _own_run(
    row: BoardRow, name: tuple[str, str], axis: plots.DotAxis | None, places: Sequence[tuple[str, int]]
) -> OwnRun:
    scores = [(name, row.by_topic[column]) for name, column in places]
    highest = max([1.0, *(score for _, score in scores if score is not None)])
    cells = tuple((name, score, None if score is None else shade(score / highest)) for name, score in scores)
    spread = None if row.score is None else plots.Spread(row.score, row.low, row.high)
    return OwnRun(row, *name, axis.dot(spread) if axis and spread else None, cells)
