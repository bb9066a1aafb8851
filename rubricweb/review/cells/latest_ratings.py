"""The latest ratings of one cell, and the outcome of saving one."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.models import Item
from rubricweb.corpus.models import Passage
from rubricweb.grades.human_matrices import Source
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.grades.human_ratings import (
    Cell,
    HumanGradeError,
    RatedMeanwhile,
    ShownRating,
    latest,
    latest_by,
)
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import Rater
from rubricweb.grades.verdicts import verdicts_on
from rubricweb.grades.visibility import hidden_of_cell


class Reworded(HumanGradeError):
    """The item was reworded after the page was made."""

    def __init__(self) -> None:
        super().__init__("The item has been reworded: read it first.")


class NoText(HumanGradeError):
    """The item is known only by its id, from a file of grades."""

    def __init__(self) -> None:
        super().__init__("This item has no text yet: supply it before you rate it.")


@dataclass(frozen=True, slots=True)
class CellRatings:
    """Of one cell, for one reader."""

    mine: HumanGrade | AnswerVerdict | None
    """The reader's latest event; None without one, or when it was withdrawn."""
    seen: int
    others: tuple[HumanGrade | AnswerVerdict, ...]
    is_blind: bool
    """The graders' ratings are hidden from the reader too."""


@dataclass(frozen=True, slots=True)
class Saving:
    """The outcome of a rating or an undo that somebody sent."""

    sent: int | None
    """The rating; None for an undo."""
    event: HumanGrade | AnswerVerdict | None = None
    refusal: HumanGradeError | None = None

    @property
    def now(self) -> HumanGrade | AnswerVerdict | None:
        """On a conflict: the rating that the person gave in another window."""
        return self.refusal.now if isinstance(self.refusal, RatedMeanwhile) else None

    @property
    def words(self) -> str:
        """What was saved, in one sentence."""
        event = self.event
        if event is None or event.is_withdrawn or not event.verdict:
            return gettext("Taken back.")
        if isinstance(event, AnswerVerdict):
            return (
                gettext("Saved: the answer is right.")
                if event.is_right
                else gettext("Saved: the answer is wrong.")
            )
        saved = gettext("Saved: %(seen)s is %(verdict)s") % {
            "seen": event.seen_rating,
            "verdict": event.verdict,
        }
        if event.verdict == HumanGrade.Verdict.WRONG and event.rating is not None:
            saved += gettext(", %(rating)s would be right") % {"rating": event.rating}
        return f"{saved}."

    @property
    def is_conflict(self) -> bool:
        return isinstance(self.refusal, RatedMeanwhile)


def cell_ratings(item: Item, passage: Passage, reader: User, rater: Rater) -> CellRatings:
    """Return people's ratings of the cell, or their verdicts on the answer that the rater verifies."""
    cell = Cell.of(item, passage)
    config = rater.by_kind.get(ItemKind(item.kind))
    events: list[HumanGrade] | list[AnswerVerdict]
    last: HumanGrade | AnswerVerdict | None
    if rater.verifies and config:
        events = verdicts_on(cell, config)
        last = next((event for event in events if event.by_id == reader.pk), None)
    else:
        events, last = latest(cell), latest_by(reader, cell)
    mine = last if last is not None and not last.is_withdrawn else None
    hidden = hidden_of_cell(reader, item.topic, cell.revision_id, cell.passage_id)
    others = (
        [] if hidden.people else [row for row in events if row.by_id != reader.pk and not row.is_withdrawn]
    )
    return CellRatings(mine, last.number if last else 0, tuple(others), is_blind=bool(hidden.graders))


def shown(item: Item, passage: Passage, rater: Rater, source: Source) -> ShownRating | None:
    """Return the grader's rating that a reader of `source` sees."""
    configs = {kind: config for kind, config in rater.by_kind.items() if kind == item.kind}
    if source is Source.HUMANS or not configs:
        return None
    (config,) = configs.values()
    grade = Grade.objects.by(config).filter(revision=item.revision_id, passage=passage).first()
    return ShownRating(config, grade.rating) if grade is not None else None
