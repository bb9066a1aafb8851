"""Primary keys inside of values: in JSON, in saved addresses, and in the audit trail.

Archives number rows anew, and so does a restored collection. Foreign keys follow by themselves; a column that
holds keys in another form has a function here, which puts other keys in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db.models import Model

from rubricweb.archives import tables
from rubricweb.banks.models import Bank, BankVersion, ItemRevision
from rubricweb.corpus.models import Passage
from rubricweb.grades import replies
from rubricweb.grades.engine.gaps import pack_keys, unpack_keys
from rubricweb.grades.models import GraderConfig
from rubricweb.imports.undo import kinds

Swap = Callable[[type[Model], int], int | None]
"""The other key of a row; None for a row that is not there."""
Row = Mapping[str, Any]


def _wordings(value: Any, row: Row, swap: Swap) -> list[int]:
    return [new for key in value if (new := swap(ItemRevision, key)) is not None]


def _passages(value: Any, row: Row, swap: Swap) -> list[int]:
    return [new for key in value if (new := swap(Passage, key)) is not None]


def _cells(value: Any, row: Row, swap: Swap) -> list[list[int]] | None:
    """Pairs of a wording and a passage; a pair of which one is gone goes too. None where there is no list."""
    if value is None:
        return None
    pairs = [(swap(ItemRevision, wording), swap(Passage, passage)) for wording, passage in value]
    return [[wording, passage] for wording, passage in pairs if wording is not None and passage is not None]


def _wordings_in_place(value: Any, row: Row, swap: Swap) -> list[int]:
    """0 for one that is gone: the mask beside it has a column for each."""
    return [swap(ItemRevision, key) or 0 for key in value]


def _packed_passages(value: Any, row: Row, swap: Swap) -> str:
    """0 for one that is gone, since chunks are ranges of them; empty where none is written yet."""
    if not value:
        return ""
    return pack_keys([swap(Passage, key) or 0 for key in unpack_keys(value).tolist()])


def _replies(value: Any, row: Row, swap: Swap) -> list[list[Any]] | bytes:
    """In an archive, a list of wordings, passages and replies; in a database, what `blocks` makes of it."""
    if isinstance(value, list):
        cells = {
            (swap(ItemRevision, wording) or 0, swap(Passage, passage) or 0): str(text)
            for wording, passage, text in value
        }
        return replies.content_of(cells)
    texts = [
        (swap(ItemRevision, wording), swap(Passage, passage), text)
        for (wording, passage), text in replies.texts_of(value).items()
    ]
    return [list(one) for one in texts if None not in one]


def _ranges(value: Any, row: Row, swap: Swap) -> dict[str, list[int]]:
    """What an import added; nothing where a row is gone, so that it cannot be undone."""
    models = {kind: model for kind, (model, _) in kinds().items()}
    swapped = {
        kind: [swap(models[kind], first), swap(models[kind], last), number]
        for kind, (first, last, number) in value.items()
    }
    return {} if any(None in ends for ends in swapped.values()) else swapped


def _address(value: Any, row: Row, swap: Swap, *, parameters: Mapping[str, type[Model]]) -> str:
    """The query part of an address, without the parameters whose rows are gone."""
    kept = []
    for name, text in parse_qsl(value, keep_blank_values=True):
        if name in parameters and text.isdecimal():
            new = swap(parameters[name], int(text))
            kept += [(name, str(new))] if new is not None else []
        else:
            kept.append((name, text))
    return urlencode(kept)


def _audited(value: Any, row: Row, swap: Swap) -> int | None:
    """The thing that an entry is about, which its `kind` names; None if it is gone."""
    model = _models_by_name().get(row["kind"])
    return swap(model, value) if model and value is not None else None


@cache
def _models_by_name() -> dict[str, type[Model]]:
    return {table.model._meta.model_name or "": table.model for table in tables.archived()}


_BOARD = {"grader": GraderConfig, "bank": Bank, "version": BankVersion}

REPLACED: dict[str, Callable[[Any, Row, Swap], Any]] = {
    "core.AuditEntry.object_id": _audited,
    "grades.Draw.passages": _passages,
    "grades.Draw.revisions": _wordings,
    "grades.JobChunk.cells": _cells,
    "grades.JobPart.passages": _packed_passages,
    "grades.JobPart.revisions": _wordings_in_place,
    "grades.ReplyBlock.content": _replies,
    "imports.Import.added": _ranges,
    "leaderboards.PublicBoard.query": partial(_address, parameters=_BOARD),
    "review.SavedView.address": partial(_address, parameters={"grader": GraderConfig}),
}
"""By column: its value with other keys."""


def replaced_in(label: str) -> dict[str, Callable[[Any, Row, Swap], Any]]:
    """The functions for the columns of one table, by the column's name."""
    split = {key.rpartition("."): function for key, function in REPLACED.items()}
    return {name: function for (table, _, name), function in split.items() if table == label}
