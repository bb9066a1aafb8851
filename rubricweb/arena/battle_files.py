"""Battles of other arenas, in and out: one line is one vote of a named voter, a person or a model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar
from uuid import UUID, uuid5

from django.utils import timezone

from grading.formats.battles import WORD_OF, ArenaBattle
from grading.formats.events import Verdict
from rubricweb.accounts.models import User
from rubricweb.arena.actions import EVENT
from rubricweb.arena.answers import (
    MODEL,
    VOTER_KIND,
    CountedVerdict,
    counted_votes,
    holding_votes,
    named_runs,
)
from rubricweb.arena.battles import locked_arena, next_number
from rubricweb.arena.files import CREDIT
from rubricweb.arena.judges import JudgeVotes
from rubricweb.arena.models import Battle, Vote
from rubricweb.core import events
from rubricweb.corpus.import_base import FilePosition, fitting_id, fitting_name
from rubricweb.corpus.import_runs import TAG_LIMIT
from rubricweb.corpus.models import Collection, Run
from rubricweb.corpus.pseudonyms import Naming
from rubricweb.grades.import_ratings import NO_AUTHOR, USERNAME_CHARS, Kinds, WorkOfPeople, in_portions

NO_TOPIC = "no-question-id"
"""The topic of battles that name none: all of them are votes on one topic, so that nothing is sure."""
OF_LINES = UUID("8f0f9a3e-5a51-4c43-9a7c-0c7b2b7a6a11")
"""The namespace of ids that are made of a line's content, by which a file is known when it comes again."""
BATCH = 2_000


@dataclass(frozen=True, slots=True)
class _NewVote:
    uid: UUID
    line: ArenaBattle
    voter: User
    topic_id: int


class BattleImporter:
    """Adds a battle with a vote for each line that the collection lacks, and the runs and topics it names.

    Voters become accounts that nobody can sign in to. The files hold no answers, so that these votes count
    whatever the runs answered here.
    """

    kinds: ClassVar[Kinds] = {
        "votes": (Vote, "battle__collection"),
        "battles": (Battle, "collection"),
    }

    def __init__(self, work: WorkOfPeople) -> None:
        self._work = work
        self._runs: dict[str, int] = dict(work.collection.runs.values_list("run_tag", "pk"))
        self._voters: dict[str, User] = {}

    def read(self, path: Path, battles: Iterable[ArenaBattle], *, voter: str = "") -> None:
        """Import all battles of a file; `voter` voted where a line names nobody.

        Lines without a verdict are left out. Raises BadFormat for a vote of nobody.
        """
        locked_arena(self._work.collection)
        repeated: Counter[str] = Counter()
        lines = list(battles)
        votes = [self._vote(path, line, voter, repeated) for line in lines if line.winner]
        here: set[UUID] = set()
        kept = Vote.objects.filter(battle__collection=self._work.collection)
        for uids in in_portions(vote.uid for vote in votes):
            here.update(kept.filter(uid__in=uids).values_list("uid", flat=True))
        fresh = [vote for vote in votes if vote.uid not in here]
        for kind in ("battles", "votes"):
            self._work.tally.of(kind).new += len(fresh)
            self._work.tally.of(kind).unchanged += len(votes) - len(fresh)
        self._add(fresh)
        self._note(path, votes)
        if undecided := len(lines) - len(votes):
            self._work.tally.note(f"{path.name}: lines without a verdict, which are no votes: {undecided:,}")
        events.publish_on_commit(self._work.collection.channel, EVENT)

    def _vote(self, path: Path, line: ArenaBattle, voter: str, repeated: Counter[str]) -> _NewVote:
        at = FilePosition(path, line.line)
        name = line.voter or voter
        if not name:
            raise at.error(
                f"{NO_AUTHOR}: no column judge or voter says who voted, expected one of them or --by NAME"
            )
        for what in ("model_a", "model_b"):
            fitting_id(getattr(line, what), what=what, at=at, limit=TAG_LIMIT)
        fitting_name(name, what="the voter", at=at, limit=USERNAME_CHARS)
        text = line.query if line.query_id else ""
        topic = self._work.topics.require(line.query_id or NO_TOPIC, text=text, at=at)
        content = json.dumps([name, line.query_id, line.fields], sort_keys=True)
        repeated[content] += 1
        uid = uuid5(OF_LINES, f"{content} {repeated[content]}")
        if name not in self._voters:
            self._voters[name] = self._work.accounts.outside(name)
        return _NewVote(uid, line, self._voters[name], topic.pk)

    def _add(self, votes: Sequence[_NewVote]) -> None:
        self._make_runs(model for vote in votes for model in (vote.line.model_a, vote.line.model_b))
        collection, numbers = self._work.collection, dict[int, int]()
        for start in range(0, len(votes), BATCH):
            batch = votes[start : start + BATCH]
            rows = []
            for vote in batch:
                person = vote.voter
                numbers.setdefault(person.pk, next_number(collection, person) - 1)
                numbers[person.pk] += 1
                self._work.credits[person, CREDIT] += 1
                rows.append(
                    Battle(
                        collection=collection,
                        topic_id=vote.topic_id,
                        left_id=self._runs[vote.line.model_a],
                        right_id=self._runs[vote.line.model_b],
                        person=person,
                        number=numbers[person.pk],
                        drawn=Battle.Drawn.IMPORTED,
                        names_shown_at=timezone.now(),
                        columns=_columns(vote.line),
                    )
                )
            made = Battle.objects.bulk_create(rows)
            added = Vote.objects.bulk_create(
                Vote(battle=battle, number=1, is_blind=True, uid=vote.uid, **_verdict(vote.line))
                for battle, vote in zip(made, batch, strict=True)
            )
            _set_times(added, batch)

    def _make_runs(self, models: Iterable[str]) -> None:
        missing = [name for name in dict.fromkeys(models) if name not in self._runs]
        made = [Run.objects.create(collection=self._work.collection, run_tag=name) for name in missing]
        self._runs |= {run.run_tag: run.pk for run in made}
        if made:
            self._work.tally.of("runs").new += len(made)

    def _note(self, path: Path, votes: Sequence[_NewVote]) -> None:
        counts = Counter(vote.voter.first_name for vote in votes)
        listed = ", ".join(f"{name} ({number:,})" for name, number in counts.items())
        self._work.tally.note(
            f"{path.name}: {len(votes):,} {'vote' if len(votes) == 1 else 'votes'} by {listed}"
        )
        if bare := sum(not vote.line.query_id for vote in votes):
            problem = f"{bare:,} name no question_id and count as votes on one topic, {NO_TOPIC}"
            self._work.tally.note(f"{path.name}: {problem}")


def _columns(line: ArenaBattle) -> dict[str, object]:
    """Return the columns to keep; where the format itself names a model as the voter, they say so."""
    return dict(line.columns) | ({VOTER_KIND: MODEL} if line.judge else {})


def _verdict(line: ArenaBattle) -> dict[str, str]:
    """Return the fields of a vote: each line is on answers or on evidence alone."""
    return {line.aspect: line.verdict.value}


def _set_times(votes: Sequence[Vote], lines: Sequence[_NewVote]) -> None:
    """Set when each vote was cast, where its line says so."""
    dated = []
    for vote, new in zip(votes, lines, strict=True):
        at = _moment(new.line.columns.get("timestamp", new.line.columns.get("tstamp")))
        if at is not None:
            vote.at = at
            dated.append(vote)
    Vote.objects.bulk_update(dated, ["at"], batch_size=500)


def _moment(value: object) -> datetime | None:
    """Return the time in seconds since 1970 or by ISO 8601; None for anything else."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        text = str(value or "")
        if text.replace(".", "", 1).isdecimal():
            return datetime.fromtimestamp(float(text), UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def arena_battles(
    collection: Collection,
    verdict: CountedVerdict,
    name: Naming,
    *,
    with_named: bool = False,
    judge: JudgeVotes | None = None,
) -> Iterator[ArenaBattle]:
    """Yield the votes that count as battles of arenas, with the words of arena-rank.

    People are called by `name`, voters of files as these call them. Votes on evidence have a column `aspect`,
    and those of a judge a column by which an import keeps them apart from people's.
    """
    counted = (judge.counted if judge else counted_votes(collection, verdict, with_named=with_named)).votes
    names = named_runs(collection, {run for vote in counted for run in vote.pair})
    by_battle = holding_votes(collection)
    aspect = {"aspect": verdict.value} if verdict is CountedVerdict.EVIDENCE else {}
    for vote in sorted(counted, key=lambda vote: vote.battle_id):
        columns: dict[str, object] = {"question_id": vote.query_id}
        if held := by_battle.get(vote.battle_id):
            columns["judge"] = vote.file_voter or name(held.battle.person)
            columns |= held.battle.columns or {"timestamp": held.at.isoformat()}
        else:
            columns |= {"judge": vote.voter, VOTER_KIND: MODEL}
        yield ArenaBattle(
            names[vote.left], names[vote.right], WORD_OF[Verdict(vote.verdict)], columns | aspect
        )
