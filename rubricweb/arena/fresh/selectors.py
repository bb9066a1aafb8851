"""The questions of a collection: how far their answers are, how they were made, and how the systems fared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.core.paginator import Paginator

from rubricweb.arena.fresh.models import SIDES, Question
from rubricweb.arena.fresh.systems import SYSTEMS
from rubricweb.arena.models import Vote
from rubricweb.corpus.models import Collection
from rubricweb.systems.selectors import steps_of

SHOWN, STEPS_A_PAGE = 100, 20


@dataclass(frozen=True, slots=True)
class SystemTally:
    """How often people preferred a system's fresh answers, in blind votes that hold."""

    label: str
    wins: int
    ties: int
    losses: int


def questions(collection: Collection) -> list[Question]:
    """The latest first, at most SHOWN."""
    rows = collection.arena_questions.select_related("by", "topic", "adopted_as", "battle")
    return list(rows[:SHOWN])


def waiting(question: Question) -> dict[str, object]:
    """Return what a battle shows while its answers are made; nothing once they are."""
    if question.is_ready:
        return {}
    return {"question": question, "ready": question.chunks.filter(state="done").count()}


def made_of(question: Question | None, side: str, page: str | None) -> dict[str, object]:
    """Return every step behind one side's answer, a page of them; nothing where no side is asked about.

    It says whose answer it is: for battles whose names are shown.
    """
    if question is None or side not in SIDES:
        return {}
    chunk = question.chunks.get(number=SIDES.index(side))
    steps = steps_of(question.collection, chunk.result) if chunk.result else None
    made = Paginator(steps.made.steps if steps else (), STEPS_A_PAGE).get_page(page)
    return {"chunk": chunk, "steps": steps, "page_of_steps": made}


def tallies(collection: Collection) -> list[SystemTally]:
    """By system, in the order in which they are offered; without those that nobody voted on."""
    held = Vote.objects.on_fresh_answers(collection).filter(is_blind=True)
    outcomes: Counter[tuple[str, int]] = Counter()
    for vote in held.select_related("battle__question").prefetch_related("battle__question__chunks"):
        outcomes.update(_outcomes(vote, [chunk.system for chunk in vote.battle.question.chunks.all()]))
    counts = [(system, [outcomes[name, one] for one in (1, 0, -1)]) for name, system in SYSTEMS.items()]
    return [SystemTally(system.label, *said) for system, said in counts if any(said)]


def _outcomes(vote: Vote, systems: list[str]) -> Iterable[tuple[str, int]]:
    left, right = systems
    outcome = {Vote.Verdict.LEFT.value: 1, Vote.Verdict.RIGHT.value: -1}.get(vote.answer, 0)
    return (left, outcome), (right, -outcome)
