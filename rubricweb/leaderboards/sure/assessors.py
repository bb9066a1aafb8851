"""How far assessors agree with each other and with the board's grader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grading.formats.tables import PrintedTable, TextCell, Value, from_mappings, number
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.campaigns.agreement import (
    AgreementView,
    AlphaRow,
    AssessorPair,
    agreement,
)
from rubricweb.campaigns.assessor_ratings import CountedRating
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import raters
from rubricweb.leaderboards.board import provenance
from rubricweb.leaderboards.board.types import BoardSpec

SHARES = ("same", "kappa", "weighted", "low", "high")


@dataclass(frozen=True, slots=True)
class Section:
    """What the page says of assessors; `sheets` by name in addresses."""

    view: AgreementView
    independent: AgreementView
    """Of the ratings that people gave before they saw the grader's."""
    shows_names: bool
    sheets: dict[str, PrintedTable]


def section(
    user: User, collection: Collection, spec: BoardSpec | None, *, shows_names: bool
) -> Section | None:
    """Return the section, beside the board's grader if there is one, for those who edit banks; else None."""
    if not roles.holds(user, collection, roles.TO_EDIT_BANK):
        return None
    bank = spec.bank if spec else None
    rater = next((one for one in raters(bank) if spec and spec.config in one.configs), None) if bank else None
    of_all, independent = (
        agreement(collection, rater, which=which, shows_names=shows_names) for which in CountedRating
    )
    stated = [("collection", collection.slug), *provenance.when()]
    sheets = {"assessors": _pairs([*of_all.pairs, *of_all.with_grader], stated)}
    sheets["assessors-by"] = _alphas({"topic": of_all.by_topic, "item": of_all.by_item}, stated)
    return Section(of_all, independent, shows_names, sheets)


def _pairs(pairs: Sequence[AssessorPair], stated: list[tuple[str, str]]) -> PrintedTable:
    """Return two raters a row; numbers of too few cells are undefined."""
    lines: list[dict[str, Value]] = []
    for pair in pairs:
        numbers = (pair.same, pair.kappa, pair.weighted, pair.interval.low, pair.interval.high)
        values = [None] * len(SHARES) if pair.is_too_few else list(numbers)
        lines.append({"assessor": pair.first, "with": pair.second, "cells": pair.cells})
        lines[-1] |= dict(zip(SHARES, values, strict=True))
    rows = tuple(tuple(TextCell(number(value)) for value in line.values()) for line in lines)
    heads = ("Assessor", "With", "Pairs", "Same rating", "Kappa", "Weighted", "From", "To")
    notes = ("a dash: too few pairs; From and To: 95 % interval of the weighted kappa, over topics",)
    data = from_mappings(lines, stated)
    return PrintedTable("Assessors with each other and the grader", heads, rows, 2, notes, data=data)


def _alphas(groups: dict[str, tuple[AlphaRow, ...]], stated: list[tuple[str, str]]) -> PrintedTable:
    """Return a topic or item a row, the least agreement first."""
    lines: list[dict[str, Value]] = []
    for kind, rows in groups.items():
        for row in rows:
            same, alpha = (None, None) if row.is_too_few else (row.same, row.alpha)
            lines.append({"of": kind, "name": row.name, "cells": row.cells, "same": same, "alpha": alpha})
    cells = tuple(tuple(TextCell(number(value)) for value in line.values()) for line in lines)
    heads = ("Of", "Name", "Pairs", "Same rating", "Alpha")
    return PrintedTable("Assessors by topic and item", heads, cells, 2, data=from_mappings(lines, stated))
