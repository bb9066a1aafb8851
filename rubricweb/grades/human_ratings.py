"""Human ratings, saved as events of which each person's latest counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4, uuid5

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from grading.types import CONTRADICTS, MAX_RATING, MIN_RATING
from rubricweb.accounts.models import User
from rubricweb.banks.models import Item
from rubricweb.core import events
from rubricweb.core.compiled import compiled_once
from rubricweb.core.models import is_duplicate, new_stamp
from rubricweb.corpus.models import Collection, Passage
from rubricweb.grades import visibility
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade, HumanStamp
from rubricweb.grades.models import GraderConfig

How = HumanGrade.How
Verdict = HumanGrade.Verdict
BATCH = 500
SAME = ("rating", "verdict", "how", "is_withdrawn", "draw_id", "config_id", "seen_rating")
"""Fields that an undo copies from the event before."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A wording and a passage, by primary keys."""

    topic_id: int
    revision_id: int
    passage_id: int
    channel: str = field(default="", compare=False)
    """Channel of the collection's live events; looked up if empty."""

    @classmethod
    def of(cls, item: Item, passage: Passage) -> Cell:
        return cls(item.topic_id, item.revision_id, passage.pk)


@dataclass(frozen=True, slots=True)
class ShownRating:
    """A grader's rating as it was displayed to the person."""

    config: GraderConfig
    rating: int | None


def latest_by(person: User, cell: Cell) -> HumanGrade | None:
    """Return the person's latest event for the cell, a withdrawal included."""
    mine = HumanGrade.objects.filter(by=person, revision=cell.revision_id, passage=cell.passage_id)
    return mine.order_by("-number").first()


def latest_by_cell(person: User, cells: Iterable[Cell]) -> dict[Cell, HumanGrade]:
    """Return `latest_by` of each cell that the person rated, in one query."""
    by_place = {(cell.revision_id, cell.passage_id): cell for cell in cells}
    if not by_place:
        return {}
    revisions, passages = (tuple(set(pks)) for pks in zip(*by_place, strict=True))
    events = {(row.revision_id, row.passage_id): row for row in _events_by(person.pk, revisions, passages)}
    return {by_place[place]: event for place, event in events.items() if place in by_place}


@compiled_once
def _events_by(person: int, revisions: tuple[int, ...], passages: tuple[int, ...]) -> QuerySet[HumanGrade]:
    rows = HumanGrade.objects.filter(by=person, revision__in=revisions, passage__in=passages)
    return rows.order_by("number")


def latest(cell: Cell) -> list[HumanGrade]:
    """Return each person's latest event, oldest first, without withdrawals."""
    rows = HumanGrade.objects.filter(revision=cell.revision_id, passage=cell.passage_id).select_related("by")
    now = {row.by_id: row for row in rows.order_by("number")}
    return sorted((row for row in now.values() if not row.is_withdrawn), key=lambda row: row.pk)


class HumanGradeError(Exception):
    """Root of the refusals; its text is for the person who rates."""


class UnfitRating(HumanGradeError):
    """Raised for a rating off the scale, or for neither rating nor verdict."""


class RatedMeanwhile(HumanGradeError):
    """Raised where the same person rated the cell elsewhere since; `now` is that event."""

    def __init__(self, now: HumanGrade | AnswerVerdict | None, seen: int) -> None:
        self.now, self.seen = now, seen
        super().__init__("You rated this pair in another window meanwhile.")


def rate_cell(
    cell: Cell,
    *,
    rating: int,
    by: User,
    seen: int,
    how: How = How.GRID,
    displayed: ShownRating | None = None,
    draw: int | None = None,
    uid: UUID | None = None,
) -> HumanGrade:
    """Rate the cell, where `seen` is the number of `by`'s latest event for it, as the page had it.

    `draw` is the primary key of the random draw that selected the cell. `uid` makes sending it twice
    harmless. Raises RatedMeanwhile or UnfitRating.
    """
    fields = _displayed_fields(displayed) | {"rating": rating, "how": how, "draw_id": draw}
    with _saved_once(cell, by=by, seen=seen):
        if event := _already_saved(cell, by=by, seen=seen, uid=uid):
            return event
        _within_scale(rating)
        return _add(cell, by, seen, uid, fields)


@contextmanager
def _saved_once(cell: Cell, *, by: User, seen: int) -> Iterator[None]:
    """Run a transaction; raises RatedMeanwhile if `by` rates the cell at the same time."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if not is_duplicate(error, HumanGrade):
            raise
        raise RatedMeanwhile(latest_by(by, cell), seen) from error


def _already_saved(cell: Cell, *, by: User, seen: int, uid: UUID | None) -> HumanGrade | None:
    """Return the event saved with this `uid`; raise RatedMeanwhile unless `seen` is the latest number."""
    events = _events(by.pk, cell.revision_id, cell.passage_id, uid or uuid4())
    by_uid = {event.uid: event for event in events}
    if uid in by_uid:
        return by_uid[uid]
    last = next(reversed(by_uid.values()), None)
    if (last.number if last else 0) != seen:
        raise RatedMeanwhile(last, seen)
    return None


@compiled_once
def _events(by: int, revision: int, passage: int, uid: UUID) -> QuerySet[HumanGrade]:
    """Return the person's events of a cell and the one with this uid, oldest first."""
    at = Q(revision=revision, passage=passage) | Q(uid=uid)
    return HumanGrade.objects.filter(at, by=by).order_by("number")


def record_verdict(
    cell: Cell,
    *,
    verdict: Verdict,
    by: User,
    seen: int,
    displayed: ShownRating,
    rating: int | None = None,
    draw: int | None = None,
    uid: UUID | None = None,
) -> HumanGrade:
    """Mark the displayed rating right, which makes it `by`'s own, or wrong, with the right one if given."""
    if verdict == Verdict.RIGHT:
        rating = displayed.rating
    if rating is not None:
        _within_scale(rating)
    elif verdict == Verdict.RIGHT:
        raise UnfitRating("There is no rating here that could be right.")
    fields = {"rating": rating, "verdict": verdict, "how": How.VERIFIED}
    return _append(cell, by, seen, uid, _displayed_fields(displayed) | fields | {"draw_id": draw})


@transaction.atomic
def confirm_grades(cells: Iterable[tuple[Cell, ShownRating]], *, by: User, uid: UUID) -> list[HumanGrade]:
    """Mark the displayed ratings of many cells right, except those that `by` rated before.

    `uid` makes sending it twice harmless, and identifies them to `undo_confirmations`.
    """
    ratings = dict(cells)
    topics = {cell.topic_id for cell in ratings}
    mine = HumanGrade.objects.filter(by=by, topic__in=topics)
    rated = set(mine.values_list("revision_id", "passage_id").distinct())
    new = [cell for cell in ratings if (cell.revision_id, cell.passage_id) not in rated]
    rows = [
        HumanGrade(
            topic_id=cell.topic_id,
            revision_id=cell.revision_id,
            passage_id=cell.passage_id,
            by=by,
            number=1,
            uid=_uid_of(uid, cell),
            rating=ratings[cell].rating,
            verdict=Verdict.RIGHT,
            how=How.VERIFIED,
            config=ratings[cell].config,
            seen_rating=ratings[cell].rating,
        )
        for cell in new
    ]
    HumanGrade.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    for topic_id in {cell.topic_id for cell in new}:
        move_stamp(topic_id)
    return list(HumanGrade.objects.filter(uid__in=[row.uid for row in rows]))


@transaction.atomic
def undo_confirmations(cells: Iterable[Cell], *, by: User, uid: UUID) -> int:
    """Undo `confirm_grades` in cells that `by` has not rated since; return how many."""
    uids = [_uid_of(uid, cell) for cell in cells]
    done = 0
    for event in HumanGrade.objects.filter(by=by, uid__in=uids):
        cell = Cell(event.topic_id, event.revision_id, event.passage_id)
        last = latest_by(by, cell)
        if last == event:
            _append(cell, by, event.number, None, {"is_withdrawn": True, "how": event.how})
            done += 1
    return done


@transaction.atomic
def add_imported(rows: Iterable[tuple[Cell, User, int]], *, channel: str) -> tuple[int, int, int]:
    """Save ratings of a file as (cell, rater, rating), each cell of a person once.

    Return how many are new, how many follow another rating of the same person, and how many were there.
    """
    given = {(cell.revision_id, cell.passage_id, by.pk): (cell, by, rating) for cell, by, rating in rows}
    revisions = {revision for revision, _, _ in given}
    last: dict[tuple[int, int, int], HumanGrade] = {}
    for event in HumanGrade.objects.filter(revision__in=revisions).order_by("number"):
        last[event.revision_id, event.passage_id, event.by_id] = event
    events_of = {key: last.get(key) for key in given}
    fresh = [key for key, event in events_of.items() if event is None or event.rating != given[key][2]]
    HumanGrade.objects.bulk_create(
        [_imported(*given[key], events_of[key]) for key in fresh], batch_size=BATCH
    )
    for topic_id in {given[key][0].topic_id for key in fresh}:
        move_stamp(topic_id, channel)
    new = sum(events_of[key] is None for key in fresh)
    return new, len(fresh) - new, len(given) - len(fresh)


@transaction.atomic
def save_events(events: Iterable[HumanGrade], *, channel: str) -> None:
    """Save events of a file unchanged, with their numbers, ids and times."""
    rows = list(events)
    times = [row.at for row in rows]
    HumanGrade.objects.bulk_create(rows, batch_size=BATCH)
    for row, at in zip(rows, times, strict=True):
        row.at = at  # a new row has the time at which it is saved
    HumanGrade.objects.bulk_update(rows, ["at"], batch_size=BATCH)
    for topic_id in {row.topic_id for row in rows}:
        move_stamp(topic_id, channel)


def _imported(cell: Cell, by: User, rating: int, before: HumanGrade | None) -> HumanGrade:
    _within_scale(rating)
    place = {"topic_id": cell.topic_id, "revision_id": cell.revision_id, "passage_id": cell.passage_id}
    number = before.number + 1 if before else 1
    return HumanGrade(**place, by=by, number=number, rating=rating, how=How.IMPORTED)


def _uid_of(uid: UUID, cell: Cell) -> UUID:
    return uuid5(uid, f"{cell.revision_id}/{cell.passage_id}")


def undo(cell: Cell, *, by: User, seen: int, uid: UUID | None = None) -> HumanGrade:
    """Restore `by`'s event before the latest, or withdraw the first."""
    before = HumanGrade.objects.filter(
        by=by, revision=cell.revision_id, passage=cell.passage_id, number=seen - 1
    ).first()
    last = latest_by(by, cell)
    if last is None:
        raise UnfitRating("Nothing to undo: you have not rated this pair.")
    if before is None:
        return _append(cell, by, seen, uid, {"is_withdrawn": True, "how": last.how})
    return _append(cell, by, seen, uid, {name: getattr(before, name) for name in SAME})


def _append(cell: Cell, by: User, seen: int, uid: UUID | None, fields: dict[str, object]) -> HumanGrade:
    with _saved_once(cell, by=by, seen=seen):
        return _already_saved(cell, by=by, seen=seen, uid=uid) or _add(cell, by, seen, uid, fields)


def _add(cell: Cell, by: User, seen: int, uid: UUID | None, fields: dict[str, object]) -> HumanGrade:
    event = HumanGrade.objects.create(
        topic_id=cell.topic_id,
        revision_id=cell.revision_id,
        passage_id=cell.passage_id,
        by=by,
        number=seen + 1,
        uid=uid or uuid4(),
        **fields,
    )
    move_stamp(cell.topic_id, cell.channel)
    return event


def move_stamp(topic_id: int, channel: str = "") -> None:
    """Record a change of the topic's human ratings: caches expire, and open pages refresh."""
    visibility.forget()
    stamp = HumanStamp.objects.filter(topic=topic_id)
    if not stamp.update(number=new_stamp()):
        HumanStamp.objects.bulk_create([HumanStamp(topic_id=topic_id)], ignore_conflicts=True)
        stamp.update(number=new_stamp())
    events.publish_on_commit(channel or Collection.objects.get(topics=topic_id).channel, "ratings")


def _displayed_fields(displayed: ShownRating | None) -> dict[str, object]:
    return {"config": displayed.config, "seen_rating": displayed.rating} if displayed else {}


def _within_scale(rating: int) -> None:
    if rating != CONTRADICTS and not MIN_RATING <= rating <= MAX_RATING:
        raise UnfitRating(f"A rating lies between {MIN_RATING} and {MAX_RATING}; this is {rating}.")
