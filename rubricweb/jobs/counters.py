"""Counters of graders and models for `/metrics`: what all workers did since Redis started.

Tokens are estimated from characters, and money from RUBRIC_PRICES: a model without a price costs 0.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping

import redis
from prometheus_client.core import CounterMetricFamily, Metric

from rubricweb.jobs import queue

logger = logging.getLogger(__name__)

CALLS = "rubricweb:calls"
"""Redis hash of the counts, by a JSON list of the counter and its labels."""
COUNTERS = {
    "cells": ("Pairs that a grader was given, failed ones included.", ("grader",)),
    "failed_cells": ("Pairs that a grader failed on, by the class of the error.", ("grader", "error")),
    "tokens": ("Tokens that a model read or wrote, estimated.", ("model", "direction")),
    "dollars": ("Money that calls of a model cost, estimated.", ("model",)),
}


def note_graded(grader: str, errors: Mapping[str, int]) -> None:
    """Count pairs of a grader by the class of their error, which is empty for a grade."""
    counts: dict[tuple[str, ...], float] = {("cells", grader): sum(errors.values())}
    counts |= {("failed_cells", grader, error): count for error, count in errors.items() if error}
    _note(counts)


def note_tokens(model: str, read: float, written: float, dollars: float | None) -> None:
    """Count what calls of a model took; `dollars` is None where no price is known."""
    counts: dict[tuple[str, ...], float] = {("dollars", model): dollars or 0.0}
    counts |= {("tokens", model, "read"): round(read), ("tokens", model, "written"): round(written)}
    _note(counts)


def _note(counts: Mapping[tuple[str, ...], float]) -> None:
    try:
        with queue.connection() as client, client.pipeline() as pipeline:
            for key, count in counts.items():
                pipeline.hincrbyfloat(CALLS, json.dumps(key), count)
            pipeline.execute()
    except redis.RedisError as error:
        logger.debug("calls were not counted: %s", error)


def metrics() -> Iterator[Metric]:
    """Yield the counters. Raises redis.RedisError."""
    families = {
        name: CounterMetricFamily(f"rubricweb_{name}", description, labels=labels)
        for name, (description, labels) in COUNTERS.items()
    }
    with queue.connection() as client:
        counts = client.hgetall(CALLS)
    for key, value in sorted(counts.items()):
        name, *labels = json.loads(key)
        families[name].add_metric(labels, float(value))
    yield from families.values()
