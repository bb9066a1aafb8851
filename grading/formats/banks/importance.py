"""How a file's words and numbers for importance are mapped.

| importance | nuggetizer, Auto-ARGUE, v3 | AJA | numbers | weights of ResearchRubrics |
|---|---|---|---|---|
| vital | vital | must_have | 2 and more | 4 and more |
| okay | okay, failed | should_have | from 0 to below 2 | from 0 to below 4 |
| avoid | avoid | avoid | below 0 | below 0 |

`failed` is nuggetizer's mark that no importance was found; it scores such nuggets as okay. Auto-ARGUE counts
vital as 2 and okay as 1. Any other word counts as vital, as an item without importance does, and is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from grading.errors import BadFormat
from grading.types import Importance

VITAL_FROM, VITAL_WEIGHT_FROM = 2, 4
_WORDS = {
    "vital": Importance.VITAL,
    "must_have": Importance.VITAL,
    "okay": Importance.OKAY,
    "should_have": Importance.OKAY,
    "failed": Importance.OKAY,
    "avoid": Importance.AVOID,
}


class Weighed(NamedTuple):
    """An importance with its weight in weighted measures."""

    importance: Importance
    weight: float


def weighed(importance: Importance | None, weight: float | None = None) -> Weighed:
    """Return an item's importance, vital where none is given, and its weight, by default the importance's."""
    importance = importance or Importance.VITAL
    return Weighed(importance, importance.weight if weight is None else weight)


def is_known(token: object) -> bool:
    return token is None or _number(token) is not None or (isinstance(token, str) and token in _WORDS)


def of_token(token: object) -> Importance | None:
    """Return the importance for a word or number of a file; None for None.

    >>> [str(of_token(token)) for token in ("must_have", 1, "2", -3, "interesting", None)]
    ['vital', 'okay', 'vital', 'avoid', 'vital', 'None']
    """
    if token is None:
        return None
    number = _number(token)
    if number is not None:
        return _by_number(number, vital_from=VITAL_FROM)
    if isinstance(token, str):
        return _WORDS.get(token, Importance.VITAL)
    raise BadFormat(f"the importance is {str(token)[:60]!r}, expected a word or a number")


def of_weight(weight: object, place: str) -> Weighed:
    """Return the importance for a weight of ResearchRubrics, which stays the weight."""
    number = None if isinstance(weight, str) else _number(weight)
    if number is None:
        raise BadFormat(f"{place} is {str(weight)[:60]!r}, expected a number")
    return Weighed(_by_number(number, vital_from=VITAL_WEIGHT_FROM), number)


def _by_number(number: float, *, vital_from: float) -> Importance:
    if number < 0:
        return Importance.AVOID
    return Importance.VITAL if number >= vital_from else Importance.OKAY


def _number(token: object) -> float | None:
    if isinstance(token, bool) or not isinstance(token, str | int | float):
        return None
    try:
        number = float(token)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
