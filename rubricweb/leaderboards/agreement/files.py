"""Inter-annotator tables for programs: TSV and JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grading.arrays import none_if_nan
from grading.formats.tables import DataTable, Value, from_mappings
from grading.statistics.mean_intervals import RESAMPLES
from rubricweb import __version__
from rubricweb.corpus.models import Collection
from rubricweb.leaderboards.agreement.selectors import (
    Agreement,
    Between,
    Labeller,
    lowest,
)
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.lookup import grader_name

Json = dict[str, object]
Line = dict[str, Value]


def table(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> DataTable:
    """Return the boxes of all tables: labels from one to another by judgments from one to another."""
    lines = _binary_lines(agreements, min_grade, min_relevant)
    lines += [line for one in agreements for line in _graded_lines(one, min_relevant)]
    return from_mappings(lines, _stated([one.labeller for one in agreements], min_relevant=min_relevant))


def binary_table(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int) -> DataTable:
    """Four boxes a grader: labels from the threshold on and below it by relevant and other judgments."""
    stated = _stated([one.labeller for one in agreements], min_relevant=min_relevant)
    return from_mappings(_binary_lines(agreements, min_grade, min_relevant), stated)


def graded_table(agreement: Agreement, *, min_relevant: int) -> DataTable:
    """Return a box a label and judgment."""
    stated = _stated([agreement.labeller], min_relevant=min_relevant)
    return from_mappings(_graded_lines(agreement, min_relevant), stated)


def thresholds_table(labeller: Labeller, kappas: Sequence[Sequence[float | None]]) -> DataTable:
    lines = [
        {**_labeller(labeller), "min_answers": needed, "min_grade": grade, "kappa": kappa}
        for needed, line in enumerate(kappas, start=1)
        for grade, kappa in enumerate(line, start=1)
    ]
    return from_mappings(lines, _stated([labeller]))


def between_table(pairs: Sequence[Between], *, min_grade: int) -> DataTable:
    """Return a line a pair of graders, over the passages that both labelled."""
    lines: list[Line] = [
        {
            "first_grader": grader_name(one.first.config),
            "first_grader_id": one.first.config.pk,
            "first_bank": _bank(one.first),
            "first_min_grade": lowest(one.first, min_grade),
            "second_grader": grader_name(one.second.config),
            "second_grader_id": one.second.config.pk,
            "second_bank": _bank(one.second),
            "second_min_grade": lowest(one.second, min_grade),
            "passages": one.n,
            "kappa": one.kappa,
            "kappa_low": one.interval.low,
            "kappa_high": one.interval.high,
            "weighted_kappa": one.weighted,
        }
        for one in pairs
    ]
    return from_mappings(lines, _stated([one.first for one in pairs]))


def document(agreements: Sequence[Agreement], *, min_grade: int, min_relevant: int, min_answers: int) -> Json:
    """Everything as one JSON document; what is undefined is null."""
    return {
        "min_grade": min_grade,
        "min_relevant_judgment": min_relevant,
        "min_answers": min_answers,
        "resamples": RESAMPLES,
        "version": __version__,
        "graders": [_document(one, min_grade, min_relevant) for one in agreements],
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
        "graded_kappas": [_rows(one, place, label, min_relevant) for place, label in enumerate(one.labels)],
        "min_grade": low,
        "binary": np.array(tables).sum(axis=0).tolist() if tables else None,
        "kappa": one.kappa(low, min_relevant),
        "interval": [spread.low, spread.high] if spread.is_defined else None,
    }


def _rows(one: Agreement, place: int, label: int, min_relevant: int) -> Json:
    """Kappa of a label with the judgment that it fits best, and with the one that the papers pair it with."""
    best, fixed = one.best_fit(place), one.fixed_pair(label, min_relevant)
    return {
        "label": label,
        "kappas": [none_if_nan(kappa) for kappa in one.cell_kappas[place].tolist()],
        "best_fit": None if best is None else one.judgments[best],
        "fixed_pairing": None if fixed is None else one.judgments[fixed],
    }


def _binary_lines(agreements: Sequence[Agreement], min_grade: int, min_relevant: int) -> list[Line]:
    lines: list[Line] = []
    for one in agreements:
        if not one.labels or not one.judgments:
            continue
        low = lowest(one.labeller, min_grade)
        tables = one.binary(low, min_relevant)
        counts = np.array(tables).sum(axis=0) if tables else np.zeros((2, 2), dtype=np.int64)
        kappa, spread = one.kappa(low, min_relevant), one.interval(low, min_relevant)
        labels = ((low, one.labels[0]), (one.labels[-1], low - 1))
        judgments = ((min_relevant, one.judgments[0]), (one.judgments[-1], min_relevant - 1))
        for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
            line = _box(one, "binary", labels[row], judgments[column], int(counts[row, column]))
            ends = (kappa, spread.low, spread.high) if row == column else (None, None, None)
            lines.append(line | _kappas(*ends) | {"is_best_fit": None, "is_fixed_pairing": None})
    return lines


def _graded_lines(one: Agreement, min_relevant: int) -> list[Line]:
    lines: list[Line] = []
    for place, label in enumerate(one.labels):
        best, fixed = one.best_fit(place), one.fixed_pair(label, min_relevant)
        for column, judgment in enumerate(one.judgments):
            count, kappa = int(one.counts[place, column]), float(one.cell_kappas[place, column])
            line = _box(one, "graded", (label, label), (judgment, judgment), count)
            line |= _kappas(kappa, None, None)
            lines.append(
                line | {"is_best_fit": int(column == best), "is_fixed_pairing": int(column == fixed)}
            )
    return lines


def _box(one: Agreement, name: str, labels: tuple[int, int], judgments: tuple[int, int], count: int) -> Line:
    return {
        "table": name,
        **_labeller(one.labeller),
        "min_answers": one.min_answers,
        "label_low": min(labels),
        "label_high": max(labels),
        "judgment_low": min(judgments),
        "judgment_high": max(judgments),
        "passages": count,
    }


def _kappas(kappa: float | None, low: float | None, high: float | None) -> Line:
    return {"kappa": kappa, "kappa_low": low, "kappa_high": high}


def _labeller(labeller: Labeller) -> Line:
    return {
        "grader": grader_name(labeller.config),
        "grader_id": labeller.config.pk,
        "bank": _bank(labeller),
    }


def _bank(labeller: Labeller) -> str:
    return labeller.bank.name if labeller.bank else "labels"


def _stated(labellers: Sequence[Labeller], *, min_relevant: int | None = None) -> list[tuple[str, str]]:
    collections: dict[str, Collection] = {one.collection.slug: one.collection for one in labellers}
    relevant = [min_relevant] if min_relevant else [one.min_relevant for one in collections.values()]
    return [
        *(("collection", slug) for slug in collections),
        *(("first relevant judgment", str(level)) for level in relevant),
        ("banks", "as of now"),
        ("intervals", f"95 % bootstrap-t over topics, {RESAMPLES:,} resamples"),
        *provenance.when(),
    ]
