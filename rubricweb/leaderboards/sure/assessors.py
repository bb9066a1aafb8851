"""What How sure are we says of assessors: how far they agree with each other and with the grader."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from grading.formats.tables import PrintedTable, Value
from rubricweb.accounts import roles
from rubricweb.accounts.models import User
from rubricweb.campaigns.agreement import (
    AgreementView,
    AlphaRow,
    AssessorPair,
    Overall,
    agreement,
    independent_agreement,
)
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import raters
from rubricweb.leaderboards.board import BoardSpec, provenance
from rubricweb.leaderboards.sheets import plain_sheet

AGREEMENT_SHARES = ("same", "kappa", "weighted", "low", "high")
PAIRS, BY = "Assessors with each other and the grader", "Assessors by topic and item"


@dataclass(frozen=True)
class Section:
    """What the page says of assessors, beside the board's grader if there is one."""

    view: AgreementView
    independent: Overall
    """The agreement with ratings that people gave before they saw the grader's."""
    spec: BoardSpec | None
    shows_names: bool
    titles: ClassVar = {"assessors": PAIRS, "assessors-by": BY}
    """Titles of the tables, by name in addresses."""

    @cached_property
    def sheets(self) -> dict[str, PrintedTable]:
        bank, view = self.spec.bank if self.spec else None, self.view
        pairs = list(view.pairs)
        for rater in raters(bank) if bank else ():
            if self.spec and self.spec.config in rater.configs:
                pairs += view.with_grader(rater)
                break
        stated = [("collection", view.collection.slug), *provenance.when()]
        groups = {"topic": view.by_topic, "item": view.by_item}
        return {"assessors": _pairs(pairs, stated), "assessors-by": _alphas(groups, stated)}


def section(
    user: User, collection: Collection, spec: BoardSpec | None, *, shows_names: bool
) -> Section | None:
    """Return the section for those who edit banks; else None."""
    if not roles.holds(user, collection, roles.TO_EDIT_BANK):
        return None
    of_all = agreement(collection, shows_names=shows_names)
    return Section(of_all, independent_agreement(collection), spec, shows_names)


def _pairs(pairs: Sequence[AssessorPair], stated: list[tuple[str, str]]) -> PrintedTable:
    """Return two raters a row; numbers of too few cells are undefined."""
    lines: list[dict[str, Value]] = []
    for pair in pairs:
        numbers = (pair.same, pair.kappa, pair.weighted, pair.interval.low, pair.interval.high)
        values = [None] * len(AGREEMENT_SHARES) if pair.is_too_few else list(numbers)
        lines.append({"assessor": pair.first, "with": pair.second, "cells": pair.cells})
        lines[-1] |= dict(zip(AGREEMENT_SHARES, values, strict=True))
    heads = ("Assessor", "With", "Pairs", "Same rating", "Kappa", "Weighted", "From", "To")
    notes = ("a dash: too few pairs; From and To: 95 % interval of the weighted kappa, over topics",)
    return plain_sheet(PAIRS, heads, lines, stated, n_labels=2, comments=notes)


def _alphas(groups: dict[str, tuple[AlphaRow, ...]], stated: list[tuple[str, str]]) -> PrintedTable:
    """Return a topic or item a row, the least agreement first."""
    lines: list[dict[str, Value]] = []
    for kind, rows in groups.items():
        for row in rows:
            same, alpha = (None, None) if row.is_too_few else (row.same, row.alpha)
            lines.append({"of": kind, "name": row.name, "cells": row.cells, "same": same, "alpha": alpha})
    heads = ("Of", "Name", "Pairs", "Same rating", "Alpha")
    return plain_sheet(BY, heads, lines, stated, n_labels=2)
