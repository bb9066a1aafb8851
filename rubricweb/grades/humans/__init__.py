"""What people say of cells: written as events, read as matrices beside the graders' ones."""

from rubricweb.grades.humans.actions import find_right, judge_grader, rate_cell, take_back_right, undo
from rubricweb.grades.humans.errors import SaidMeanwhile, UnfitRating
from rubricweb.grades.humans.matrices import CheckedGrades, Source, corrected, human_matrices, ratings_by
from rubricweb.grades.humans.sayings import Cell, Shown, latest, said_by

__all__ = [
    "Cell",
    "CheckedGrades",
    "SaidMeanwhile",
    "Shown",
    "Source",
    "UnfitRating",
    "corrected",
    "find_right",
    "human_matrices",
    "judge_grader",
    "latest",
    "rate_cell",
    "ratings_by",
    "said_by",
    "take_back_right",
    "undo",
]
