"""Questions of the arena in the list of a collection's jobs; until the vote it does not tell who answers."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils.text import Truncator

from rubricweb.arena.fresh import actions
from rubricweb.arena.fresh.models import Question
from rubricweb.core.reader import reader
from rubricweb.jobs.listing import Listing

LONGEST = 120


def _jobs(collection_id: int) -> QuerySet[Question]:
    rows = Question.objects.filter(collection=collection_id)
    return rows.select_related("collection", "battle", "by")


def _address(question: Question) -> str:
    """Its battle, for the person who asked; nobody else may open it."""
    user = reader().user
    asks = user is not None and user == question.by
    return question.battle.get_absolute_url() if asks else ""


LISTING = Listing(
    kind="questions",
    units="answers",
    jobs=_jobs,
    name=lambda question: f"Answer question {question.pk}",
    does=lambda question: Truncator(question.text).chars(LONGEST),
    address=_address,
    opens="Battle",
    rate=lambda _: None,
    acts={"pause": actions.pause, "resume": actions.resume, "cancel": actions.cancel},
    is_for_its_starter=True,
    shows_calls=lambda question: not question.battle.is_blind,
)
