"""Print inter-annotator tables, and write them as TSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grading.arrays import none_if_nan
from grading.formats.tables import DataTable, Mark, PrintedTable, TextCell, Value, from_mappings, number
from grading.statistics.mean_intervals import RESAMPLES
from grading.types import MAX_RATING
from rubricweb import __version__
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.agreement import Agreement, Between, Labeller, lowest
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.lookup import grader_name
from rubricweb.leaderboards.meta_tables import span

Json = dict[str, object]
Line = dict[str, Value]
SIGN = "\N{GREEK SMALL LETTER KAPPA}"
KAPPA = f"Cohen's {SIGN}"


def table(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> DataTable:
    """Return the boxes of all tables: labels from one to another by judgments from one to another."""
    lines = _binary_lines(agreements, min_grade, min_relevant)
    lines += [line for row in agreements for line in _graded_lines(row, min_relevant)]
    return from_mappings(lines, _statements([row.labeller for row in agreements], min_relevant=min_relevant))


def thresholds_table(labeller: Labeller, kappas: Sequence[Sequence[float | None]]) -> DataTable:
    lines = [
        {**_labeller(labeller), "min_answers": needed, "min_grade": grade, "kappa": kappa}
        for needed, line in enumerate(kappas, start=1)
        for grade, kappa in enumerate(line, start=1)
    ]
    return from_mappings(lines, _statements([labeller]))


def between_table(pairs: Sequence[Between], *, min_grade: int) -> DataTable:
    lines = between_lines(pairs, min_grade=min_grade)
    return from_mappings(lines, _statements([row.first for row in pairs]))


def between_lines(pairs: Sequence[Between], *, min_grade: int) -> list[Line]:
    """Return a line a pair of graders, over the passages that both labelled."""
    return [
        {
            "first_grader": grader_name(row.first.config),
            "first_grader_id": row.first.config.pk,
            "first_bank": _bank(row.first),
            "first_min_grade": lowest(row.first, min_grade),
            "second_grader": grader_name(row.second.config),
            "second_grader_id": row.second.config.pk,
            "second_bank": _bank(row.second),
            "second_min_grade": lowest(row.second, min_grade),
            "passages": row.n,
            "kappa": row.kappa,
            "kappa_low": none_if_nan(row.interval.low),
            "kappa_high": none_if_nan(row.interval.high),
            "graded_kappa": row.graded,
            "weighted_kappa": row.weighted,
        }
        for row in pairs
    ]


def document(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int, min_answers: int) -> Json:
    """Return everything as one JSON document; what is undefined is null."""
    return {
        "min_grade": min_grade,
        "min_relevant_judgment": min_relevant,
        "min_answers": min_answers,
        "resamples": RESAMPLES,
        "version": __version__,
        "graders": [_document(row, min_grade, min_relevant) for row in agreements],
    }


def _document(row: Agreement, min_grade: int, min_relevant: int) -> Json:
    low = lowest(row.labeller, min_grade)
    tables, spread = row.binary(low, min_relevant), row.interval(low, min_relevant)
    return {
        "grader": grader_name(row.labeller.config),
        "bank": row.labeller.bank.name if row.labeller.bank else None,
        "labels": list(row.labels),
        "judgments": list(row.judgments),
        "graded": row.counts.tolist(),
        "graded_kappas": [_rows(row, place, label, min_relevant) for place, label in enumerate(row.labels)],
        "min_grade": low,
        "binary": np.array(tables).sum(axis=0).tolist() if tables else None,
        "kappa": row.kappa(low, min_relevant),
        "interval": [spread.low, spread.high] if spread.is_defined else None,
    }


def _rows(row: Agreement, place: int, label: int, min_relevant: int) -> Json:
    """Return kappa of a label with the judgment that it fits best, and with that of the papers' pairing."""
    best, fixed = row.best_fit(place), row.fixed_pair(label, min_relevant)
    return {
        "label": label,
        "kappas": [none_if_nan(kappa) for kappa in row.cell_kappas[place].tolist()],
        "best_fit": None if best is None else row.judgments[best],
        "fixed_pairing": None if fixed is None else row.judgments[fixed],
    }


def _binary_lines(agreements: Sequence[Agreement], min_grade: int, min_relevant: int) -> list[Line]:
    lines: list[Line] = []
    for entry in agreements:
        if not entry.labels or not entry.judgments:
            continue
        low = lowest(entry.labeller, min_grade)
        tables = entry.binary(low, min_relevant)
        counts = np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)
        kappa, spread = entry.kappa(low, min_relevant), entry.interval(low, min_relevant)
        labels = ((low, entry.labels[0]), (entry.labels[-1], low - 1))
        judgments = ((min_relevant, entry.judgments[0]), (entry.judgments[-1], min_relevant - 1))
        for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
            line = _box(entry, "binary", labels[row], judgments[column], int(counts[row, column]))
            ends = (kappa, spread.low, spread.high) if row == column else (None, None, None)
            lines.append(line | _kappas(*ends) | {"is_best_fit": None, "is_fixed_pairing": None})
    return lines


def _graded_lines(row: Agreement, min_relevant: int) -> list[Line]:
    lines: list[Line] = []
    for place, label in enumerate(row.labels):
        best, fixed = row.best_fit(place), row.fixed_pair(label, min_relevant)
        for column, judgment in enumerate(row.judgments):
            count, kappa = int(row.counts[place, column]), float(row.cell_kappas[place, column])
            line = _box(row, "graded", (label, label), (judgment, judgment), count)
            line |= _kappas(kappa, None, None)
            lines.append(
                line | {"is_best_fit": int(column == best), "is_fixed_pairing": int(column == fixed)}
            )
    return lines


def _box(row: Agreement, name: str, labels: tuple[int, int], judgments: tuple[int, int], count: int) -> Line:
    return {
        "table": name,
        **_labeller(row.labeller),
        "min_answers": row.min_answers,
        "label_low": min(labels),
        "label_high": max(labels),
        "judgment_low": min(judgments),
        "judgment_high": max(judgments),
        "passages": count,
    }


def _kappas(kappa: float | None, low: float | None, high: float | None) -> Line:
    return {"kappa": kappa, "kappa_low": low, "kappa_high": high}


def _labeller(labeller: Labeller) -> Line:
    return {"grader": grader_name(labeller.config), "grader_id": labeller.config.pk, "bank": _bank(labeller)}


def _bank(labeller: Labeller) -> str:
    return labeller.bank.name if labeller.bank else "labels"


def _statements(labellers: Sequence[Labeller], *, min_relevant: int | None = None) -> list[tuple[str, str]]:
    collections: dict[str, Collection] = {row.collection.slug: row.collection for row in labellers}
    relevant = [min_relevant] if min_relevant else [row.min_relevant for row in collections.values()]
    return [
        *(("collection", slug) for slug in collections),
        *(("first relevant judgment", str(level)) for level in relevant),
        ("banks", "as of now"),
        ("intervals", f"95 % bootstrap-t over topics, {RESAMPLES:,} resamples"),
        *provenance.when(),
    ]


def graded(agreement: Agreement, *, min_relevant: int) -> PrintedTable:
    """Return a row a label: its judgments, and kappa of its best fit and of the papers' pairing."""
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
    stated = _statements([agreement.labeller], min_relevant=min_relevant)
    data = from_mappings(_graded_lines(agreement, min_relevant), stated)
    return PrintedTable(agreement.labeller.label, columns, tuple(lines), 1, notes, legend=legend, data=data)


def _kappa_of(agreement: Agreement, place: int, column: int | None) -> TextCell:
    if column is None:
        return TextCell("\N{EN DASH}")
    return TextCell(
        f"{number(float(agreement.cell_kappas[place, column]))} with {agreement.judgments[column]}"
    )


def binary(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> PrintedTable:
    """Return two rows a grader: labels from the threshold on and below it, by relevant judgments or not."""
    lines = []
    for entry in agreements:
        low = lowest(entry.labeller, min_grade)
        tables = entry.binary(low, min_relevant)
        counts = np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)
        kappa, spread = entry.kappa(low, min_relevant), entry.interval(low, min_relevant)
        names = (f"{low}\N{EN DASH}{entry.labels[0]}" if low < entry.labels[0] else str(low), f"below {low}")
        for place, name in enumerate(names):
            row = [f"{count:,}" for count in (*counts[place].tolist(), int(counts[place].sum()))]
            ends = (number(kappa), span(spread)) if place == 0 else ("", "")
            texts = (entry.labeller.label, name, *row, *ends)
            lines.append(tuple(TextCell(text) for text in texts))
    columns = ("Grader", "Label", f"judged {min_relevant} or more", "less", "Total", KAPPA, "95 % interval")
    note = f"intervals: 95 % bootstrap-t over topics; RubricWeb {__version__}"
    stated = _statements([row.labeller for row in agreements], min_relevant=min_relevant)
    data = from_mappings(_binary_lines(agreements, min_grade, min_relevant), stated)
    return PrintedTable(
        "Labels against human judgments, binarised", columns, tuple(lines), 2, (note,), data=data
    )


def thresholds(labeller: Labeller, kappas: Sequence[Sequence[float | None]]) -> PrintedTable:
    """Return kappa by items needed and threshold, the best marked."""
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
    data = thresholds_table(labeller, kappas)
    return PrintedTable(title, columns, tuple(lines), 1, _stated(labeller), legend=legend, data=data)


def graders(pairs: Sequence[Between], *, min_grade: int) -> PrintedTable:
    lines = tuple(
        (
            TextCell(row.first.label),
            TextCell(row.second.label),
            TextCell(f"{row.n:,}"),
            TextCell(number(row.kappa)),
            TextCell(span(row.interval)),
            TextCell(number(row.graded)),
            TextCell(number(row.weighted)),
        )
        for row in pairs
    )
    by_threshold = (KAPPA, "95 % interval")
    columns = ("Grader", "and", "Passages", *by_threshold, f"{SIGN} of all labels", f"Weighted {SIGN}")
    note = "kappa by thresholds; of all labels, and weighted quadratically, where both graders have one scale"
    data = between_table(pairs, min_grade=min_grade)
    return PrintedTable("Labels of two graders", columns, lines, 2, (note,), data=data)


def _stated(labeller: Labeller) -> tuple[str, ...]:
    bank = f"bank {labeller.bank.name}" if labeller.bank else "labels"
    return (f"{grader_name(labeller.config)}; {bank}; RubricWeb {__version__}",)
