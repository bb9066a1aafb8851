"""Result pages of the Rubric-Grading Workbench: a row a run with its scores and its official rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from grading.statistics.rank_correlation import Coefficient, correlate, from_ranks
from reproduce._tables import Artefact, Figure, Table, lines_of

SOURCE = "github.com/TREMA-UNH/rubric-grading-workbench at 13aaed51"
PAPER = "Dietz, A Workbench for Autograding Retrieve/Generate Systems (SIGIR 2024)"
TOLERANCE = 0.003
"""Scores of a page have three digits: runs that tie there differed in what its coefficients come from."""
COEFFICIENTS = {"spearman": Coefficient.SPEARMAN, "kendall": Coefficient.KENDALL}


def table(measure: str, printed: Mapping[str, tuple[float, ...]], *, md5: str, note: str) -> Table:
    """Return the table of the page of `measure` (`cover` or `qrels`), and the coefficients printed on it."""
    page = f"dl20-{measure}"
    file = f"{page}.mkd"
    return Table(
        f"Workbench DL 2020: {measure} and the official leaderboard",
        f"{PAPER}, results/{page}",
        lambda files: coefficients(files[file], printed, tolerance=TOLERANCE),
        (Artefact(file, f"{SOURCE}, results/{file} (MIT)", md5),),
        note,
    )


def coefficients(
    path: Path, printed: Mapping[str, tuple[float, ...]], *, tolerance: float
) -> Iterator[Figure]:
    """Yield each correlation of a column with the official ranks, from the scores as the page prints them."""
    rows = [_cells(line) for line in lines_of(path) if line.startswith("| ")]
    head = rows[0]
    columns = [place for place, name in enumerate(head) if name.startswith(("nugget-", "question"))]
    runs = {row[0]: row for row in rows if len(row) == len(head) and row[-1].isdecimal()}
    ranks = from_ranks({run: float(row[-1]) for run, row in runs.items()})
    yield Figure("runs", len(ranks), len(runs))
    for name, values in printed.items():
        for place, value in zip(columns, values, strict=True):
            board = {run: float(row[place]) for run, row in runs.items()}
            computed = correlate(board, ranks, COEFFICIENTS[name]).value
            ours = float("nan") if computed is None else computed
            yield Figure(f"{name}, {head[place]}", value, ours, 3, tolerance)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("**", "").replace("\\_", "_") for cell in line.strip().strip("|").split("|")]
