"""The official leaderboard."""

from __future__ import annotations

from pathlib import Path

from grading.formats.workbench import OfficialBoard, read_official
from rubricweb.corpus.importers.positions import FilePosition, fitting
from rubricweb.corpus.importers.runs import TAG_LIMIT
from rubricweb.corpus.importers.tally import Tally
from rubricweb.corpus.models import OFFICIAL, Collection, OfficialScore


def import_official(
    collection: Collection, path: Path, tally: Tally, *, is_replacing: bool, measure: str = ""
) -> None:
    """Import ranks or scores by run tag as the official leaderboard; unknown runs are allowed.

    `measure` selects one of a trec_eval summary.
    """
    board, counts = _read(path, measure, tally), tally.of("official_scores")
    is_rank = board.kind == "ranks"
    before = {score.run_tag: score for score in collection.official_scores.filter(board=OFFICIAL)}
    fresh = []
    for run_tag, value in board.values.items():
        old = before.get(run_tag)
        if old is None:
            fitting(run_tag, what="the run tag", at=FilePosition(path), limit=TAG_LIMIT)
            fresh.append(OfficialScore(collection=collection, run_tag=run_tag, value=value, is_rank=is_rank))
        elif (old.value, old.is_rank) == (value, is_rank):
            counts.unchanged += 1
        elif is_replacing:
            old.value, old.is_rank = value, is_rank
            old.save(update_fields=["value", "is_rank"])
            counts.changed += 1
        else:
            raise (
                FilePosition(path)
                .with_key(run_tag)
                .error(
                    f"run {run_tag} has {board.kind[:-1]} {value:g} here "
                    f"and {'rank' if old.is_rank else 'score'} {old.value:g} in the collection, "
                    "expected the same (or --replace)"
                )
            )
    OfficialScore.objects.bulk_create(fresh)
    counts.new += len(fresh)


def _read(path: Path, measure: str, tally: Tally) -> OfficialBoard:
    board = read_official(path, measure=measure)
    if board.measure:
        tally.note(f"{path.name} is a summary of trec_eval: its {board.measure} is the official leaderboard")
    return board
