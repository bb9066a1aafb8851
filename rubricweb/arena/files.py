"""Votes as files: the vote board and a battle for programs, and the import of votes as Export wrote them."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple
from uuid import UUID

from grading.formats import events as vote_files
from grading.formats.events import Verdict, VoteEvent, event_line, moment
from grading.formats.responses import ResponseDialect
from grading.formats.responses.conversion import converted
from grading.statistics.mean_intervals import LEVEL
from grading.types import Response
from rubricweb import __version__
from rubricweb.arena.actions import EVENT
from rubricweb.arena.answers import (
    answer_words,
    counted_votes,
    holding_votes,
    named_runs,
    reason_of,
    stored_answers,
)
from rubricweb.arena.battles import locked_arena, next_number
from rubricweb.arena.board import VoteBoard, VoterAgreement
from rubricweb.arena.judges import JudgeVotes
from rubricweb.arena.models import Battle, Reason, Vote
from rubricweb.arena.selectors import BattleView, ShownSide
from rubricweb.core import events
from rubricweb.corpus.import_base import FilePosition, fitting
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import Naming
from rubricweb.grades.import_ratings import Kinds, WorkOfPeople

Json = dict[str, object]
NAME_PARTS = re.compile(r"[^\s,()]+")
COLUMNS = (
    "rank_best", "rank_worst", "run", "strength", "low", "high", "votes", "wins", "ties", "losses", "level",
    "note", "bradley_terry", "rating",
)  # fmt: skip
MODEL = "Bradley-Terry with Davidson's ties; both bad counts as a tie"
AT_EQUAL_LENGTH = "; log of the ratio of words as a covariate"
INTERVALS = "95 %, over topics and voters"
OF_ONE_VOTER = "95 %, over topics, for this one voter"
RANKS = "hold together with 95 %"
TOO_FEW = "too few topics"

VOTE_COLUMNS = (
    "query_id", "left", "right", "voter", "answer", "evidence", "blind", "left_words", "right_words", "at",
    "tags", "reason",
)  # fmt: skip

LENGTHS = ("left_words", "right_words")


def board_rows(board: VoteBoard) -> Iterator[tuple[object, ...]]:
    """Yield the head and one row a run, for spreadsheets."""
    yield COLUMNS
    for row in board.rows:
        numbers = (_rounded(row.strength), _rounded(row.low), _rounded(row.high))
        cells = tuple("" if number is None else number for number in numbers)
        certainty = (LEVEL, "") if row.has_interval else ("", TOO_FEW)
        half_ties = _rounded(row.bradley_terry), _rounded(row.rating)
        rated = tuple("" if number is None else number for number in half_ties)
        yield (*row.ranks, row.run_tag, *cells, row.votes, row.wins, row.ties, row.losses, *certainty, *rated)


def board_document(board: VoteBoard, collection: str) -> Json:
    """Return the board with what it stands on, and every pair of runs."""
    return {
        "collection": collection,
        "verdict": board.verdict.value,
        "judge": judge_document(board.judge) if board.judge else None,
        "model": MODEL + (AT_EQUAL_LENGTH if board.length else ""),
        "length": _length(board),
        "intervals": _intervals(board),
        "ranks": RANKS if board.has_intervals else TOO_FEW,
        "version": __version__,
        "votes": board.votes,
        "voters": board.voters,
        "votes_from_files": dict(board.from_files),
        "topics": board.topics,
        "both_bad": board.both_bad,
        "left_out": {"knew_the_names": board.named, "answer_replaced": board.outdated}
        | ({"length_unknown": board.unknown_lengths} if board.unknown_lengths else {}),
        "agreement": _agreement(board.agreement),
        "runs": [
            dict(zip(COLUMNS, line, strict=True))
            | {
                name: _rounded(getattr(row, name))
                for name in ("strength", "low", "high", "bradley_terry", "rating")
            }
            for row, line in zip(board.rows, list(board_rows(board))[1:], strict=True)
        ],
        "pairs": [
            {"run": row.run_tag, "against": other.run_tag, "wins": duel.wins, "ties": duel.ties}
            | {"losses": duel.losses}
            for row, duels in zip(board.rows, board.duels, strict=True)
            for other, duel in zip(board.rows, duels, strict=True)
            if duel and duel.votes and row.run_tag < other.run_tag
        ],
    }


def judge_document(judge: JudgeVotes) -> Json:
    """Return how a model came to its votes; counts of orders are null where a file has the votes."""
    counts = {"pairs": judge.pairs, "flipped": judge.flipped, "failed": judge.failed}
    rate = judge.flip_rate
    return {"name": judge.name, "votes": len(judge.votes), **counts} | {
        "flip_rate": None if rate is None else round(rate, 6)
    }


def vote_rows(
    collection: Collection, *, with_named: bool = False, judge: JudgeVotes | None = None
) -> Iterator[tuple[object, ...]]:
    """Yield the head and one row a vote that counts; voters are numbered in the order of their names.

    Words are those of the answers; several tags stand in one field, with semicolons between. A judge's votes
    have no time and no reason.
    """
    yield VOTE_COLUMNS
    counted = (judge.counted if judge else counted_votes(collection, with_named=with_named)).votes
    voters = sorted({vote.voter for vote in counted})
    names = named_runs(collection, {run for vote in counted for run in vote.pair})
    lengths = answer_words(collection)
    by_battle = holding_votes(collection)
    for vote in counted:
        held, sides = by_battle.get(vote.battle_id), (vote.left, vote.right)
        reason = reason_of(held) if held else None
        yield (
            vote.query_id,
            *(names[run] for run in sides),
            1 + voters.index(vote.voter),
            held.answer if held else vote.verdict,
            held.evidence if held else "",
            held.is_blind if held else True,
            *(lengths.get((run, vote.topic_id), "") for run in sides),
            held.at.isoformat() if held else "",
            ";".join(reason.tags) if reason else "",
            reason.text if reason else "",
        )


def vote_events(collection: Collection, name: Naming) -> Iterator[str]:
    """Yield a line of JSON for every event of a battle of stored answers, which an import reads again.

    People are called by `name`, and runs as the reader may know them.
    """
    stored = collection.battles.exclude(drawn=Battle.Drawn.IMPORTED)  # these go out as battles
    battles = stored.filter(question=None, votes__isnull=False).distinct().order_by("pk")
    listed = list(battles.select_related("topic", "person").prefetch_related("votes__reasons"))
    names = named_runs(collection, {run for battle in listed for run, _ in battle.places})
    for battle in listed:
        (left, _), (right, _) = battle.places
        for vote in battle.votes.all():
            reasons = [
                vote_files.Reason(
                    event=str(reason.uid), tags=reason.tags, text=reason.text, at=reason.at.isoformat()
                )
                for reason in vote.reasons.all()
            ]
            yield event_line(
                VoteEvent(
                    event=str(vote.uid),
                    query_id=battle.query_id,
                    left=names[left],
                    right=names[right],
                    left_digest=battle.left_digest,
                    right_digest=battle.right_digest,
                    voter=name(battle.person),
                    number=vote.number,
                    answer=Verdict(vote.answer),
                    evidence=Verdict(vote.evidence),
                    withdrawn=vote.is_withdrawn,
                    blind=vote.is_blind,
                    drawn=battle.drawn,
                    at=vote.at.isoformat(),
                    reasons=reasons,
                )
            )


def vote_documents(rows: list[tuple[object, ...]]) -> list[Json]:
    """Return the same rows by column, for JSON."""
    head, *votes = rows
    documents = [dict(zip(map(str, head), vote, strict=True)) for vote in votes]
    for document in documents:
        document |= {name: None for name in (*LENGTHS, "at") if document[name] == ""}
    return documents


def battle_document(view: BattleView) -> Json:
    """Return a battle of which the person knows the names: both answers as TREC RAG has them, all events.

    Citations are places in `references`, from 0.
    """
    battle = view.battle
    return {
        "topic": {"query_id": battle.query_id or None, "text": battle.text},
        "drawn": battle.drawn,
        "at": battle.at.isoformat(),
        "modules": {
            side.answer.side: side.run_tag if battle.question else side.modules or None for side in view.sides
        },
        **{side.answer.side: _side(side, battle) for side in view.sides},
        "events": [
            {
                "number": vote.number,
                "answer": vote.answer or None,
                "evidence": vote.evidence or None,
                "taken_back": vote.is_withdrawn,
                "blind": vote.is_blind,
                "at": vote.at.isoformat(),
                "reasons": [
                    {"tags": reason.tags, "text": reason.text, "at": reason.at.isoformat()}
                    for reason in vote.reasons.all()
                ],
            }
            for vote in battle.votes.prefetch_related("reasons")
        ],
    }


def _side(side: ShownSide, battle: Battle) -> Json:
    """Return one answer as a line of the track's file, with nothing else of its own file.

    Its run is one word, as the track has it, also where the reader knows it by several.
    """
    answer, run_tag = side.answer, "-".join(NAME_PARTS.findall(side.run_tag))
    topic_id = battle.query_id or f"question-{battle.question_id}"
    response = Response(run_tag, topic_id, answer.sentences, references=answer.references)
    line: Json = converted(response, ResponseDialect.RAG24, battle.text)[0]
    return line


def _agreement(agreement: VoterAgreement) -> Json | None:
    if agreement.is_too_few:
        return None
    spread = agreement.interval
    ends = [_rounded(spread.low), _rounded(spread.high)] if spread.is_defined else None
    return {
        "pairs": agreement.pairs,
        "same": _rounded(agreement.same),
        "krippendorff_alpha": _rounded(agreement.alpha),
        "interval": ends,
    }


def _intervals(board: VoteBoard) -> str:
    if not board.has_intervals:
        return TOO_FEW
    return INTERVALS if board.voters > 1 else OF_ONE_VOTER


def _length(board: VoteBoard) -> Json | None:
    if board.length is None:
        return None
    slope, low, high = map(_rounded, board.length)
    return {
        "slope": slope,
        "low": low,
        "high": high,
        "odds_of_twice_as_long": _rounded(board.length.of_double),
    }


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6) + 0.0  # no minus before a zero


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
            at = FilePosition(path, vote.line)
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
            number=next_number(self._work.collection, person) if person else 1,
            drawn=first.drawn,
            names_shown_at=moment(first.at),
        )
        Battle.objects.filter(pk=battle.pk).update(at=moment(first.at))
        self._work.tally.of("battles").new += 1
        return battle

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
            for given in vote.reasons:
                reason = Reason(vote=row, tags=given.tags, text=given.text, uid=UUID(given.event))
                reason.save()
                Reason.objects.filter(pk=reason.pk).update(at=moment(given.at))
                self._work.tally.of("vote_reasons").new += 1
            if battle.person is not None:
                self._work.credits[battle.person, CREDIT] += 1
        counts.new += len(fresh)
        self._work.tally.of("battles").changed += bool(fresh and here)
        return True
