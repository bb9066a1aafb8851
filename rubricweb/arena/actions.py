"""Draw battles, vote, take votes back, skip, have a model judge; what organizers set."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from grading.pairwise import LONGEST_REPLY, PROMPT_ID
from rubricweb.accounts.models import User
from rubricweb.arena.answers import NOUNS, stored_answers
from rubricweb.arena.battles import (
    ArenaError,
    NothingToTakeBack,
    NothingVoted,
    NotTwoAnswers,
    VotedMeanwhile,
    draw,
    locked_arena,
    next_number,
)
from rubricweb.arena.board import VoteBoard
from rubricweb.arena.judges import Judge, missing
from rubricweb.arena.models import Arena, Battle, JudgedPair, JudgeJob, Reason, Vote
from rubricweb.core import audit, events
from rubricweb.core.formatting import counted
from rubricweb.corpus.models import Collection, Run, Topic
from rubricweb.corpus.official import put_official_scores
from rubricweb.jobs.limits import Limits, begin

EVENT = "votes"


@dataclass(frozen=True, slots=True)
class Ballot:
    """What a person says of a battle."""

    answer: Vote.Verdict
    evidence: Vote.Verdict | None
    """None where neither answer cites anything."""
    uid: UUID


@dataclass(frozen=True, slots=True)
class VoteReason:
    """Why a person voted so."""

    tags: Set[Reason.Tag]
    text: str
    uid: UUID


def waiting_battle(collection: Collection, person: User) -> Battle | None:
    """Return the blind battle that was drawn for this person and has no vote yet."""
    accepted = collection.runs.accepted()
    battles = collection.battles.filter(person=person, names_shown_at=None, skipped_at=None, votes=None)
    answers = stored_answers(collection)
    for battle in battles.filter(left__in=accepted, right__in=accepted).order_by("pk"):
        sides = [answers.get(place) for place in battle.places]
        if sides == [battle.left_digest, battle.right_digest]:
            return battle
    return None


@transaction.atomic
def next_battle(collection: Collection, *, by: User) -> Battle:
    """Return the blind battle that waits for this person's vote, else a new one. Raises NothingToDraw."""
    arena = locked_arena(collection)
    if (waits := waiting_battle(arena.collection, by)) is not None:
        return waits
    number = next_number(arena.collection, by)
    drawn = draw(arena, by, number)
    topic, left, right = drawn.sides
    return _new_battle(arena.collection, by, number, (topic, left, right), drawn=drawn.drawn)


@transaction.atomic
def choose_battle(topic: Topic, left: Run, right: Run, *, by: User) -> Battle:
    """Open two answers by name. A battle that the person has of them ceases to be blind.

    Raises NotTwoAnswers.
    """
    arena, sides = locked_arena(topic.collection), (left.pk, right.pk)
    answers = stored_answers(arena.collection)
    if left == right or not all((run, topic.pk) in answers for run in sides):
        raise NotTwoAnswers
    earlier = Battle.objects.filter(person=by, topic=topic, left__in=sides, right__in=sides).first()
    if earlier is None:
        number = next_number(arena.collection, by)
        earlier = _new_battle(arena.collection, by, number, (topic.pk, *sides), drawn=Battle.Drawn.CHOSEN)
    _show_names(earlier)
    return earlier


@transaction.atomic
def vote(battle: Battle, ballot: Ballot, *, by: User, seen: int) -> Vote:
    """Add a vote, where `seen` is the number of the battle's last event as the page had it.

    The names are shown from now on. Raises VotedMeanwhile.
    """
    fields = {"answer": str(ballot.answer), "evidence": str(ballot.evidence or "")}
    added = _append(battle, ballot.uid, fields, seen=seen)
    audit.record("voted", battle, by=by, detail=battle.about)
    return added


@transaction.atomic
def take_back(battle: Battle, *, by: User, seen: int, uid: UUID) -> Vote:
    """Withdraw the vote. The names stay shown, so that another vote is not blind.

    Raises NothingToTakeBack or VotedMeanwhile.
    """
    last = battle.votes.last()
    if last is None or (last.is_withdrawn and last.uid != uid):
        raise NothingToTakeBack
    added = _append(battle, uid, {"is_withdrawn": True}, seen=seen)
    audit.record("vote withdrawn", battle, by=by, detail=battle.about)
    return added


@transaction.atomic
def give_reason(battle: Battle, given: VoteReason, *, by: User) -> Reason:
    """Add why the person voted so to the vote that holds. Raises NothingVoted."""
    holding = battle.votes.last()
    if holding is None or holding.is_withdrawn:
        raise NothingVoted
    earlier: Reason | None = holding.reasons.filter(uid=given.uid).first()
    if earlier is not None:
        return earlier
    tags = [tag.value for tag in Reason.Tag if tag in given.tags]
    added: Reason = holding.reasons.create(tags=tags, text=given.text, uid=given.uid)
    audit.record("reason of a vote given", battle, by=by, detail=battle.about)
    events.publish_on_commit(battle.collection.channel, EVENT)
    return added


@transaction.atomic
def skip(battle: Battle) -> None:
    """Give up a battle without a vote; its person does not get it again."""
    if battle.skipped_at is None and not battle.votes.exists():
        battle.skipped_at = timezone.now()
        battle.save(update_fields=["skipped_at"])


@transaction.atomic
def change_arena(collection: Collection, *, drawing: Arena.Drawing, is_board_open: bool, by: User) -> Arena:
    """Set how battles are drawn and who sees the vote board."""
    arena = locked_arena(collection)
    arena.drawing, arena.is_board_open = drawing, is_board_open
    arena.save(update_fields=["drawing", "is_board_open"])
    board = "open to all" if is_board_open else "closed"
    audit.record("arena changed", arena, by=by, detail=f"{drawing}, board {board}")
    events.publish_on_commit(collection.channel, EVENT)
    return arena


def keep_board(collection: Collection, board: VoteBoard, *, by: User) -> str:
    """Store the strengths of this moment as an official board, and return its name."""
    of = f" of {board.judge.name}" if board.judge else ""
    name = f"votes{of} on {NOUNS[board.verdict]}" + (" at equal length" if board.length else "")
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    scores = {tags[row.run_id]: row.strength for row in board.rows}
    put_official_scores(collection, scores, name=name, measure=f"strength of {board.votes} votes", by=by)
    return name


def _new_battle(
    collection: Collection, person: User, number: int, sides: tuple[int, int, int], *, drawn: Battle.Drawn
) -> Battle:
    """Create a battle; `sides` are topic, left and right run."""
    topic, left, right = sides
    answers = stored_answers(collection)
    return Battle.objects.create(
        collection=collection,
        person=person,
        number=number,
        topic_id=topic,
        left_id=left,
        right_id=right,
        left_digest=answers[left, topic],
        right_digest=answers[right, topic],
        drawn=drawn,
    )


def _show_names(battle: Battle) -> None:
    if battle.names_shown_at is None:
        battle.names_shown_at = timezone.now()
        battle.save(update_fields=["names_shown_at"])


def _append(battle: Battle, uid: UUID, fields: Mapping[str, object], *, seen: int) -> Vote:
    """Add an event, once for each `uid`; the battle is locked, so that two windows take turns."""
    locked = Battle.objects.select_for_update(of=("self",)).get(pk=battle.pk)
    earlier: Vote | None = locked.votes.filter(uid=uid).first()
    if earlier is not None:
        return earlier
    last = locked.votes.last()
    if (last.number if last else 0) != seen:
        raise VotedMeanwhile
    added: Vote = locked.votes.create(number=seen + 1, is_blind=locked.is_blind, uid=uid, **fields)
    _show_names(locked)
    events.publish_on_commit(battle.collection.channel, EVENT)
    return added


class NothingToJudge(ArenaError):
    """The model has judged, or will judge, every pair of the chosen ones."""

    def __init__(self) -> None:
        super().__init__("This model has judged all of these pairs, or a job is about to ask it.")


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """Which model is asked, about which pairs, and how."""

    backend: str
    llm: str
    pairs: JudgeJob.Pairs = JudgeJob.Pairs.VOTED
    longest_reply: int = LONGEST_REPLY
    """In tokens."""

    @property
    def judge(self) -> Judge:
        return Judge(self.backend, self.llm, PROMPT_ID)


@transaction.atomic
def start_judging(
    collection: Collection, asking: JudgeRequest, *, limits: Limits, by: User | None
) -> JudgeJob:
    """Have workers ask the model about each pair that it has not judged. Raises NothingToJudge."""
    locked_arena(collection)  # two jobs that start at once ask about no pair twice
    pairs = missing(collection, asking.judge, asking.pairs)
    if not pairs:
        raise NothingToJudge
    job = JudgeJob(
        collection=collection,
        backend=asking.backend,
        llm=asking.llm,
        prompt_id=asking.judge.prompt_id,
        pairs=asking.pairs,
        longest_reply=asking.longest_reply,
        by=by,
    )
    chunks = [
        JudgedPair(
            size=1,
            topic_id=pair.topic_id,
            left_id=pair.left_id,
            right_id=pair.right_id,
            left_digest=pair.left_digest,
            right_digest=pair.right_digest,
            replies=pair.replies,
        )
        for pair in pairs
    ]
    begin(job, chunks, limits)
    audit.record("votes asked of a model", collection, by=by, detail=f"{job}: {counted(job.total, 'pair')}")
    return job
