"""People at work on the demo: versions, campaigns, conflicts, flags, votes and labels of support.

Their ratings are made up: near the judgment of a passage and the baseline's grade, with a dozen conflicts
placed on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from grading.support import JudgedCitations, Support
from grading.types import MAX_RATING, MIN_RATING, Importance, ItemKind
from rubricweb.accounts import roles
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.arena.actions import Ballot, VoteReason, change_arena, give_reason, next_battle, vote
from rubricweb.arena.models import Arena, Battle, Reason, Vote
from rubricweb.banks.actions import add_item, retire_item, revise_item, weigh_item
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.versions import name_version
from rubricweb.campaigns import actions as queue, adjudication, leases, population
from rubricweb.campaigns.models import Campaign, CampaignCell, Turn
from rubricweb.corpus.models import Collection, Judgment, Passage, Response, Topic
from rubricweb.demo.loading import account, grade
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import raters
from rubricweb.review.flags.actions import assign, open_flag, reply, resolve
from rubricweb.review.models import Kind, Subject
from rubricweb.support import labels
from rubricweb.support.actions import label_citation
from rubricweb.support.models import SupportEvent

ASSESSORS = ("assessor", "colleague")
OKAY_NUGGETS = (
    "shorter days trigger the change",
    "regular feeding keeps the culture active",
    "Frankenstein begun at Lake Geneva",
    "ear cups block high frequencies",
    "low citrate removes protection",
)
REWORDED = {
    "What sounds do cats make?": "Which sounds do grown cats keep for people?",
    "What do bees eat?": "How much honey does a colony need for the winter?",
}
RETIRED = "Why does food spoil?"
ADDED = {"cats also purr when in pain": "cats also purr when hurt or in pain"}
"""Nugget -> one that says the same."""
RATED_TOPIC = "t1"
FINISHED, OPEN, BEGUN = 60, 60, 15
"""Cells of the campaign that is done and of the one that is open, and how many of the latter each assessor
has rated.
"""
CONFLICTS, DECIDED = 14, 2
"""Cells on which the two assessors differ by more than one step, and how many of them are decided."""
WRONG_RUN = "tern_bold"
"""Its answers are right about nothing."""
SECONDS = 19
"""From one rating to the next."""
SEED = 1816

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
SECONDS_A_VOTE = 48
"""From one vote to the next."""


@transaction.atomic
def revise_bank(collection: Collection) -> None:
    """Name the bank as it came, make a second version of it, and grade what is new."""
    bank, developer = collection.banks.get(), User.objects.get(username="developer")
    organizer = User.objects.get(username="organizer")
    name_version(bank, name="As imported", note="Before anybody changed a word.", by=organizer)
    for item in bank.items.filter(revision__text__in=OKAY_NUGGETS):
        weigh_item(item, importance=Importance.OKAY, seen=item.version, by=developer)
    items = {item.revision.text: item for item in bank.items.select_related("revision", "topic")}
    for before, after in REWORDED.items():
        revise_item(items[before], text=after, seen=items[before].version, by=developer)
    retire_item(items[RETIRED], seen=items[RETIRED].version, by=developer)
    for twin, text in ADDED.items():
        add_item(bank, items[twin].topic, kind=ItemKind.NUGGET, text=text, by=developer)
    grade(collection)
    note = "Two vague questions are sharper, one that anything answered is gone."
    name_version(bank, name="After the first review", note=note, by=organizer)


@transaction.atomic
def begin_review(collection: Collection) -> None:
    """Begin a review by the same actions as in the browser."""
    bank = collection.banks.get()
    organizer = User.objects.get(username="organizer")
    set_role(account("colleague"), collection, role=roles.Role.ASSESSOR, by=organizer)
    choice = _choice(bank, bank.collection.topics.all(), Campaign.Cells.COVER, size=FINISHED)
    plan = queue.CampaignPlan("Does the board hold?", mode=Campaign.Mode.BLIND, assessors=len(ASSESSORS))
    campaign = queue.open_campaign(choice, plan, by=organizer, seed=SEED)
    near = _near_truth(campaign.cells.select_related("passage"))
    apart = sorted(campaign.cells.all(), key=lambda cell: (abs(near[cell.pk] - 3), cell.order))[:CONFLICTS]
    lenient, strict = _assessors()
    _rate(campaign, lenient, FINISHED, near)
    _rate(campaign, strict, FINISHED, _nearly(near) | {cell.pk: (near[cell.pk] + 3) % 6 for cell in apart})
    _space_out(campaign, days=3)
    for cell in apart[:DECIDED]:
        place = adjudication.CellKey(cell.topic_id, cell.revision_id, cell.passage_id)
        adjudication.decide(
            place, rating=3, by=organizer, seen=0, reason="It says so in passing, and does not explain it."
        )
    queue.close_campaign(campaign, by=organizer)
    _begin_campaign(bank, organizer)
    _flag(bank)


def _begin_campaign(bank: Bank, by: User) -> None:
    """Begin a blind campaign, two assessors a cell, on passages of one topic."""
    topic = bank.collection.topics.get(query_id=RATED_TOPIC)
    plan = queue.CampaignPlan("Is the baseline right?", mode=Campaign.Mode.BLIND, assessors=len(ASSESSORS))
    campaign = queue.open_campaign(
        _choice(bank, [topic], Campaign.Cells.ALL, size=OPEN), plan, by=by, seed=SEED
    )
    near = _near_truth(campaign.cells.select_related("passage"))
    lenient, strict = _assessors()
    _rate(campaign, lenient, BEGUN, near)
    _rate(campaign, strict, BEGUN, _nearly(near))
    _space_out(campaign, days=1)


def _choice(
    bank: Bank, topics: Iterable[Topic], cells: Campaign.Cells, *, size: int
) -> population.CellChoice:
    return population.CellChoice(
        bank=bank,
        topics=tuple(topics),
        kinds=frozenset({ItemKind.QUESTION, ItemKind.NUGGET}),
        rater=raters(bank)[0],
        cells=cells,
        size=size,
    )


def _assessors() -> list[User]:
    return [User.objects.get(username=name) for name in ASSESSORS]


def _rate(campaign: Campaign, person: User, count: int, ratings: Mapping[int, int]) -> None:
    """Rate the next cells of the queue, as the page does."""
    rated = 0
    while rated < count:
        leases.take_missing(campaign, person, count=leases.MOST_HELD)
        held = campaign.turns.filter(person=person, state=Turn.State.LEASED)
        for turn in held.select_related("cell__campaign__collection")[: count - rated]:
            queue.rate(turn.cell, rating=ratings[turn.cell_id], by=person, seen=0, uid=uuid4())
            rated += 1
    leases.hand_back(campaign, person)


def _near_truth(cells: Iterable[CampaignCell]) -> dict[int, int]:
    """Return what a careful reader would say of each cell, as far as judgments and the baseline tell."""
    cells = list(cells)
    ids = {"revision__in": {cell.revision_id for cell in cells}}
    ids |= {"passage__in": {cell.passage_id for cell in cells}}
    graded = Grade.objects.filter(**ids).values_list("revision", "passage", "rating")
    by_grader = {(revision, passage): rating or 0 for revision, passage, rating in graded}
    judged = Judgment.objects.filter(topic__in={cell.topic_id for cell in cells}, relevance__lt=2)
    poor = set(judged.values_list("topic", "doc_id"))
    wrong = {
        " ".join(sentence["text"] for sentence in answer.sentences)
        for answer in Response.objects.filter(run__run_tag=WRONG_RUN)
    }
    near = {}
    for cell in cells:
        is_poor = (cell.topic_id, cell.passage.doc_id) in poor or cell.passage.text in wrong
        rating = min(by_grader.get((cell.revision_id, cell.passage_id), 0), 1 if is_poor else MAX_RATING)
        near[cell.pk] = min(MAX_RATING, max(MIN_RATING, rating + _step(f"truth {cell.order}")))
    return near


def _nearly(ratings: Mapping[int, int]) -> dict[int, int]:
    """Return the ratings of another careful reader.

    Now and then one is a level higher or lower, on the same side of the threshold.
    """
    moved = {cell: rating + _step(f"reader {place}") for place, (cell, rating) in enumerate(ratings.items())}
    same_side = ({0, 1, 2, 3}, {4, 5})
    return {
        cell: moved[cell] if any({rating, moved[cell]} <= side for side in same_side) else rating
        for cell, rating in ratings.items()
    }


def _step(seed: str) -> int:
    """Return -1 or 1 in one of three cases, else 0."""
    return {0: -1, 1: 1}.get(sha256(seed.encode()).digest()[0] % 6, 0)


def _space_out(campaign: Campaign, *, days: int) -> None:
    """Let the ratings have been given one after the other, some days ago."""
    turns, moments = [], dict[UUID, datetime]()
    for person in _assessors():
        moment = timezone.now() - timedelta(days=days)
        for turn in campaign.turns.filter(person=person, state=Turn.State.SUBMITTED).order_by("order"):
            moment += timedelta(seconds=SECONDS + turn.order % 7)
            turn.taken_at, turn.done_at = moment - timedelta(seconds=SECONDS), moment
            turns.append(turn)
            if turn.uid:
                moments[turn.uid] = moment
    Turn.objects.bulk_update(turns, ["taken_at", "done_at"])
    events = HumanGrade.objects.filter(uid__in=moments)
    for event in events:
        event.at = moments[event.uid]
    HumanGrade.objects.bulk_update(events, ["at"])


def _flag(bank: Bank) -> None:
    by_name = {user.username: user for user in User.objects.filter(memberships__collection=bank.collection)}
    item = _item(bank, "Why is 1816 called the year without a summer?")
    flag = open_flag(
        Subject(bank, item.topic, item, None),
        kind=Kind.DUPLICATE,
        text="The nugget \u201c1816, the year without a summer\u201d says the same. Do we need both?",
        by=by_name["assessor"],
    )
    flag = assign(flag, to=by_name["developer"], seen=flag.version, by=by_name["organizer"])
    reply(
        flag,
        text="The nugget only names it; the question asks why. I would keep both.",
        by=by_name["developer"],
    )
    item = _item(bank, "What colour is the sky?")
    open_flag(
        Subject(bank, item.topic, item, None),
        kind=Kind.SPURIOUS,
        text="Whatever names a colour answers this, even the advertisement for wall paint.",
        by=by_name["colleague"],
    )
    passage = _passage(item, "d604")
    open_flag(
        Subject(bank, item.topic, None, passage),
        kind=Kind.UNCOVERED,
        text="A good passage on who found it out, and no question asks for that.",
        by=by_name["assessor"],
    )
    item = _item(bank, "Which big cats can purr?")
    flag = open_flag(
        Subject(bank, item.topic, item, _passage(item, "d902")),
        kind=Kind.COMMENT,
        text="This passage says that tigers purr. Is that an answer?",
        by=by_name["colleague"],
    )
    resolve(flag, seen=flag.version, by=by_name["developer"], text="It is wrong from end to end: 0.")


def _item(bank: Bank, text: str) -> Item:
    item: Item = bank.items.select_related("topic").get(revision__text=text)
    return item


def _passage(item: Item, doc_id: str) -> Passage:
    return Passage.objects.get(pooled_in__topic=item.topic, doc_id=doc_id)


@transaction.atomic
def vote_and_label(collection: Collection) -> None:
    """Vote and label by the same actions as in the browser, with the pages' own draws."""
    organizer = User.objects.get(username="organizer")
    change_arena(collection, drawing=Arena.Drawing.RANDOM, is_board_open=True, by=organizer)
    Arena.objects.filter(collection=collection).update(seed=1816)
    tags = dict(collection.runs.values_list("pk", "run_tag"))
    for username in ASSESSORS:
        person = User.objects.get(username=username)
        for number in range(VOTES):
            _vote(next_battle(collection, by=person), tags, number, person)
        _space_out_votes(person)
        places = LABELLED[username]
        order = labels.cited(collection).in_random_order(JudgedCitations.FIRST)
        run_of = {
            (answer.topic_id, md5): tags[answer.run_id]
            for answer in labels.cited(collection).answers
            for md5, _ in answer.sentences
        }
        for citation in order[places.start : places.stop]:
            share = CITATIONS[run_of[citation.topic_id, citation.sentence_md5]]
            chance = _chance(f"{citation.sentence_md5} {citation.doc_id}") % 10
            full = (
                Support.FULL
                if chance < share
                else Support.PARTIAL
                if share > 5 or chance > 8
                else Support.NONE
            )
            is_odd = _chance(f"{person} {citation.sentence_md5}") % 8 == 0
            label_citation(citation, label=Support.PARTIAL if is_odd else full, by=person)
        moment = timezone.now() - timedelta(days=1)
        events = list(SupportEvent.objects.filter(topic__collection=collection, by=person).order_by("pk"))
        for place, event in enumerate(events):
            event.at = moment + timedelta(seconds=place * SECONDS_A_VOTE / 2)
        SupportEvent.objects.bulk_update(events, ["at"])
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
        give_reason(battle, VoteReason({tag}, text, uuid4()), by=person)


def _space_out_votes(person: User) -> None:
    """Let the votes have been given one after the other, two days ago."""
    moment = timezone.now() - timedelta(days=2)
    votes = list(Vote.objects.filter(battle__person=person).order_by("battle__number"))
    for place, each in enumerate(votes):
        each.at = moment + timedelta(seconds=place * SECONDS_A_VOTE)
    Vote.objects.bulk_update(votes, ["at"])


def _chance(seed: str) -> int:
    return int.from_bytes(sha256(seed.encode()).digest()[:4])
