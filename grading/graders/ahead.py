"""Work that is done in a thread before its results are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

T = TypeVar("T")


def ahead(source: Generator[T], most: int = 1) -> Generator[T]:
    """Yield what `source` yields, which a thread takes from it: at most `most` elements too early.

    Whoever closes this waits for the element under way and closes `source`. Raises what `source` raises, when
    its turn comes.
    """
    end = object()
    waiting: deque[Future[T | object]] = deque()
    with closing(source), ThreadPoolExecutor(1, thread_name_prefix="ahead") as thread:
        try:
            waiting.extend(thread.submit(next, source, end) for _ in range(most))
            while (element := waiting.popleft().result()) is not end:
                waiting.append(thread.submit(next, source, end))
                yield element  # type: ignore[misc]  # what is not the end is an element
        finally:
            for future in waiting:
                future.cancel()
