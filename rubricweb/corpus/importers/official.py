"""The official leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from grading.errors import BadFormat
from grading.formats.official import OfficialBoard, read_official
from rubricweb.corpus.importers.positions import FilePosition, fitting
from rubricweb.corpus.importers.runs import TAG_LIMIT
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.models import OFFICIAL, Collection, OfficialScore, Topic

REPLACED = ("value", "is_rank", "measure", "source")


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """A leaderboard's file, and what has to be said of it where its content does not tell."""

    path: Path
    measure: str = ""
    """One of those that the file has."""
    format_name: str = ""


def import_official(
    collection: Collection,
    file: OfficialFile,
    topics: Mapping[str, Topic],
    tally: Tally,
    *,
    is_replacing: bool,
) -> None:
    """Import ranks or scores by run tag as the official leaderboard; unknown runs are allowed."""
    board, counts = _read(file, topics, tally), tally.of("official_scores")
    before = {(row.run_tag, row.topic_id): row for row in collection.official_scores.filter(board=OFFICIAL)}
    fresh = []
    for row in official_rows(collection, board, topics, name=OFFICIAL, source=file.path.name):
        old = before.get((row.run_tag, row.topic_id))
        if old is None:
            fitting(row.run_tag, what="the run tag", at=FilePosition(file.path), limit=TAG_LIMIT)
            fresh.append(row)
        elif (old.value, old.is_rank) == (row.value, row.is_rank):
            counts.unchanged += 1
        elif is_replacing:
            for name in REPLACED:
                setattr(old, name, getattr(row, name))
            old.save(update_fields=REPLACED)
            counts.changed += 1
        else:
            raise _contradiction(row, old, FilePosition(file.path).with_key(row.run_tag))
    OfficialScore.objects.bulk_create(fresh)
    counts.new += len(fresh)


def official_rows(
    collection: Collection, board: OfficialBoard, topics: Mapping[str, Topic], *, name: str, source: str
) -> list[OfficialScore]:
    """Return the rows of a board: of each run, and of each run on each topic that the collection has."""
    fields = {"collection": collection, "board": name, "is_rank": board.kind == "ranks"}
    origin = {"measure": board.measure, "source": source}
    of_runs = [
        OfficialScore(run_tag=run_tag, value=value, **fields, **origin)
        for run_tag, value in board.values.items()
    ]
    of_topics = [
        OfficialScore(run_tag=run_tag, topic=topics[query_id], value=value, **fields)
        for query_id, by_run in board.by_topic.items()
        if query_id in topics
        for run_tag, value in by_run.items()
    ]
    return of_runs + of_topics


def _contradiction(row: OfficialScore, old: OfficialScore, at: FilePosition) -> BadFormat:
    return at.error(
        f"run {row.run_tag} has {_kind(row)} {row.value:g} here "
        f"and {_kind(old)} {old.value:g} in the collection, expected the same (or --replace)"
    )


def _kind(row: OfficialScore) -> str:
    return "rank" if row.is_rank else "score"


def _read(file: OfficialFile, topics: Mapping[str, Topic], tally: Tally) -> OfficialBoard:
    board = read_official(file.path, measure=file.measure, format_name=file.format_name)
    if board.measure:
        tally.note(f"{file.path.name}: its {board.measure} is the official leaderboard")
    unknown = board.by_topic.keys() - topics.keys()
    if unknown:
        left_out = f"the official scores of {len(unknown)} topics that the collection lacks"
        tally.note(f"{file.path.name}: left out {left_out}")
    return board
