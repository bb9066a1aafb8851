"""Import votes on stored answers as Export wrote them, battle by battle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple
from uuid import UUID

from grading.formats.events import VoteEvent, moment
from rubricweb.accounts.models import User
from rubricweb.arena.actions import EVENT
from rubricweb.arena.answers import stored_answers
from rubricweb.arena.battles import locked_arena, next_number
from rubricweb.arena.models import Battle, Reason, Vote
from rubricweb.core import events
from rubricweb.corpus.import_base import FilePosition, fitting
from rubricweb.grades.import_ratings import Kinds, WorkOfPeople

LACKING = "votes on topics or runs that the collection lacks"
SINCE = "votes on two answers on which the same person has voted here otherwise"
CREDIT = "events of battles"
DIGEST_CHARS, REASON_CHARS = 64, 500


class _Pair(NamedTuple):
    """What a battle is of, in the file: the person, the topic and the two runs."""

    voter: str
    query_id: str
    left: str
    right: str


class VoteImporter:
    """Adds battles that the collection lacks, and to others what the file has after their last vote.

    A vote on an answer that the collection has otherwise is kept and does not count, like one whose answer
    was replaced.
    """

    kinds: ClassVar[Kinds] = {
        "vote_reasons": (Reason, "vote__battle__collection"),
        "votes": (Vote, "battle__collection"),
        "battles": (Battle, "collection"),
    }

    def __init__(self, work: WorkOfPeople) -> None:
        self._work = work
        self._runs: dict[str, int] = dict(work.collection.runs.values_list("run_tag", "pk"))

    def read(self, path: Path, votes: Iterable[VoteEvent]) -> None:
        """Import all votes of a file. Raises BadFormat for words that no vote has."""
        locked_arena(self._work.collection)
        by_pair: dict[_Pair, list[VoteEvent]] = defaultdict(list)
        for vote in votes:
            _refuse_unknown_words(vote, FilePosition(path, vote.line))
            by_pair[_Pair(vote.voter, vote.query_id, vote.left, vote.right)].append(vote)
        lacking: dict[str, Counter[str]] = {name: Counter() for name in (LACKING, SINCE)}
        answers, outdated = stored_answers(self._work.collection), 0
        for pair, of_pair in by_pair.items():
            topic = self._work.topics.by_query_id.get(pair.query_id)
            if topic is None or not {pair.left, pair.right} <= self._runs.keys():
                lacking[LACKING][f"{pair.left} and {pair.right} on {pair.query_id}"] += len(of_pair)
                continue
            of_pair.sort(key=lambda vote: vote.number)
            battle = self._battle(pair, of_pair)
            if battle is None or not self._continue(battle, of_pair):
                lacking[SINCE][pair.voter] += len(of_pair)
            else:
                digests = [answers.get(place) for place in battle.places]
                outdated += digests != [battle.left_digest, battle.right_digest]
        self._work.leave_out(path, lacking)
        if outdated:
            note = "battles are of answers that the collection has otherwise: their votes do not count"
            self._work.tally.note(f"{path.name}: {outdated:,} {note}")
        events.publish_on_commit(self._work.collection.channel, EVENT)

    def _battle(self, pair: _Pair, votes: Sequence[VoteEvent]) -> Battle | None:
        """Return the battle that has one of these votes, else a new one; None if the person has another."""
        uids = [UUID(vote.event) for vote in votes]
        voted = Vote.objects.filter(battle__collection=self._work.collection, uid__in=uids)
        vote = voted.select_related("battle").first()
        if vote is not None:
            self._work.tally.of("battles").unchanged += 1
            battle: Battle = vote.battle
            return battle
        person, topic = self._work.accounts.of(pair.voter), self._work.topics.by_query_id[pair.query_id]
        runs = [self._runs[pair.left], self._runs[pair.right]]
        own = Battle.objects.filter(person=person, topic=topic, left__in=runs, right__in=runs)
        if person is not None and own.exists():
            return None
        first = votes[0]
        battle = Battle.objects.create(
            collection=self._work.collection,
            topic=topic,
            left_id=runs[0],
            right_id=runs[1],
            left_digest=first.left_digest,
            right_digest=first.right_digest,
            person=person,
            number=self._number(person),
            drawn=first.drawn,
            names_shown_at=moment(first.at),
        )
        Battle.objects.filter(pk=battle.pk).update(at=moment(first.at))
        self._work.tally.of("battles").new += 1
        return battle

    def _number(self, person: User | None) -> int:
        return next_number(self._work.collection, person) if person else 1

    def _continue(self, battle: Battle, votes: Sequence[VoteEvent]) -> bool:
        """Add the votes that the battle lacks, if they follow its last one; whether they do."""
        here = dict(battle.votes.values_list("uid", "number"))
        fresh = [vote for vote in votes if UUID(vote.event) not in here]
        counts = self._work.tally.of("votes")
        counts.unchanged += len(votes) - len(fresh)
        if fresh and fresh[0].number <= max(here.values(), default=0):
            return False
        for vote in fresh:
            row = Vote(battle=battle, number=vote.number, is_withdrawn=vote.withdrawn, is_blind=vote.blind)
            row.answer, row.evidence, row.uid = vote.answer.value, vote.evidence.value, UUID(vote.event)
            row.save()
            Vote.objects.filter(pk=row.pk).update(at=moment(vote.at))
            self._add_reasons(row, vote)
            if battle.person is not None:
                self._work.credits[battle.person, CREDIT] += 1
        counts.new += len(fresh)
        self._work.tally.of("battles").changed += bool(fresh and here)
        return True

    def _add_reasons(self, row: Vote, vote: VoteEvent) -> None:
        for given in vote.reasons:
            reason = Reason(vote=row, tags=given.tags, text=given.text, uid=UUID(given.event))
            reason.save()
            Reason.objects.filter(pk=reason.pk).update(at=moment(given.at))
            self._work.tally.of("vote_reasons").new += 1


def _refuse_unknown_words(vote: VoteEvent, at: FilePosition) -> None:
    """Raise `BadFormat` for a way of drawing or a tag that the arena has not."""
    drawn = [kind.value for kind in Battle.Drawn if kind is not Battle.Drawn.ASKED]
    if vote.drawn not in drawn:
        raise at.error(f"drawn is {vote.drawn!r}, expected {', '.join(drawn)}")
    tags = [tag for reason in vote.reasons for tag in reason.tags if tag not in Reason.Tag.values]
    if tags:
        raise at.error(f"the tag {tags[0]!r}, expected {', '.join(Reason.Tag.values)}")
    fitting(vote.left_digest, what="left_digest", at=at, limit=DIGEST_CHARS)
    fitting(vote.right_digest, what="right_digest", at=at, limit=DIGEST_CHARS)
    for reason in vote.reasons:
        fitting(reason.text, what="the text of a reason", at=at, limit=REASON_CHARS)
