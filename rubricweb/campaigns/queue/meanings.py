"""What each rating of a cell means, on the scale of the grader that the campaign checks."""

from __future__ import annotations

from rubricweb.grades.configs import WHOLE_SCALE, name_of, scale_of
from rubricweb.grades.models import GraderConfig

Meanings = tuple[tuple[int, str], ...]
"""(rating, what it means), the highest first."""

OF_WHOLE_SCALE: Meanings = (
    (5, "fully"),
    (4, "with small gaps"),
    (3, "in part"),
    (2, "is related"),
    (1, "is hardly related"),
    (0, "not at all"),
)


def meanings_of(config: GraderConfig | None) -> Meanings:
    """People rate on the grader's scale: UMBRELA's labels 0 to 3, or support of a nugget."""
    if config is None or scale_of(config) == WHOLE_SCALE:
        return OF_WHOLE_SCALE
    lowest, highest = scale_of(config)
    return tuple(
        (rating, name_of(config, rating) or f"{rating} of {highest}")
        for rating in range(highest, lowest - 1, -1)
    )
