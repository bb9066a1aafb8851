"""Decide a cell, withdraw a decision, accept what assessors agree on."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from rubricweb.accounts.models import User
from rubricweb.campaigns.adjudication.decisions import decisions_of, ratings_by_person, unanimous
from rubricweb.campaigns.adjudication.models import DecidedRating, Decision
from rubricweb.campaigns.agreement.latest_ratings import CellKey
from rubricweb.campaigns.errors import DecidedMeanwhile, NeedsReason, NotYourDecision
from rubricweb.campaigns.queue.models import Campaign
from rubricweb.core import audit
from rubricweb.corpus.models import Collection
from rubricweb.grades import human_ratings
from rubricweb.grades.human_models import HumanGrade

MOST_AT_ONCE = 500
"""How many unanimous cells one click accepts."""


def decide(
    place: CellKey, *, rating: int, by: User, seen: int, reason: str = "", uid: UUID | None = None
) -> Decision:
    """Settle the cell, where `seen` is the number of its last decision, 0 without any.

    `uid` makes sending it twice harmless. Who rated the cell is a party to it and must give a reason; the
    audit trail then has an entry. Raises DecidedMeanwhile and NeedsReason.
    """
    uid = uid or uuid4()
    if (sent := Decision.objects.filter(uid=uid, by=by).first()) is not None:
        return sent
    _refuse_newer(place, seen)
    between, reason = ratings_by_person(place), reason.strip()
    is_party = by.pk in between
    if is_party and not reason:
        raise NeedsReason("You rated this pair yourself. Say why you decide it.")
    try:
        with transaction.atomic():
            decision = _decide(place, rating, by, (seen, reason, uid), between)
            if is_party:
                audit.record("own conflict decided", decision, by=by, detail=rating)
            return decision
    except IntegrityError:
        _refuse_newer(place, seen)
        raise


def _decide(
    place: CellKey, rating: int, by: User, answer: tuple[int, str, UUID], between: Mapping[int, int]
) -> Decision:
    seen, reason, uid = answer
    cell = human_ratings.Cell(*place)
    last = human_ratings.latest_by(by, cell)
    number = last.number if last else 0
    how = HumanGrade.How.ADJUDICATED
    grade = human_ratings.rate_cell(cell, rating=rating, by=by, seen=number, how=how, uid=uid)
    decision = Decision.objects.create(
        topic_id=place.topic,
        revision_id=place.revision,
        passage_id=place.passage,
        number=seen + 1,
        rating=rating,
        reason=reason,
        by=by,
        grade=grade,
        uid=uid,
    )
    DecidedRating.objects.bulk_create(
        DecidedRating(decision=decision, person_id=person, rating=rated) for person, rated in between.items()
    )
    return decision


def _refuse_newer(place: CellKey, seen: int) -> None:
    last = decisions_of(place).order_by("-number").first()
    if last is not None and last.number != seen:
        raise DecidedMeanwhile(last)


@transaction.atomic
def withdraw(decision: Decision, *, by: User) -> Decision:
    """Withdraw the decision; the one before it holds again, if there is one. Sending it twice is harmless."""
    if decision.by_id != by.pk:
        raise NotYourDecision(
            "Only the person who made the decision can withdraw it. You can make a new one."
        )
    if decision.withdrawn_at is None:
        cell = human_ratings.Cell(decision.topic_id, decision.revision_id, decision.passage_id)
        last = human_ratings.latest_by(by, cell)
        if last is not None and last.pk == decision.grade_id:
            human_ratings.undo(cell, by=by, seen=last.number)
        decision.withdrawn_at = timezone.now()
        decision.save(update_fields=["withdrawn_at"])
        audit.record("decision withdrawn", decision, by=by)
    return decision


@transaction.atomic
def accept_unanimous(collection: Collection, *, by: User, campaign: Campaign | None = None) -> int:
    """Decide the cells that two or more assessors rated alike, and return how many."""
    accepted = 0
    for place, people in unanimous(collection, campaign=campaign)[:MOST_AT_ONCE]:
        last = decisions_of(place).order_by("-number").first()
        rating = next(iter(people.values()))
        answer = (last.number if last else 0, "", uuid4())
        _decide(place, rating, by, answer, people)
        accepted += 1
    audit.record("unanimous ratings accepted", collection, by=by, detail=accepted)
    return accepted
