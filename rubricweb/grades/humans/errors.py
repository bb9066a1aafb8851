"""Why a person's grade is not saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.grades.models import HumanGrade


class HumanGradeError(Exception):
    """Root of the refusals; its text is for the person who rates."""


class UnfitRating(HumanGradeError):
    """A rating off the scale, or nothing said at all."""


class SaidMeanwhile(HumanGradeError):
    """The same person rated the cell elsewhere since; `now` is what they say there."""

    def __init__(self, now: HumanGrade | None, seen: int) -> None:
        self.now, self.seen = now, seen
        super().__init__("You rated this cell in another window meanwhile.")
