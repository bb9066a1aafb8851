"""What a board says of its runs: the same sentences on its page, beside two runs, in files and in the API."""

from __future__ import annotations

import numpy as np

from grading.statistics.max_t import POWER
from rubricweb.leaderboards.board.types import Top

NAMED = 3
"""So many runs that are first with equal scores are named."""


def headline(top: Top | None, n_topics: int) -> str:
    """Return which run is first, and how many are not clearly behind it; empty where nothing is tested.

    >>> headline(Top(True, ("bm25",), 2, 4, 0.09), 25)
    'bm25 is first; 2 more are not clearly behind.'
    """
    if top is None:
        return ""
    if not top.can_tell:
        return f"With {n_topics} topics no run can be clearly ahead."
    first = names(top.first)
    if not top.n_not_behind and not top.n_behind:
        if len(top.first) == 1:
            return f"Only {first} has a score."
        return f"{first} have exactly the same score."
    more = f"{top.n_not_behind} more {'is' if top.n_not_behind == 1 else 'are'} not clearly behind"
    if len(top.first) == 1 and not top.n_not_behind:
        return f"{first} is clearly ahead of all others."
    if len(top.first) == 1:
        return f"{first} is first; {more}."
    if not top.n_not_behind:
        return f"{first} have exactly the same score, and are clearly ahead of all others."
    return f"{first} are first with exactly the same score; {more}."


def resolution(top: Top | None, n_topics: int) -> str:
    """Return which differences the topics can tell; empty where they tell none.

    >>> resolution(Top(True, ("bm25",), 2, 4, 0.091), 25)
    '25 topics tell differences of 0.091 apart with 80 % power.'
    """
    if top is None or not top.can_tell or top.resolution is None:
        return ""
    difference = np.format_float_positional(top.resolution, precision=2, fractional=False, trim="-")
    return f"{n_topics} topics tell differences of {difference} apart with {100 * POWER:g} % power."


def names(tags: tuple[str, ...]) -> str:
    """Return the runs as a sentence lists them."""
    if len(tags) == 1:
        return tags[0]
    if len(tags) <= NAMED:
        return f"{', '.join(tags[:-1])} and {tags[-1]}"
    return f"{', '.join(tags[: NAMED - 1])} and {len(tags) - NAMED + 1} more"
