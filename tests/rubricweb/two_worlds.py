"""What is stored differently where some ratings are others, found by building the same world twice.

No test has to know which tables hold ratings, or something made of them: the product's own code fills them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.apps import apps
from django.db import transaction
from django.db.models import Model

from grading.types import MAX_RATING
from rubricweb.core.models import new_stamp
from tests.factories import start_names_again
from tests.rubricweb.routes import APPS
from tests.rubricweb.worlds import Place, Rated, as_it_is

Built = TypeVar("Built")
Row = tuple[type[Model], Any]
"""A model and a primary key."""
Rows = dict[Row, dict[str, Any]]


def models() -> list[type[Model]]:
    return [model for model in apps.get_models() if model._meta.app_label in APPS]


def stored() -> Rows:
    """Every row of our tables."""
    return {
        (model, values[model._meta.pk.attname]): {
            name: bytes(value) if isinstance(value, memoryview) else value for name, value in values.items()
        }
        for model in models()
        for values in model._base_manager.values()
    }


def others_at(places: frozenset[Place]) -> Rated:
    """The ratings of a world where those of these places are others."""
    return lambda place, rating: MAX_RATING - rating if place in places else rating


def differences(build: Callable[[Rated], object], places: frozenset[Place]) -> Rows:
    """The values that another world has, where each rating of these places is another.

    What is random differs between two equal worlds too, and is left out. SQLite gives the same keys again.
    """
    world, same, other = (_rolled_back(build, rated) for rated in (as_it_is, as_it_is, others_at(places)))
    assert world.keys() == same.keys() == other.keys(), "a rating decides whether there is a row"
    found = {
        row: {
            name: value
            for name, value in other[row].items()
            if values[name] == same[row][name] and values[name] != value
        }
        for row, values in world.items()
    }
    return {row: values for row, values in found.items() if values}


def change(rows: Mapping[Row, Mapping[str, Any]]) -> None:
    """Write these values, and move all stamps, since caches are keyed by them."""
    for (model, pk), values in rows.items():
        assert model._base_manager.filter(pk=pk).update(**values) == 1
    for model in models():
        for field in model._meta.concrete_fields:
            if field.default is new_stamp:
                for pk in model._base_manager.values_list("pk", flat=True):
                    model._base_manager.filter(pk=pk).update(**{field.name: new_stamp()})


def _rolled_back(build: Callable[[Rated], object], rated: Rated) -> Rows:
    start_names_again()
    with transaction.atomic():
        build(rated)
        rows = stored()
        transaction.set_rollback(True)
    start_names_again()
    return rows
