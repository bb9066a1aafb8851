"""The inter-annotator tables, graded and binarised, as papers print them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grading.formats.sheets import Cell, Mark, Sheet, number
from grading.measures.agreement import cell_kappas
from grading.types import MAX_RATING
from rubricweb import __version__
from rubricweb.leaderboards.agreement.selectors import (
    RESAMPLES,
    Agreement,
    Between,
    Labeller,
    lowest,
)
from rubricweb.leaderboards.board.choices import grader_name
from rubricweb.leaderboards.meta.sheets import span

Json = dict[str, object]
KAPPA = "Cohen's \N{GREEK SMALL LETTER KAPPA}"


def graded(found: Agreement) -> Sheet:
    """A row a label: its judgments, and kappa of the cell where label and judgment agree best."""
    counts = found.counts
    kappas = cell_kappas(counts) if counts.size else np.zeros(counts.shape)
    best_of_column = counts.max(axis=0, initial=0)
    lines = []
    for place, label in enumerate(found.labels):
        boxed = _best(kappas[place])
        cells = [
            Cell(
                f"{count:,}",
                Mark.TIED if count and count == best_of_column[column] else Mark.NONE,
                f"kappa of this cell: {number(float(kappas[place, column]))}",
            )
            for column, count in enumerate(counts[place].tolist())
        ]
        kappa = Cell("\N{EN DASH}") if boxed is None else Cell(number(float(kappas[place, boxed])))
        where = Cell("\N{EN DASH}" if boxed is None else str(found.judgments[boxed]))
        lines.append((Cell(str(label)), *cells, Cell(f"{int(counts[place].sum()):,}"), kappa, where))
    columns = ("Label", *(f"judged {value}" for value in found.judgments), "Total", KAPPA, "of judgment")
    said = *_stated(found.labeller), "kappa: of the label with the judgment that it fits best"
    legend = ((Mark.TIED, "most frequent label of a judgment"),)
    return Sheet(found.labeller.label, columns, tuple(lines), 1, said, legend=legend)


def binary(found: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> Sheet:
    """Two rows a grader: labels from the threshold on and below it, by relevant and other judgments."""
    lines = []
    for one in found:
        low = lowest(one.labeller, min_grade)
        tables = one.binary(low, min_relevant)
        counts = np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)
        kappa, spread = one.kappa(low, min_relevant), one.interval(low, min_relevant)
        names = (f"{low}\N{EN DASH}{one.labels[0]}" if low < one.labels[0] else str(low), f"below {low}")
        for place, name in enumerate(names):
            row = [f"{count:,}" for count in (*counts[place].tolist(), int(counts[place].sum()))]
            ends = (number(kappa), span(spread)) if place == 0 else ("", "")
            texts = (one.labeller.label, name, *row, *ends)
            lines.append(tuple(Cell(text) for text in texts))
    columns = ("Grader", "Label", f"judged {min_relevant} or more", "less", "Total", KAPPA, "95 % interval")
    said = f"intervals: {RESAMPLES:,} resamples of topics; RubricWeb {__version__}"
    return Sheet("Labels against human judgments, binarised", columns, tuple(lines), 2, (said,))


def thresholds(labeller: Labeller, kappas: Sequence[Sequence[float | None]]) -> Sheet:
    """Kappa by items needed and threshold, the best marked."""
    best = max((value for line in kappas for value in line if value is not None), default=None)
    lines = [
        (
            Cell(str(needed)),
            *(
                Cell(number(value), Mark.BEST if value is not None and value == best else Mark.NONE)
                for value in line
            ),
        )
        for needed, line in enumerate(kappas, start=1)
    ]
    columns = (
        "Items needed",
        *(f"\N{GREATER-THAN OR EQUAL TO} {grade}" for grade in range(1, MAX_RATING + 1)),
    )
    title = f"{KAPPA} by threshold and items needed: {labeller.label}"
    return Sheet(title, columns, tuple(lines), 1, _stated(labeller), legend=((Mark.BEST, "the highest"),))


def graders(pairs: Sequence[Between]) -> Sheet:
    lines = tuple(
        (
            Cell(one.first.label),
            Cell(one.second.label),
            Cell(f"{one.n:,}"),
            Cell(number(one.kappa)),
            Cell(span(one.interval)),
            Cell(number(one.weighted)),
        )
        for one in pairs
    )
    columns = ("Grader", "and", "Passages", KAPPA, "95 % interval", "Weighted \N{GREEK SMALL LETTER KAPPA}")
    said = "weighted kappa: quadratic, over labels 0 to 5, where both graders rate items"
    return Sheet("Labels of two graders", columns, lines, 2, (said,))


def document(found: Sequence[Agreement], *, min_grade: int, min_relevant: int, min_answers: int) -> Json:
    """Everything as one JSON document; what is undefined is null."""
    return {
        "min_grade": min_grade,
        "min_relevant_judgment": min_relevant,
        "min_answers": min_answers,
        "resamples": RESAMPLES,
        "version": __version__,
        "graders": [_document(one, min_grade, min_relevant) for one in found],
    }


def _document(one: Agreement, min_grade: int, min_relevant: int) -> Json:
    low = lowest(one.labeller, min_grade)
    tables, spread = one.binary(low, min_relevant), one.interval(low, min_relevant)
    return {
        "grader": grader_name(one.labeller.config),
        "bank": one.labeller.bank.name if one.labeller.bank else None,
        "labels": list(one.labels),
        "judgments": list(one.judgments),
        "graded": one.counts.tolist(),
        "min_grade": low,
        "binary": np.array(tables).sum(axis=0).tolist() if tables else None,
        "kappa": one.kappa(low, min_relevant),
        "interval": [spread.low, spread.high] if spread.is_defined else None,
    }


def _stated(labeller: Labeller) -> tuple[str, ...]:
    bank = f"bank {labeller.bank.name}" if labeller.bank else "labels"
    return (f"{grader_name(labeller.config)}; {bank}; RubricWeb {__version__}",)


def _best(kappas: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int | None:
    return None if not kappas.size or np.isnan(kappas).all() else int(np.nanargmax(kappas))
