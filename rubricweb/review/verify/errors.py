"""Why a verdict is not saved."""

from __future__ import annotations

from rubricweb.grades.humans.errors import HumanGradeError


class RatedAnew(HumanGradeError):
    """The grader rates the cell otherwise by now."""

    def __init__(self, rating: int | None) -> None:
        said = "has no rating there" if rating is None else f"rates it {rating}"
        super().__init__(f"The grader {said} by now: look at the cell again.")
