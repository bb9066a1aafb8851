"""The number of each row of a collection in its archive."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from django.db.models import Model

from grading.graders.base import ANSWERS_BY
from rubricweb.archives import tables
from rubricweb.corpus.models import Collection
from rubricweb.grades.models import GraderConfig


class Numbers:
    """Numbers by key. Keys are read when they are first needed, and take eight bytes each."""

    def __init__(self, collection: Collection) -> None:
        self._tables = {table.model: table for table in tables.archived()}
        self._collection = collection
        self._keys: dict[type[Model], array[int]] = {}
        self._shared = {
            model: {row.pk: number for number, row in enumerate(shared_rows(collection, model), 1)}
            for model in tables.SHARED
        }

    def number(self, model: type[Model], key: int) -> int | None:
        """None for a row that is not in the archive."""
        if model in self._shared:
            return self._shared[model].get(key)
        keys = self._keys_of(model)
        place = bisect_left(keys, key)
        return place + 1 if place < len(keys) and keys[place] == key else None

    def _keys_of(self, model: type[Model]) -> array[int]:
        if model not in self._keys:
            rows = self._tables[model].archived_rows(self._collection)
            self._keys[model] = array("q", rows.values_list("pk", flat=True).iterator())
        return self._keys[model]


def shared_rows(collection: Collection, model: type[Model]) -> list[Any]:
    """The people or graders to whom the collection's tables refer, by what tells them apart."""
    keys: set[int] = set()
    for table in tables.archived():
        for column in table.columns:
            if tables.target_of(column) is model:
                rows = table.archived_rows(collection).order_by().exclude(**{column.attname: None})
                keys.update(rows.values_list(column.attname, flat=True).distinct())
    named: list[Any] = list(model._base_manager.filter(pk__in=keys))
    if model is GraderConfig:
        named = _with_sources(collection, named)
    return sorted(named, key=lambda row: str(getattr(row, tables.SHARED[model])))


def _with_sources(collection: Collection, configs: list[GraderConfig]) -> list[GraderConfig]:
    """Graders are also named by their fingerprints: in settings, and by graders that verify their answers."""
    rows = {config.fingerprint: config for config in configs}
    asked = set(rows)
    while missing := ({collection.default_grader, collection.answers_by} | _sources(rows.values())) - asked:
        asked |= missing
        rows |= {
            config.fingerprint: config for config in GraderConfig.objects.filter(fingerprint__in=missing)
        }
    return list(rows.values())


def _sources(configs: Iterable[GraderConfig]) -> set[str]:
    return {str(config.options[ANSWERS_BY]) for config in configs if config.options.get(ANSWERS_BY)}
