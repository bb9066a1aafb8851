"""RUBRIC and EXAM++: Cohen's kappa of labels and judgments, from the counts that the papers print."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from grading.statistics.agreement import binarised, cell_kappas, cohen_kappa
from reproduce._tables import Figure, Files, Table

DL20 = np.array(
    [
        [64, 87, 80, 276],
        [325, 522, 720, 1301],
        [23, 35, 61, 255],
        [14, 54, 120, 299],
        [4, 14, 17, 75],
        [216, 308, 942, 5574],
    ]
)
"""RUBRIC on DL 2020: passages by grade, 5 to 0, and judgment, 3 to 0."""
TABLES = (
    (((998, 2377), (668, 7343)), 0.25),
    (((1211, 4095), (455, 5625)), 0.16),
    (((1272, 3492), (394, 6228)), 0.23),
    (((1910, 1117), (880, 2445)), 0.37),
)
"""Printed two-by-two tables, with their kappas."""


def figures(files: Files) -> Iterator[Figure]:
    """Yield the counts of the binary table, and every printed kappa."""
    ours = binarised(DL20, n_rows=2, n_columns=2)
    for place, count in enumerate(np.ravel(TABLES[0][0]).tolist()):
        yield Figure(
            f"RUBRIC DL 2020, graded table collapsed, cell {place + 1}", count, int(ours.flat[place])
        )
    for counts, kappa in TABLES:
        stated = " / ".join(", ".join(f"{count:,}" for count in row) for row in counts)
        yield Figure(f"kappa of {stated}", kappa, float(cohen_kappa(np.array(counts))), 2)
    yield Figure("RUBRIC DL 2020, kappa of label 0 with judgment 0", 0.29, float(cell_kappas(DL20)[5, 3]), 2)
    yield Figure("RUBRIC DL 2020, kappa of label 4 with judgment 3", 0.10, float(cell_kappas(DL20)[1, 0]), 2)


TABLE = Table(
    "RUBRIC and EXAM++: agreement of labels and judgments",
    "Farzi and Dietz, Pencils Down! (ICTIR 2024), Table 5 and the other agreement tables of the papers",
    figures,
)
