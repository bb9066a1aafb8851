"""What people say of cells: written as events, read as matrices beside the graders' ones."""

from rubricweb.grades.humans.actions import (
    SaidMeanwhile,
    UnfitRating,
    add_rating,
    find_right,
    judge_grader,
    rate_cell,
    said_before,
    said_once,
    take_back_right,
    undo,
)
from rubricweb.grades.humans.latest_ratings import Cell, ShownRating, last_said, latest, said_by
from rubricweb.grades.humans.matrices import CheckedGrades, Source, corrected, human_matrices, ratings_by

__all__ = [
    "Cell",
    "CheckedGrades",
    "SaidMeanwhile",
    "ShownRating",
    "Source",
    "UnfitRating",
    "add_rating",
    "corrected",
    "find_right",
    "human_matrices",
    "judge_grader",
    "last_said",
    "latest",
    "rate_cell",
    "ratings_by",
    "said_before",
    "said_by",
    "said_once",
    "take_back_right",
    "undo",
]
