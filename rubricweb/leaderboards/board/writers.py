"""Which model wrote what a board scores: a grader may prefer its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from grading.graders import registry
from rubricweb.banks.models import Item
from rubricweb.corpus.pools import CollectionPool
from rubricweb.leaderboards.board.types import BoardSpec


@dataclass(frozen=True, slots=True)
class Writers:
    """The runs of a board by what is known of the models behind them."""

    by_grader: frozenset[int]
    """Ids of runs that the model wrote or reranked which grades the board."""
    n_items: int
    """Items that it drafted."""
    closed_book: frozenset[int]
    """Ids of runs that answer without retrieval."""


def writers(spec: BoardSpec, pool: CollectionPool) -> Writers:
    runs = spec.collection.runs.filter(pk__in=pool.run_pks).exclude(llm="", is_closed_book=False)
    known = list(runs.values_list("pk", "llm", "is_closed_book"))
    return Writers(
        frozenset(pk for pk, llm, _ in known if is_same_model(llm, spec.config.llm)),
        _items_by(spec),
        frozenset(pk for pk, _, is_closed_book in known if is_closed_book),
    )


def is_same_model(one: str, other: str) -> bool:
    """Whether two names are of one model, wherever it is kept; two empty names are of none.

    >>> is_same_model("meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama-3-8b-instruct")
    True
    """
    first, second = (name.rstrip("/").rsplit("/", 1)[-1].lower() for name in (one, other))
    return bool(first) and first == second


def _items_by(spec: BoardSpec) -> int:
    """Items of the bank that the grading model drafted."""
    backend = registry.BACKENDS.get(spec.config.backend)
    if spec.bank is None or (backend and not backend.needs_model):
        return 0
    items: QuerySet[Any]  # of items, or of a version's entries
    if spec.version is None:
        items = Item.including_secret.filter(bank=spec.bank, kind__in=spec.kinds).active()
        drafted = "draft__request__llm"
    else:
        items = spec.version.all_entries.filter(item__kind__in=spec.kinds)
        drafted = "item__draft__request__llm"
    by_model = items.exclude(**{drafted: None}).order_by().values_list(drafted).annotate(Count("pk"))
    return sum(n for llm, n in by_model if is_same_model(llm, spec.config.llm))
