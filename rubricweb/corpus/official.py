"""Official leaderboards of a collection: import, read, replace, remove.

Those of tracks come with the product: facts, each with its source. Each is a TSV file of `official_boards/`,
read as any other, with the board's name, its measure and where its numbers are from in comment lines above
the header.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import F, QuerySet

from grading.errors import BadFormat
from grading.formats.official import OfficialBoard, read_official
from grading.formats.reading import lines
from grading.statistics.influence import TIED_DECIMALS
from grading.statistics.rank_correlation import from_ranks
from grading.statistics.rank_intervals import competition_ranks
from rubricweb.accounts.models import User
from rubricweb.core import audit, events
from rubricweb.core.compiled import compiled_once
from rubricweb.core.formatting import counted
from rubricweb.core.reader import read_once
from rubricweb.corpus.models import OFFICIAL, Collection, OfficialScore, Run, Topic
from rubricweb.corpus.pseudonyms import hides_names
from rubricweb.corpus.run_slices import RunSlice

if TYPE_CHECKING:
    from rubricweb.corpus.import_base import FilePosition, Tally


FOLDER = Path(__file__).resolve().parent / "official_boards"


@dataclass(frozen=True, slots=True)
class ShippedBoard:
    """A track's leaderboard; `slug` names it in forms and commands."""

    slug: str
    name: str
    measure: str
    source: str
    run_tags: frozenset[str]

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.slug}.tsv"


@cache
def shipped_boards() -> dict[str, ShippedBoard]:
    """Return the boards by slug, in the order of slugs."""
    return {path.stem: _board(path) for path in sorted(FOLDER.glob("*.tsv"))}


def shipped_at(path: Path) -> ShippedBoard | None:
    """Return the board whose file this is; None for a file of somebody's own."""
    return shipped_boards().get(path.stem) if path.parent == FOLDER else None


def board_file(name: str | Path) -> Path:
    """Return the path of that name; if there is no file, that of the shipped board with that slug."""
    path, board = Path(name), shipped_boards().get(str(name))
    return board.path if board and not path.exists() else path


def _board(path: Path) -> ShippedBoard:
    comments = [text for _, text in lines(path) if text.startswith("# ")]
    stated = dict(line[2:].split(": ", 1) for line in comments)
    run_tags = frozenset(read_official(path).values)
    return ShippedBoard(path.stem, stated["name"], stated["measure"], stated["source"], run_tags)


NAME_LIMIT = 80
REPLACED = ("value", "is_rank", "measure", "source")


@dataclass(frozen=True, slots=True)
class Official:
    """An official leaderboard: run tag -> rank or score, as in the file."""

    name: str
    is_rank: bool
    values: dict[str, float]
    measure: str = ""
    """The measure taken from a file of several, or that a shipped board states."""
    source: str = ""
    """The name of the file, or the publication of a shipped board."""
    by_topic: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Query id -> run tag -> score; empty if the file had none, or until `with_topics` reads them."""

    @property
    def kind(self) -> str:
        return "ranks" if self.is_rank else "scores"

    @property
    def scores(self) -> dict[str, float]:
        """Run tag -> a number, higher for better runs."""
        return from_ranks(self.values) if self.is_rank else self.values

    def ranks_by(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Return run tag -> rank: its own ranks, or those by `scores`, which are of some of its topics."""
        return self.values if self.is_rank else competition_ranks(scores)

    def scores_on(self, query_ids: Container[str]) -> dict[str, float]:
        """Return run tag -> mean over those topics that the board has; empty if it has none of them."""
        of_runs: dict[str, list[float]] = {}
        for query_id, by_run in self.by_topic.items():
            for run_tag, score in by_run.items() if query_id in query_ids else ():
                of_runs.setdefault(run_tag, []).append(score)
        return {run_tag: round(fmean(scores), TIED_DECIMALS) for run_tag, scores in of_runs.items()}


@read_once
def official_boards(collection: Collection, runs: RunSlice | None = None) -> list[Official]:
    """Return the boards by name, without runs that are not accepted, and without all but `runs`.

    Runs that the collection does not have stay. Ranks of some runs are counted among these.

    None for readers who know runs by pseudonyms: published scores would tell whose each is, and so would
    correlations with them on enough topics, measures or runs of the reader's choice.

    A board has ranks if its first run has one.
    """
    if hides_names(collection.pk):
        return []
    boards: dict[str, Official] = {}
    rows = _values(collection.pk, _away(collection, runs)) if runs else _values_of_all(collection.pk)
    for name, run_tag, value, is_rank, measure, source in rows:
        board = boards.setdefault(name, Official(name, is_rank, {}, measure, source))
        if is_rank == board.is_rank:
            board.values[run_tag] = value
    return [
        replace(board, values=competition_ranks(board.scores)) if runs and board.is_rank else board
        for board in boards.values()
    ]


def _values(collection: int, away: QuerySet[Any, Any]) -> QuerySet[OfficialScore, Any]:
    rows = OfficialScore.objects.filter(collection=collection, topic=None).exclude(run_tag__in=away)
    fields = ("board", "run_tag", "value", "is_rank", "measure", "source")
    return rows.order_by("board", "pk").values_list(*fields)


@compiled_once
def _values_of_all(collection: int) -> QuerySet[OfficialScore, Any]:
    return _values(collection, _not_accepted(collection))


def _away(collection: Collection, runs: RunSlice) -> QuerySet[Any, Any]:
    """Return the tags of the collection's other runs, which do not count."""
    return collection.runs.exclude(pk__in=runs.run_pks).values("run_tag")


def _not_accepted(collection: int) -> QuerySet[Any, Any]:
    return Run.objects.not_accepted().filter(collection=collection).values("run_tag")


def with_topics(collection: Collection, board: Official, runs: RunSlice | None = None) -> Official:
    """Return the board with its scores of topics, of the same runs as `official_boards`."""
    if runs:
        scores = list(_by_topic(collection.pk, board.name, _away(collection, runs)))
    else:
        scores = _by_topic_of_all(collection.pk, board.name)
    by_topic: dict[str, dict[str, float]] = {}
    for query_id, run_tag, value in scores:
        by_topic.setdefault(query_id, {})[run_tag] = value
    return replace(board, by_topic=by_topic)


def _by_topic(collection: int, board: str, away: QuerySet[Any, Any]) -> QuerySet[OfficialScore, Any]:
    rows = OfficialScore.objects.filter(collection=collection, board=board, topic__isnull=False)
    return rows.exclude(run_tag__in=away).order_by("pk").values_list("topic__query_id", "run_tag", "value")


@compiled_once
def _by_topic_of_all(collection: int, board: str) -> QuerySet[OfficialScore, Any]:
    return _by_topic(collection, board, _not_accepted(collection))


@dataclass(frozen=True, slots=True)
class RunScores:
    """Scores of a run by topic, from an official leaderboard."""

    board: str
    measure: str
    source: str
    by_topic: dict[int, float]
    """Topic id -> score."""

    @property
    def label(self) -> str:
        return f"{self.board}: {self.measure}" if self.measure else self.board


def scores_of_run(run: Run) -> list[RunScores]:
    """Return the boards that have the run's scores of topics, by name.

    None for readers who know the run by a pseudonym: scores that are published would tell whose it is.
    """
    if hides_names(run.collection_id):
        return []
    rows = OfficialScore.objects.filter(collection=run.collection_id, run_tag=run.run_tag)
    boards: dict[str, RunScores] = {}
    for row in rows.order_by("board", F("topic").asc(nulls_first=True)):
        board = boards.setdefault(row.board, RunScores(row.board, row.measure, row.source, {}))
        if row.topic_id is not None:
            board.by_topic[row.topic_id] = row.value
    return [board for board in boards.values() if board.by_topic]


@transaction.atomic
def put_official_board(
    collection: Collection, path: Path, *, name: str, by: User | None, measure: str = ""
) -> Official:
    """Store the board of a file under this name, replacing an earlier one. BadFormat names the line.

    `measure` selects one where the file has several. Scores of the collection's topics are stored, too.
    """
    from rubricweb.corpus.import_base import (  # here: readers of boards import no files
        FilePosition,
        fitting_id,
    )
    from rubricweb.corpus.import_runs import TAG_LIMIT

    board, source = _with_source(read_official(path, measure=measure), path)
    name = " ".join(name.split())
    if not name or len(name) > NAME_LIMIT:
        raise BadFormat(f"the board needs a name of at most {NAME_LIMIT} characters", file=path.name)
    for run_tag in board.values:
        fitting_id(run_tag, what="the run tag", at=FilePosition(path), limit=TAG_LIMIT)
    collection.official_scores.filter(board=name).delete()
    topics = {topic.query_id: topic for topic in collection.topics.all()}
    OfficialScore.objects.bulk_create(official_rows(collection, board, topics, name=name, source=source))
    audit.record(
        "official board imported", collection, by=by, detail=f"{name}: {counted(len(board.values), 'run')}"
    )
    events.publish_on_commit(collection.channel, "runs")
    return Official(name, board.kind == "ranks", dict(board.values), board.measure, source)


@transaction.atomic
def put_official_scores(
    collection: Collection, scores: Mapping[str, float], *, name: str, measure: str, by: User | None
) -> None:
    """Store scores by run tag, higher for better runs, in place of an earlier board of this name."""
    collection.official_scores.filter(board=name).delete()
    OfficialScore.objects.bulk_create(
        OfficialScore(
            collection=collection, board=name, run_tag=tag, value=score, is_rank=False, measure=measure
        )
        for tag, score in scores.items()
    )
    audit.record("official board made", collection, by=by, detail=f"{name}: {counted(len(scores), 'run')}")
    events.publish_on_commit(collection.channel, "runs")


@transaction.atomic
def remove_official_board(collection: Collection, *, name: str, by: User | None) -> bool:
    """Remove the board; return False if there is none of this name."""
    removed, _ = collection.official_scores.filter(board=name).delete()
    if removed:
        audit.record("official board removed", collection, by=by, detail=name)
        events.publish_on_commit(collection.channel, "runs")
    return bool(removed)


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
    from rubricweb.corpus.import_base import FilePosition, fitting
    from rubricweb.corpus.import_runs import TAG_LIMIT

    board, source = _with_source(_read(file, topics, tally), file.path)
    counts = tally.of("official_scores")
    before = {(row.run_tag, row.topic_id): row for row in collection.official_scores.filter(board=OFFICIAL)}
    fresh = []
    for row in official_rows(collection, board, topics, name=OFFICIAL, source=source):
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


def _with_source(board: OfficialBoard, path: Path) -> tuple[OfficialBoard, str]:
    """Return the board and where it is from: the name of the file, or what a shipped one states."""
    shipped = shipped_at(path)
    return (replace(board, measure=shipped.measure), shipped.source) if shipped else (board, path.name)


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
