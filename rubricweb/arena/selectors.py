"""What the screens of the arena ask: battles, what there is to vote on, and people's own questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from django.core.paginator import Paginator
from django.db.models import QuerySet

from rubricweb.accounts.models import User
from rubricweb.arena.access import own_battles
from rubricweb.arena.answers import ShownAnswer, answers_of, paired_topics, reason_of, stored_answers
from rubricweb.arena.asking import modules
from rubricweb.arena.battles import count_unseen
from rubricweb.arena.models import SIDES, Battle, Question, Reason, Vote
from rubricweb.arena.rubric import AskedItem, coverages
from rubricweb.banks.models import Bank
from rubricweb.core.compiled import compiled_once
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.pseudonyms import hides_names, shown_names
from rubricweb.grades.raters import Rater
from rubricweb.systems.made import steps_of
from rubricweb.systems.models import SystemJob

SHOWN_BATTLES = 50

SHOWN, STEPS_A_PAGE = 100, 20


@dataclass(frozen=True, slots=True)
class ShownSide:
    """One side of a battle; `run_tag`, `run_id` and `modules` are empty while the battle is blind."""

    answer: ShownAnswer
    run_tag: str = ""
    """The run, or the modules of what answered a question."""
    run_id: int | None = None
    modules: str = ""
    """How a run was made here, where the reader may know its name."""
    is_preferred: bool = False

    @property
    def name(self) -> str:
        return self.run_tag or self.answer.side.capitalize()


@dataclass(frozen=True, slots=True)
class BattleView:
    """A battle as its person may see it now."""

    battle: Battle
    sides: tuple[ShownSide, ...]
    """Left, right; empty where an answer was replaced since."""
    last: Vote | None
    """The last event."""

    @property
    def holding(self) -> Vote | None:
        """Return the vote that holds."""
        return self.last if self.last and not self.last.is_withdrawn else None

    @property
    def reason(self) -> Reason | None:
        """Return why the person voted so."""
        return reason_of(self.holding) if self.holding else None

    @property
    def seen(self) -> int:
        return self.last.number if self.last else 0

    @property
    def asks_evidence(self) -> bool:
        """Return whether either side cites anything."""
        return any(side.answer.passages for side in self.sides)

    @property
    def names_word(self) -> str:
        """Return what the reader sees of stored runs after the vote."""
        hides = not self.battle.question and hides_names(self.battle.collection_id)
        return "pseudonyms" if hides else "names"

    @property
    def citations(self) -> int:
        return sum(len(side.answer.passages) for side in self.sides)


def battle_view(battle: Battle) -> BattleView:
    """Return the battle for its page; names are in it only once the person has seen them."""
    last = battle.votes.last()
    answers = answers_of(battle) or ()
    if battle.is_blind:
        return BattleView(battle, tuple(ShownSide(answer) for answer in answers), last)
    preferred = last.answer if last else ""
    sides = [
        ShownSide(answer, name, run, made, answer.side == preferred)
        for answer, (name, run, made) in zip(answers, _names(battle), strict=False)
    ]
    return BattleView(battle, tuple(sides), last)


def _names(battle: Battle) -> list[tuple[str, int | None, str]]:
    """Return, for each side, whose answer it is, with a run's primary key and modules where it is a run's."""
    if battle.question:
        chunks = battle.question.chunks.all()
        return [(modules(battle.collection_id, chunk.made_by), None, "") for chunk in chunks]
    runs = [run for run in (battle.left, battle.right) if run]
    names = shown_names(battle.collection_id, tuple(run.run_tag for run in runs))
    made = modules_of_runs(battle.collection_id, [run.pk for run in runs])
    return [(name, run.pk, made.get(run.pk, "")) for name, run in zip(names, runs, strict=True)]


def modules_of_runs(collection_id: int, runs: Iterable[int]) -> dict[int, str]:
    """Return how each run was made, of those made here; nothing for readers who know runs by pseudonyms."""
    if hides_names(collection_id):
        return {}
    return {job.run_id: job.system.method for job in _made(collection_id, tuple(runs))}


@compiled_once
def _made(collection: int, runs: tuple[int, ...]) -> QuerySet[SystemJob, SystemJob]:
    return SystemJob.objects.filter(collection=collection, run__in=runs)


@dataclass(frozen=True, slots=True)
class ItemRatings:
    """An item with the highest rating that either side's passages have for it."""

    item: AskedItem
    ratings: tuple[int, int]
    covers: tuple[bool, bool]

    @property
    def differs(self) -> bool:
        return self.covers[0] != self.covers[1]


@dataclass(frozen=True, slots=True)
class RubricView:
    """What a rubric sees in the two answers of a battle."""

    rows: tuple[ItemRatings, ...]
    covered: tuple[int, int]
    missing: int
    uncovered: tuple[tuple[int, ...], tuple[int, ...]]
    """The passages that cover no item, for each side."""

    @property
    def prefers(self) -> str:
        """Return the side that covers more items; empty where both cover as many."""
        left, right = self.covered
        return "" if left == right else ("left" if left > right else "right")

    @property
    def differing(self) -> tuple[ItemRatings, ...]:
        return tuple(row for row in self.rows if row.differs)


def rubric_view(battle: Battle, bank: Bank, rater: Rater, min_grade: int) -> RubricView | str:
    """Return what the rubric sees; where it sees nothing, a sentence that says why."""
    places = battle.places
    coverage_of = coverages(bank, rater, min_grade, places)
    if len(coverage_of) < len(places):
        return "The rubric has no items for this topic."
    left, right = (coverage_of[place] for place in places)
    ungraded = [side for side, coverage in (("left", left), ("right", right)) if coverage.score is None]
    if ungraded:
        which = "either answer" if len(ungraded) > 1 else f"the {ungraded[0]} answer"
        return f"No passage of {which} is graded yet."
    ratings = np.stack([left.ratings, right.ratings], axis=1).tolist()
    covers = np.stack([left.covers, right.covers], axis=1).tolist()
    return RubricView(
        rows=tuple(
            ItemRatings(item, tuple(rated), tuple(covered))
            for item, rated, covered in zip(left.items, ratings, covers, strict=True)
        ),
        covered=(left.covered, right.covered),
        missing=left.missing + right.missing,
        uncovered=(left.uncovered, right.uncovered),
    )


@dataclass(frozen=True, slots=True)
class Preferences:
    """Which answer the rubric prefers and which one the person, by name; empty for neither."""

    rubric: str
    own: str
    uncovered: tuple[int, ...]
    """Passages of the person's choice, or of both without one, that cover no item."""

    @property
    def differ(self) -> bool:
        return bool(self.rubric and self.own) and self.rubric != self.own


def preferences(view: BattleView, rubric: RubricView) -> Preferences:
    by_side = {side.answer.side: side.name for side in view.sides}
    verdict = view.holding.answer if view.holding else ""
    chosen = [number for number, side in enumerate(by_side) if verdict in ("", side)] or [0, 1]
    uncovered = [passage for number in chosen for passage in rubric.uncovered[number]]
    return Preferences(by_side.get(rubric.prefers, ""), by_side.get(verdict, ""), tuple(uncovered))


@dataclass(frozen=True, slots=True)
class VoterProgress:
    """What a person has done here, and what is left."""

    votes: int
    """Theirs that hold."""
    left: int
    """Pairs of answers that they have not seen."""
    battles: tuple[tuple[Battle, Vote | None], ...]
    """Battles with the last event of each, the newest first; at most SHOWN_BATTLES."""


def standing(collection: Collection, person: User) -> VoterProgress:
    battles = own_battles(person, collection)
    latest = battles.select_related("topic", "collection", "question__topic").prefetch_related("votes")
    return VoterProgress(
        votes=Vote.objects.holding(collection).filter(battle__person=person).count(),
        left=count_unseen(collection, person),
        battles=tuple(
            (battle, next(reversed(battle.votes.all()), None)) for battle in latest[:SHOWN_BATTLES]
        ),
    )


def answering_runs(collection: Collection) -> list[Run]:
    """Return the runs with stored answers, by the names that the reader may see."""
    runs = collection.runs.filter(pk__in={run for run, _ in stored_answers(collection)})
    listed = list(runs)
    names = shown_names(collection.pk, tuple(run.run_tag for run in listed))
    for run, name in zip(listed, names, strict=True):
        run.run_tag = name
    return sorted(listed, key=lambda run: run.run_tag)


def answered_topics(collection: Collection) -> list[Topic]:
    """Return the topics that two or more runs answered."""
    return list(collection.topics.filter(pk__in=paired_topics(stored_answers(collection))))


@dataclass(frozen=True, slots=True)
class SystemTally:
    """How often people preferred a system's fresh answers, in blind votes that hold."""

    label: str
    """Its modules."""
    wins: int
    ties: int
    losses: int

    @property
    def win_rate(self) -> float:
        """Return the share of its votes that it won, a tie as half."""
        return (self.wins + self.ties / 2) / (self.wins + self.ties + self.losses)


def questions(collection: Collection) -> list[Question]:
    """Return the questions that have a battle, the latest first, at most SHOWN."""
    rows = collection.arena_questions.filter(battle__isnull=False).select_related(
        "by", "topic", "adopted_as", "battle"
    )
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
    made_by = modules(question.collection_id, chunk.made_by)
    return {"chunk": chunk, "made_by": made_by, "steps": steps, "page_of_steps": made}


def tallies(collection: Collection) -> list[SystemTally]:
    """Return the votes on each pipeline that has any, those that won most often first."""
    held = Vote.objects.on_fresh_answers(collection).filter(is_blind=True)
    outcomes: dict[str, Counter[int]] = {}
    for vote in held.select_related("battle__question").prefetch_related("battle__question__chunks"):
        left, right = [modules(collection.pk, chunk.made_by) for chunk in vote.battle.question.chunks.all()]
        outcome = {Vote.Verdict.LEFT.value: 1, Vote.Verdict.RIGHT.value: -1}.get(vote.answer, 0)
        outcomes.setdefault(left, Counter())[outcome] += 1
        outcomes.setdefault(right, Counter())[-outcome] += 1
    rows = [SystemTally(label, counts[1], counts[0], counts[-1]) for label, counts in outcomes.items()]
    return sorted(rows, key=lambda row: (-row.win_rate, row.label))
