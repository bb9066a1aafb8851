"""Room for the frames of a test, so that no call of it waits for the operating system.

CPython keeps frames in chunks of 16 KB and gives a chunk back when the first call in it returns. A loop that
happens to sit at the end of one maps and unmaps memory at every call: up to a third of the time of a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

SLOTS = 130_000
"""More than half of a chunk of 2 MB: what is left of it holds the frames of all that is called."""

P = ParamSpec("P")
R = TypeVar("R")


def roomy(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, called from a frame with so many slots that a large chunk is made for it."""

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=SLOTS)
    return call
