"""The vote board and a battle for programs: CSV, TSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator

from grading.formats import events
from grading.formats.battles import WORD_OF, ArenaBattle
from grading.formats.events import Verdict, VoteEvent, event_line
from grading.statistics.mean_intervals import LEVEL
from rubricweb import __version__
from rubricweb.arena.answers import Verdict as CountedVerdict
from rubricweb.arena.answers import answer_words, counted_votes, holding_votes, named_runs, reason_of
from rubricweb.arena.board import VoteBoard, VoterAgreement
from rubricweb.arena.models import Battle
from rubricweb.arena.selectors import BattleView, ShownSide
from rubricweb.corpus.models import Collection
from rubricweb.corpus.pseudonyms import Naming

Json = dict[str, object]
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


def vote_rows(collection: Collection, *, with_named: bool = False) -> Iterator[tuple[object, ...]]:
    """Yield the head and one row a vote that counts; voters are numbered in the order of their names.

    Words are those of the answers; several tags stand in one field, with semicolons between.
    """
    yield VOTE_COLUMNS
    counted = counted_votes(collection, with_named=with_named).votes
    voters = sorted({vote.voter for vote in counted})
    names = named_runs(collection, {run for vote in counted for run in vote.pair})
    lengths = answer_words(collection)
    by_battle = holding_votes(collection)
    for vote in counted:
        held, sides = by_battle[vote.battle_id], (vote.left, vote.right)
        reason = reason_of(held)
        yield (
            vote.query_id,
            *(names[run] for run in sides),
            1 + voters.index(vote.voter),
            held.answer,
            held.evidence,
            held.is_blind,
            *(lengths.get((run, vote.topic_id), "") for run in sides),
            held.at.isoformat(),
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
                events.Reason(
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


def arena_battles(
    collection: Collection, verdict: CountedVerdict, name: Naming, *, with_named: bool = False
) -> Iterator[ArenaBattle]:
    """Yield the votes that count as battles of arenas, with the words of arena-rank.

    People are called by `name`, voters of files as these call them. Votes on evidence have a column `aspect`.
    """
    counted = counted_votes(collection, verdict, with_named=with_named).votes
    names = named_runs(collection, {run for vote in counted for run in vote.pair})
    by_battle = holding_votes(collection)
    aspect = {"aspect": verdict.value} if verdict is CountedVerdict.EVIDENCE else {}
    for vote in sorted(counted, key=lambda vote: vote.battle_id):
        held = by_battle[vote.battle_id]
        columns = {"question_id": vote.query_id, "judge": vote.file_voter or name(held.battle.person)}
        columns |= held.battle.columns or {"timestamp": held.at.isoformat()}
        yield ArenaBattle(
            names[vote.left], names[vote.right], WORD_OF[Verdict(vote.verdict)], columns | aspect
        )


def vote_documents(rows: list[tuple[object, ...]]) -> list[Json]:
    """Return the same rows by column, for JSON."""
    head, *votes = rows
    documents = [dict(zip(map(str, head), vote, strict=True)) for vote in votes]
    for document in documents:
        document |= {name: None for name in LENGTHS if document[name] == ""}
    return documents


def battle_document(view: BattleView) -> Json:
    """Return a battle of which the person knows the names: answers, citations and all events."""
    battle = view.battle
    return {
        "topic": {"query_id": battle.query_id or None, "text": battle.text},
        "drawn": battle.drawn,
        "at": battle.at.isoformat(),
        **{side.answer.side: _side(side) for side in view.sides},
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


def _side(side: ShownSide) -> Json:
    doc_ids = {passage.number: passage.doc_id for passage in side.answer.passages}
    return {
        "run": side.run_tag,
        "words": side.answer.n_words,
        "sentences": [
            {
                "text": claim.text,
                "citations": [doc_ids[number] for number in claim.citations] if claim.is_stated else None,
            }
            for claim in side.answer.claims
        ],
    }


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
