"""Votes on pairs of answers, and labels of how far cited passages support what is said."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

from django.db import transaction
from django.utils import timezone

from grading.support import JudgedCitations, Support
from rubricweb.accounts.models import User
from rubricweb.arena.actions import Ballot, Said, change_arena, give_reason, next_battle, vote
from rubricweb.arena.models import Arena, Battle, Reason, Vote
from rubricweb.corpus.models import Collection
from rubricweb.demo.reviewing import ASSESSORS
from rubricweb.support.actions import label_citation
from rubricweb.support.cited import Citation, cited
from rubricweb.support.models import SupportEvent

ANSWERS = {"maple_cited": 6, "made_best_sentences": 4, "maple_long": 4, "tern_plain": 2, "tern_bold": 0}
"""Run -> how good its answers are, in the eyes of those who vote."""
CITATIONS = {"maple_cited": 9, "made_best_sentences": 9, "maple_long": 6, "tern_bold": 1}
"""Run -> in how many of ten cases a passage fully supports the sentence that cites it."""
VOTES = 30
LABELLED = {"assessor": range(60), "colleague": range(40, 80)}
"""The citations that each person labels, in the order in which the page asks."""
REASONS = {
    "maple_cited": (Reason.Tag.WELL_CITED, "Short, and the passages say so."),
    "maple_long": (Reason.Tag.COMPLETE, "Long, but it is all there."),
    "made_best_sentences": (Reason.Tag.CORRECT, "Nothing in it is wrong."),
    "tern_plain": (Reason.Tag.CONCISE, "It says little, and the other one is wrong."),
}
REASON_EVERY = 4
SECONDS = 48
"""From one vote to the next."""


@transaction.atomic
def vote_and_label(collection: Collection) -> None:
    """Through the same actions as in the browser, with the pages' own draws."""
    organizer = User.objects.get(username="organizer")
    change_arena(collection, drawing=Arena.Drawing.RANDOM, is_board_open=True, by=organizer)
    Arena.objects.filter(collection=collection).update(seed=1816)
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    for username in ASSESSORS:
        person = User.objects.get(username=username)
        for number in range(VOTES):
            _vote(next_battle(collection, by=person), tags, number, person)
        _space_out(person)
        _label(collection, LABELLED[username], tags, person)
    change_arena(collection, drawing=Arena.Drawing.SHARPEN, is_board_open=True, by=organizer)


def _vote(battle: Battle, tags: Mapping[int, str], number: int, person: User) -> None:
    left, right = (tags[run] for run, _ in battle.places)
    seed = f"{person} {battle.query_id} {left} {right}"
    lead = ANSWERS[left] - ANSWERS[right] + _chance(seed) % 5 - 2
    if max(ANSWERS[left], ANSWERS[right]) <= 2 and abs(lead) < 2:
        verdict = Vote.Verdict.BOTH_BAD
    elif lead == 0:
        verdict = Vote.Verdict.TIE
    else:
        verdict = Vote.Verdict.LEFT if lead > 0 else Vote.Verdict.RIGHT
    gap = CITATIONS.get(left, 0) - CITATIONS.get(right, 0)
    evidence = Vote.Verdict.LEFT if gap > 2 else Vote.Verdict.RIGHT if gap < -2 else Vote.Verdict.TIE
    vote(battle, Ballot(verdict, evidence, uuid4()), by=person, seen=0)
    better = {Vote.Verdict.LEFT: left, Vote.Verdict.RIGHT: right}.get(verdict)
    if number % REASON_EVERY == 0 and better in REASONS:
        tag, text = REASONS[better]
        give_reason(battle, Said({tag}, text, uuid4()), by=person)


def _label(collection: Collection, places: range, tags: Mapping[int, str], person: User) -> None:
    order = cited(collection).in_random_order(JudgedCitations.FIRST)
    run_of = {
        (answer.topic_id, md5): tags[answer.run_id]
        for answer in cited(collection).answers
        for md5, _ in answer.sentences
    }
    for citation in order[places.start : places.stop]:
        share = CITATIONS[run_of[citation.topic_id, citation.sentence_md5]]
        label_citation(citation, label=_support(citation, share, person), by=person)
    moment = timezone.now() - timedelta(days=1)
    events = list(SupportEvent.objects.filter(topic__collection=collection, by=person).order_by("pk"))
    for place, event in enumerate(events):
        event.at = moment + timedelta(seconds=place * SECONDS / 2)
    SupportEvent.objects.bulk_update(events, ["at"])


def _support(citation: Citation, share: int, person: User) -> Support:
    """Most people say the same of a citation; of one in eight the person says something else."""
    chance = _chance(f"{citation.sentence_md5} {citation.doc_id}") % 10
    full = Support.FULL if chance < share else Support.PARTIAL if share > 5 or chance > 8 else Support.NONE
    is_odd = _chance(f"{person} {citation.sentence_md5}") % 8 == 0
    return Support.PARTIAL if is_odd else full


def _space_out(person: User) -> None:
    """Let the votes have been given one after the other, two days ago."""
    moment = timezone.now() - timedelta(days=2)
    votes = list(Vote.objects.filter(battle__person=person).order_by("battle__number"))
    for place, each in enumerate(votes):
        each.at = moment + timedelta(seconds=place * SECONDS)
    Vote.objects.bulk_update(votes, ["at"])


def _chance(seed: str) -> int:
    return int.from_bytes(sha256(seed.encode()).digest()[:4])
