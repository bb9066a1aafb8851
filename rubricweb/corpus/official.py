"""A collection's official leaderboards: read, replace, remove."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from django.db import transaction

from grading.errors import BadFormat
from grading.formats.official import read_official
from grading.statistics.rank_correlation import from_ranks
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.corpus.importers.official import official_rows
from rubricweb.corpus.importers.positions import FilePosition, fitting_id
from rubricweb.corpus.importers.runs import TAG_LIMIT
from rubricweb.corpus.models import Collection, OfficialScore
from rubricweb.corpus.pseudonyms import shown_names

NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class Official:
    """An official leaderboard: run tag -> rank or score, as in the file."""

    name: str
    is_rank: bool
    values: dict[str, float]
    measure: str = ""
    """The measure taken from a file of several; known only while the file is read."""

    @property
    def kind(self) -> str:
        return "ranks" if self.is_rank else "scores"

    @property
    def scores(self) -> dict[str, float]:
        """Run tag -> a number, higher for better runs."""
        return from_ranks(self.values) if self.is_rank else self.values


def official_boards(collection: Collection) -> list[Official]:
    """By name, without runs of the collection that are not accepted. A board has ranks if its first run has
    one.
    """
    boards: dict[str, Official] = {}
    away = collection.runs.not_accepted().values("run_tag")
    rows = collection.official_scores.filter(topic=None).exclude(run_tag__in=away).order_by("board", "pk")
    for name, run_tag, value, is_rank in rows.values_list("board", "run_tag", "value", "is_rank"):
        board = boards.setdefault(name, Official(name, is_rank, {}))
        if is_rank == board.is_rank:
            board.values[run_tag] = value
    shown = []
    for board in boards.values():
        names = shown_names(collection.pk, tuple(board.values))
        shown.append(replace(board, values=dict(zip(names, board.values.values(), strict=True))))
    return shown


@transaction.atomic
def put_official_board(
    collection: Collection, path: Path, *, name: str, by: User | None, measure: str = ""
) -> Official:
    """Store the board of a file under this name, replacing an earlier one. BadFormat names the line.

    `measure` selects one where the file has several. Scores of the collection's topics are stored, too.
    """
    board = read_official(path, measure=measure)
    name = " ".join(name.split())
    if not name or len(name) > NAME_LIMIT:
        raise BadFormat(f"the board needs a name of at most {NAME_LIMIT} characters", file=path.name)
    for run_tag in board.values:
        fitting_id(run_tag, what="the run tag", at=FilePosition(path), limit=TAG_LIMIT)
    collection.official_scores.filter(board=name).delete()
    topics = {topic.query_id: topic for topic in collection.topics.all()}
    OfficialScore.objects.bulk_create(official_rows(collection, board, topics, name=name))
    audit.record("official board imported", collection, by=by, detail=f"{name}: {len(board.values)} runs")
    events.publish_on_commit(collection.channel, "runs")
    return Official(name, board.kind == "ranks", dict(board.values), board.measure)


@transaction.atomic
def remove_official_board(collection: Collection, *, name: str, by: User | None) -> bool:
    """Remove the board; return False if there is none of this name."""
    removed, _ = collection.official_scores.filter(board=name).delete()
    if removed:
        audit.record("official board removed", collection, by=by, detail=name)
        events.publish_on_commit(collection.channel, "runs")
    return bool(removed)
