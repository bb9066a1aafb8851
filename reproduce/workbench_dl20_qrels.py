"""Workbench, DL 2020: correlations of Rubric-Qrels with the official leaderboard, by kind and threshold."""

from __future__ import annotations

from collections.abc import Iterable

from reproduce._tables import Artefact, Figure, Files, Table
from reproduce._workbench import coefficients

FILE = "dl20-qrels.mkd"
PRINTED = {
    "spearman": (0.859, 0.894, 0.894, 0.961, 0.953, 0.972),
    "kendall": (0.684, 0.734, 0.729, 0.834, 0.818, 0.872),
}
TOLERANCE = 0.003


def figures(files: Files) -> Iterable[Figure]:
    """Yield the twelve coefficients."""
    return coefficients(files[FILE], PRINTED, tolerance=TOLERANCE)


TABLE = Table(
    "Workbench DL 2020: qrels and the official leaderboard",
    "Dietz, A Workbench for Autograding Retrieve/Generate Systems (SIGIR 2024), results/dl20-qrels",
    figures,
    (
        Artefact(
            FILE,
            "github.com/TREMA-UNH/rubric-grading-workbench at 13aaed51, results/dl20-qrels.mkd (MIT)",
            "9dd7fe615e58008f1648bc50a58fa616",
        ),
    ),
    "As for cover, from scores of three digits.",
)
