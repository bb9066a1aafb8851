"""Which runs belong together: those of a team, or of one model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

_FIRST_PART = re.compile(r"[^-_.\s]+")


def families(run_tags: Sequence[str], patterns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Family -> its runs: those whose tags the first fitting pattern (`bm25*`) fits.

    A run that no pattern fits goes by the beginning of its tag, before the first of - _ and dot.

    >>> families(["bm25_a", "bm25-b", "GPT4-web", "x"], ["GPT*"])
    {'bm25': ['bm25_a', 'bm25-b'], 'GPT*': ['GPT4-web'], 'x': ['x']}
    """
    by_family: dict[str, list[str]] = {}
    for run_tag in run_tags:
        fitting = next((pattern for pattern in patterns if fnmatchcase(run_tag, pattern)), "")
        beginning = _FIRST_PART.match(run_tag)
        by_family.setdefault(fitting or (beginning[0] if beginning else run_tag), []).append(run_tag)
    return by_family
