"""The expected cost of a job before it starts: cells, tokens, time and, where a price is set, money."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import redis
from django.conf import settings
from django.db.models.functions import Length

from grading.errors import UnknownPrompt
from grading.graders import registry
from rubricweb.banks.models import ItemRevision
from rubricweb.core.database import LOOKED_UP
from rubricweb.corpus.models import Collection, Passage, Topic
from rubricweb.corpus.pools import pool_chars, stamp_of
from rubricweb.grades.configs import spec_of
from rubricweb.grades.engine.gaps import Gap, TopicGap, WholeTopic
from rubricweb.grades.engine.missing import Missing, prompt_of
from rubricweb.grades.engine.progress import expected_rate
from rubricweb.grades.exemplars import exemplar_chars
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.jobs import queue, worker_state
from rubricweb.jobs.limits import CHARS_A_TOKEN, MILLION
from rubricweb.jobs.progress import GUESSED, UNSURE, Price, Range, seconds_for

CACHED_COLLECTIONS = 8


def price(collection: Collection, missing: list[Missing], workers: Sequence[queue.WorkerBeat]) -> Price:
    """Return what grading these cells takes, by the living workers that can share the work."""
    priced = [each for each in missing if each.cells]
    tokens = {id(each): _tokens(collection, each) for each in priced if _has_model(each)}
    time = expected_time([(each.config, each.cells) for each in priced], workers) if priced else None
    prices = {id(each): price_each(each.config) for each in priced}
    dollars = [tokens.get(key, 0) / MILLION * float(each) for key, each in prices.items() if each is not None]
    return Price(
        cells=sum(each.cells for each in priced),
        tokens=sum(tokens.values()) if tokens else None,
        seconds=time.range if time else None,
        dollars=sum(dollars) if dollars and len(dollars) == len(priced) else None,
        is_guess=time.is_guess if time else False,
        calls=sum(_calls(each) for each in priced if _has_model(each)) if tokens else None,
    )


class ExpectedTime(NamedTuple):
    """The expected seconds of grading."""

    loading: float
    """Seconds for loading models that no worker has in its memory."""
    grading: float
    is_guess: bool

    @property
    def range(self) -> Range:
        low, high = GUESSED if self.is_guess else UNSURE
        return self.loading + self.grading * low, self.loading + self.grading * high


def expected_time(
    work: Sequence[tuple[GraderConfig, int]], workers: Sequence[queue.WorkerBeat]
) -> ExpectedTime | None:
    """Return the time for so many cells of each config on able workers; None if unknown."""
    grading, is_guess, models = 0.0, False, set()
    for config, cells in work:
        rate = expected_rate(config)
        if not rate.cells:
            return None
        able = able_workers(workers, config.backend)
        grading += cells / rate.cells / max(1, len(able))
        is_guess = is_guess or rate.is_guess
        if not any(config.llm in each.loaded for each in able):
            models.add(config.llm)
    return ExpectedTime(_loading_seconds(sorted(models)), grading, is_guess)


def able_workers(workers: Sequence[queue.WorkerBeat], backend: str) -> list[queue.WorkerBeat]:
    """Return the workers that can run what needs this back-end."""
    needed = registry.requirement(backend)[0]
    return [worker for worker in workers if worker.has(needed)]


def _loading_seconds(models: Sequence[str]) -> float:
    """Return the measured seconds of loading; 0 for a model that no worker ever loaded."""
    try:
        return sum(filter(None, queue.usual([worker_state.loading_name(llm) for llm in models])))
    except redis.RedisError:
        return 0.0


def price_each(config: GraderConfig) -> float | None:
    """Return dollars per million tokens that the config's model reads; None where no price is set."""
    each = settings.PRICES.get(config.llm)
    backend = registry.BACKENDS.get(config.backend)
    return None if each is None else float(each) * (backend.price_share if backend else 1.0)


def price_of_cell(grade: Grade, *, rate: float | None) -> Price:
    """Return the price of grading the cell once more; `rate` is the `measured_rate` of its config."""
    cell = Missing(grade.config, (), frozenset())
    texts = grade.topic.text, grade.revision.text, grade.passage.text
    chars = _template_chars(grade.config) + sum(map(len, texts))
    tokens = round(chars / CHARS_A_TOKEN) if _has_model(cell) else None
    each = price_each(grade.config)
    return Price(
        cells=1,
        tokens=tokens,
        seconds=seconds_for(1, rate),
        dollars=None if each is None else (tokens or 0) / MILLION * float(each),
    )


def dollars_of_wording(
    config: GraderConfig, topic: Topic, text: str, passages: Iterable[int]
) -> float | None:
    """Estimate the cost of grading `text` on these passages; None without a price."""
    each = price_each(config)
    if each is None:
        return None
    chars = _passage_chars(topic.collection_id, stamp_of(topic.collection_id))
    chars_each = _template_chars(config) + len(topic.text) + len(text)
    return sum(chars_each + chars.get(pk, 0) for pk in passages) / CHARS_A_TOKEN / MILLION * float(each)


def dollars_of(collection: Collection, missing: list[Missing]) -> float | None:
    """Estimate the cost: 0 on own machines, None where a server's price is unknown."""
    total = 0.0
    for part in missing:
        each = price_each(part.config)
        if each is None and _is_served(part.config) and part.cells:
            return None
        total += (
            _tokens(collection, part) / MILLION * float(each or 0) if part.cells and _has_model(part) else 0
        )
    return total


def over_limit(
    collection: Collection, missing: list[Missing], *, calls: int | None = None, dollars: float | None = None
) -> str:
    """Return why grading these cells may take more calls of models or dollars than these; "" if it may not.

    None is no limit.
    """
    needed = sum(_calls(each) for each in missing if each.cells and _has_model(each))
    if calls is not None and needed > calls:
        return f"Grading takes {needed:,} model calls, the limit is {calls:,}."
    if dollars is None:
        return ""
    cost = dollars_of(collection, missing)
    if cost is None:
        return "The price of this model is unknown, so no limit in dollars can be kept."
    return f"Grading takes about ${cost:,.2f}, the limit is ${dollars:,.2f}." if cost > dollars else ""


def _is_served(config: GraderConfig) -> bool:
    """Return whether somebody may have to pay for its calls."""
    backend = registry.BACKENDS.get(config.backend)
    return backend is not None and backend.needs_server


def _has_model(missing: Missing) -> bool:
    backend = registry.BACKENDS.get(missing.config.backend)
    return backend is None or backend.needs_model


def _tokens(collection: Collection, missing: Missing) -> int:
    """Estimate the tokens from the lengths of the prompts' parts, so that no prompt has to be rendered."""
    template, size = _template_chars(missing.config), _items_a_call(missing.config)
    topics = [gap.topic_id for gap in missing.gaps]
    items = dict(
        ItemRevision.including_secret.filter(topic__in=topics)
        .annotate(n=Length("text"))
        .values_list("pk", "n")
    )
    queries = dict(Topic.objects.filter(pk__in=topics).annotate(n=Length("text")).values_list("pk", "n"))
    chars: int = _chars_of_passages(collection, missing, size) + sum(
        _chars_of_items(gap, items) + _calls_about(gap, size) * (template + queries[gap.topic_id])
        for gap in missing.gaps
    )
    return round(chars / CHARS_A_TOKEN)


def _calls(missing: Missing) -> int:
    size = _items_a_call(missing.config)
    return sum(_calls_about(gap, size) for gap in missing.gaps)


def _items_a_call(config: GraderConfig) -> int:
    prompt = prompt_of(config)
    return prompt.items_a_call if prompt else 1


def _calls_about(gap: Gap, size: int) -> int:
    """Return the calls about these cells; one asks about so many items of a passage at most."""
    if isinstance(gap, WholeTopic):
        return gap.passages * -(-len(gap.revision_pks) // size)
    return int((-(-gap.mask.sum(axis=1) // size)).sum())


def _template_chars(config: GraderConfig) -> int:
    """Return the characters of the prompt that are no pair's own, with exemplars."""
    try:
        return len(spec_of(config).prompt.template) + exemplar_chars(spec_of(config))
    except UnknownPrompt:
        return 0


def _chars_of_items(gap: Gap, items: dict[int, int]) -> int:
    of_items = np.array([items.get(pk, 0) for pk in gap.revision_pks], dtype=np.int64)
    if isinstance(gap, WholeTopic):
        return gap.passages * int(of_items.sum())
    return int(gap.mask.sum(axis=0) @ of_items)


def _chars_of_passages(collection: Collection, missing: Missing, size: int) -> int:
    """Return the characters of the passages, once for each call."""
    gaps = missing.gaps
    whole = {gap.topic_id: -(-len(gap.revision_pks) // size) for gap in gaps if isinstance(gap, WholeTopic)}
    of_pools = pool_chars(collection) if whole else {}
    chars = sum(of_pools.get(topic_id, 0) * calls for topic_id, calls in whole.items())
    some = [gap for gap in gaps if isinstance(gap, TopicGap)]
    lengths = {**_lengths(collection, some), **missing.chars}
    for gap in some:
        of_passages = np.array([lengths.get(pk, 0) for pk in gap.passage_pks], dtype=np.int64)
        chars += int(-(-gap.mask.sum(axis=1) // size) @ of_passages)
    return chars


def _lengths(collection: Collection, gaps: list[TopicGap]) -> dict[int, int]:
    """Return the lengths of at least those passages of these gaps that are stored."""
    passages = {pk for gap in gaps for pk in gap.passage_pks}
    if len(passages) > LOOKED_UP:
        return _passage_chars(collection.pk, stamp_of(collection.pk))
    rows = Passage.objects.filter(pk__in=passages).annotate(n=Length("text"))
    return dict(rows.values_list("pk", "n"))


@lru_cache(maxsize=CACHED_COLLECTIONS)
def _passage_chars(collection_id: int, stamp: int) -> dict[int, int]:
    """Return the lengths of passages, which change with imports only, which move the stamp."""
    rows = Passage.objects.filter(collection=collection_id).annotate(n=Length("text"))
    return dict(rows.values_list("pk", "n"))
