"""The inter-annotator tables, graded and binarised, as papers print them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grading.formats.tables import Mark, PrintedTable, TextCell, number
from grading.types import MAX_RATING
from rubricweb import __version__
from rubricweb.leaderboards.agreement import files
from rubricweb.leaderboards.agreement.selectors import (
    Agreement,
    Between,
    Labeller,
    lowest,
)
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta.sheets import span

SIGN = "\N{GREEK SMALL LETTER KAPPA}"
KAPPA = f"Cohen's {SIGN}"


def graded(agreement: Agreement, *, min_relevant: int) -> PrintedTable:
    """Return a row a label: its judgments, kappa of the judgment that it fits best, and of the papers'
    pairing.
    """
    counts, kappas = agreement.counts, agreement.cell_kappas
    best_of_column = counts.max(axis=0, initial=0)
    lines = []
    for place, label in enumerate(agreement.labels):
        cells = [
            TextCell(
                f"{count:,}",
                Mark.TIED if count and count == best_of_column[column] else Mark.NONE,
                f"kappa of this cell: {number(float(kappas[place, column]))}",
            )
            for column, count in enumerate(counts[place].tolist())
        ]
        pairs = [
            _kappa_of(agreement, place, column)
            for column in (agreement.best_fit(place), agreement.fixed_pair(label, min_relevant))
        ]
        lines.append((TextCell(str(label)), *cells, TextCell(f"{int(counts[place].sum()):,}"), *pairs))
    judged = (f"judged {value}" for value in agreement.judgments)
    columns = ("Label", *judged, "Total", f"{SIGN} best fit", f"{SIGN} fixed pairing")
    notes = (
        *_stated(agreement.labeller),
        "best fit: Cohen's kappa of the label with the judgment that it fits best, chosen after the fact",
        "fixed pairing: with the judgment that the papers pair it with, chosen beforehand",
    )
    legend = ((Mark.TIED, "most frequent label of a judgment"),)
    data = files.graded_table(agreement, min_relevant=min_relevant)
    return PrintedTable(agreement.labeller.label, columns, tuple(lines), 1, notes, legend=legend, data=data)


def _kappa_of(agreement: Agreement, place: int, column: int | None) -> TextCell:
    if column is None:
        return TextCell("\N{EN DASH}")
    return TextCell(
        f"{number(float(agreement.cell_kappas[place, column]))} with {agreement.judgments[column]}"
    )


def binary(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> PrintedTable:
    """Two rows a grader: labels from the threshold on and below it, by relevant and other judgments."""
    lines = []
    for one in agreements:
        low = lowest(one.labeller, min_grade)
        tables = one.binary(low, min_relevant)
        counts = np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)
        kappa, spread = one.kappa(low, min_relevant), one.interval(low, min_relevant)
        names = (f"{low}\N{EN DASH}{one.labels[0]}" if low < one.labels[0] else str(low), f"below {low}")
        for place, name in enumerate(names):
            row = [f"{count:,}" for count in (*counts[place].tolist(), int(counts[place].sum()))]
            ends = (number(kappa), span(spread)) if place == 0 else ("", "")
            texts = (one.labeller.label, name, *row, *ends)
            lines.append(tuple(TextCell(text) for text in texts))
    columns = ("Grader", "Label", f"judged {min_relevant} or more", "less", "Total", KAPPA, "95 % interval")
    note = f"intervals: 95 % bootstrap-t over topics; RubricWeb {__version__}"
    data = files.binary_table(agreements, min_grade=min_grade, min_relevant=min_relevant)
    return PrintedTable(
        "Labels against human judgments, binarised", columns, tuple(lines), 2, (note,), data=data
    )


def thresholds(labeller: Labeller, kappas: Sequence[Sequence[float | None]]) -> PrintedTable:
    """Kappa by items needed and threshold, the best marked."""
    best = max((value for line in kappas for value in line if value is not None), default=None)
    lines = [
        (
            TextCell(str(needed)),
            *(
                TextCell(number(value), Mark.BEST if value is not None and value == best else Mark.NONE)
                for value in line
            ),
        )
        for needed, line in enumerate(kappas, start=1)
    ]
    columns = (
        "Items needed",
        *(f"\N{GREATER-THAN OR EQUAL TO} {grade}" for grade in range(1, MAX_RATING + 1)),
    )
    title, legend = f"{KAPPA} by threshold and items needed: {labeller.label}", ((Mark.BEST, "the highest"),)
    data = files.thresholds_table(labeller, kappas)
    return PrintedTable(title, columns, tuple(lines), 1, _stated(labeller), legend=legend, data=data)


def graders(pairs: Sequence[Between], *, min_grade: int) -> PrintedTable:
    lines = tuple(
        (
            TextCell(one.first.label),
            TextCell(one.second.label),
            TextCell(f"{one.n:,}"),
            TextCell(number(one.kappa)),
            TextCell(span(one.interval)),
            TextCell(number(one.weighted)),
        )
        for one in pairs
    )
    columns = ("Grader", "and", "Passages", KAPPA, "95 % interval", "Weighted \N{GREEK SMALL LETTER KAPPA}")
    note = "weighted kappa: quadratic, over labels 0 to 5, where both graders rate items"
    data = files.between_table(pairs, min_grade=min_grade)
    return PrintedTable("Labels of two graders", columns, lines, 2, (note,), data=data)


def _stated(labeller: Labeller) -> tuple[str, ...]:
    bank = f"bank {labeller.bank.name}" if labeller.bank else "labels"
    return (f"{grader_name(labeller.config)}; {bank}; RubricWeb {__version__}",)
