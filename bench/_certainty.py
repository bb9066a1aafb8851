"""What benches found of intervals and verdicts, as rows of docs/certainty.md.

A bench calls `report("means", rows)`: the rows are printed, and with `--write` on its command line they
replace those between `<!-- means -->` and `<!-- /means -->` of the document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import NamedTuple

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "certainty.md"
HEADER = "| Setting | Nominal | Found | ± | Seed |\n|---|--:|--:|--:|--:|\n"


class Row(NamedTuple):
    """What a simulation found, beside what is claimed."""

    setting: str
    nominal: str
    found: float
    error: float
    """Monte-Carlo standard error of what was found."""
    seed: int


def share(setting: str, nominal: str, count: int, of: int, seed: int) -> Row:
    """Return the row of a share of simulations."""
    found = count / of
    return Row(setting, nominal, found, sqrt(max(found * (1 - found), 1 / of) / of), seed)


def report(section: str, rows: Sequence[Row]) -> None:
    """Print the rows; rewrite the section of the document with `--write`."""
    lines = [
        f"| {row.setting} | {row.nominal} | {row.found:.3f} | {row.error:.3f} | {row.seed} |" for row in rows
    ]
    print(HEADER + "\n".join(lines))
    if "--write" in sys.argv:
        pattern = re.compile(f"(<!-- {section} -->\n).*?(<!-- /{section} -->)", re.DOTALL)
        text = DOCUMENT.read_text()
        if not pattern.search(text):
            raise SystemExit(f"{DOCUMENT.name} has no section {section}")
        table = HEADER + "\n".join(lines) + "\n"
        DOCUMENT.write_text(pattern.sub(lambda found: found[1] + table + found[2], text))
