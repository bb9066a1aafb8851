"""Human ratings: saved as events, read as matrices beside the graders'."""

from rubricweb.grades.humans.actions import (
    RatedMeanwhile,
    UnfitRating,
    add_imported,
    add_rating,
    already_saved,
    find_right,
    judge_grader,
    rate_cell,
    save_events,
    saved_once,
    take_back_right,
    undo,
)
from rubricweb.grades.humans.latest_ratings import Cell, ShownRating, latest, latest_by, latest_by_cell
from rubricweb.grades.humans.matrices import CheckedGrades, Source, corrected, human_matrices, ratings_by
from rubricweb.grades.humans.verdicts import judge_answer, undo_verdict, verdict_matrices, verdicts_on

__all__ = [
    "Cell",
    "CheckedGrades",
    "RatedMeanwhile",
    "ShownRating",
    "Source",
    "UnfitRating",
    "add_imported",
    "add_rating",
    "already_saved",
    "corrected",
    "find_right",
    "human_matrices",
    "judge_answer",
    "judge_grader",
    "latest",
    "latest_by",
    "latest_by_cell",
    "rate_cell",
    "ratings_by",
    "save_events",
    "saved_once",
    "take_back_right",
    "undo",
    "undo_verdict",
    "verdict_matrices",
    "verdicts_on",
]
