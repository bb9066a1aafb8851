"""Which of several numbers are as good as the best, by the rule of `max_t` over resampled topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from grading.arrays import divide_or_zero
from grading.statistics.max_t import ALPHA, MIN_TOPICS, step_down
from grading.statistics.resampling import MIN_DEFINED, UNDEFINED, ConfidenceInterval, interval

_DECIMALS = 12
_ROUNDING = 1e-9
Floats = NDArray[np.float64]
Draws = Floats
"""Shape (resamples,): the number over resampled topics; the same resamples for all that are compared."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One number beside the best of all."""

    behind: float
    """How much lower it is; 0 for the best."""
    interval: ConfidenceInterval
    """Of `behind`, over the same resampled topics for both: a paired comparison of these two alone."""
    is_as_good: bool
    """The best, or not clearly behind it among all that are compared."""

    @property
    def is_best(self) -> bool:
        return self.behind == 0


def standings(
    values: Sequence[float | None],
    draws: Sequence[Draws | None],
    *,
    topics: int,
    within: float | None = None,
) -> list[Standing | None]:
    """Return each value beside the highest; None for a value that is void.

    A value is clearly behind if the max-T test of all pairs says so of it and the best: each difference is in
    units of the standard deviation of its resamples over so many `topics`, and chance is what these differ
    from their mean by. With `within` a value is as good that is at most so much lower, whatever the test says
    (EXAM++, 5.1, takes 0.05). Where nothing can be tested only the best is as good as itself.

    >>> near, far = np.array([0.4, 0.7] * 50), np.array([0.1, 0.2] * 50)
    >>> best = np.array([0.5, 0.6] * 50)
    >>> found = standings([0.6, 0.55, 0.1, None], [best, near, far, None], topics=9)
    >>> [one.is_as_good if one else None for one in found]
    [True, True, False, None]
    """
    defined = [place for place, value in enumerate(values) if value is not None]
    if not defined:
        return [None] * len(values)
    best = max(defined, key=lambda place: values[place] or 0.0)
    clear = _clearly_behind(values, draws, best, topics)
    compared: list[Standing | None] = [None] * len(values)
    for place in defined:
        behind = round((values[best] or 0.0) - (values[place] or 0.0), _DECIMALS)
        is_as_good = behind <= within if within is not None else not behind or clear.get(place) is False
        ours, theirs = draws[best], draws[place]
        spread = UNDEFINED if ours is None or theirs is None or not behind else interval(ours - theirs)
        compared[place] = Standing(behind, spread, is_as_good)
    return compared


def _clearly_behind(
    values: Sequence[float | None], draws: Sequence[Draws | None], best: int, topics: int
) -> dict[int, bool]:
    """By place, of those that can be tested: all pairs are looked at, since any could be the best.

    Of few topics resamples spread too little: by sqrt((n - 1) / n), and as if their spread were known.
    """
    tested = [
        place
        for place, (value, one) in enumerate(zip(values, draws, strict=True))
        if value is not None and one is not None and np.isnan(one).mean() <= 1 - MIN_DEFINED
    ]
    if topics < MIN_TOPICS or best not in tested or len(tested) < 2:
        return {}
    from scipy.special import ndtri, stdtrit  # a tenth of a second that only this test needs

    wider = sqrt(topics / (topics - 1)) * float(stdtrit(topics - 1, 1 - ALPHA / 2) / ndtri(1 - ALPHA / 2))
    drawn = np.stack([one for place in tested if (one := draws[place]) is not None])
    value_of = np.array([values[place] for place in tested], dtype=np.float64)
    first, second = np.triu_indices(len(tested), k=1)
    differences = drawn[first] - drawn[second]
    defined = (~np.isnan(differences)).sum(axis=1)
    means = divide_or_zero(np.nansum(differences, axis=1), defined)
    centred = np.nan_to_num(differences - means[:, np.newaxis])
    spread = np.maximum(np.sqrt(divide_or_zero((centred**2).sum(axis=1), defined)) * wider, _ROUNDING)
    enough = defined >= MIN_DEFINED * differences.shape[1]
    observed = np.where(enough, np.abs(value_of[first] - value_of[second]) / spread, 0.0)
    chance = np.column_stack([observed, np.abs(centred) * wider / spread[:, np.newaxis]])
    p = step_down(observed, chance.__getitem__)
    at = tested.index(best)
    return {
        tested[other]: bool(p[(first == min(at, other)) & (second == max(at, other))][0] <= ALPHA)
        for other in range(len(tested))
        if other != at
    }
