"""Workbench, DL 2020: correlations of Rubric-Cover with the official leaderboard, by kind and threshold."""

from __future__ import annotations

from collections.abc import Iterable

from reproduce._tables import Artefact, Figure, Files, Table
from reproduce._workbench import coefficients

FILE = "dl20-cover.mkd"
PRINTED = {
    "spearman": (0.253, 0.637, 0.896, 0.953, 0.948, 0.906),
    "kendall": (0.189, 0.488, 0.72, 0.824, 0.811, 0.748),
}


TOLERANCE = 0.003


def figures(files: Files) -> Iterable[Figure]:
    """Yield the twelve coefficients."""
    return coefficients(files[FILE], PRINTED, tolerance=TOLERANCE)


TABLE = Table(
    "Workbench DL 2020: cover and the official leaderboard",
    "Dietz, A Workbench for Autograding Retrieve/Generate Systems (SIGIR 2024), results/dl20-cover",
    figures,
    (
        Artefact(
            FILE,
            "github.com/TREMA-UNH/rubric-grading-workbench at 13aaed51, results/dl20-cover.mkd (MIT)",
            "2183fee86485abe0f9a0773367a8fc40",
        ),
    ),
    "Ours are computed from the scores of the page, which have three digits: runs that tie there differed in "
    "what the page's own coefficients were computed from, hence the tolerance of .003.",
)
