"""Review work for the demo: a named version, weights, a campaign, a flag."""

from __future__ import annotations

from django.db import transaction

from grading.types import Importance, ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import weigh_item
from rubricweb.banks.models import Bank, Item
from rubricweb.banks.versions import name_version
from rubricweb.campaigns.queue.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.queue.models import Campaign
from rubricweb.campaigns.queue.population import Choice
from rubricweb.corpus.models import Collection
from rubricweb.grades.raters import raters
from rubricweb.review.flags.actions import assign, open_flag, reply
from rubricweb.review.flags.subjects import Kind, Subject

OKAY_NUGGETS = (
    "shorter days trigger the change",
    "regular feeding keeps the culture active",
    "Frankenstein begun at Lake Geneva",
    "ear cups block high frequencies",
    "low citrate removes protection",
)
RATED_TOPIC = "t1"
SEED = 1816


@transaction.atomic
def begin_review(collection: Collection) -> None:
    """Through the same actions as in the browser."""
    bank = collection.banks.get()
    people = {user.username: user for user in User.objects.filter(memberships__collection=collection)}
    name_version(bank, name="As imported", note="Before anybody changed a word.", by=people["organizer"])
    for item in bank.items.filter(revision__text__in=OKAY_NUGGETS):
        weigh_item(item, importance=Importance.OKAY, seen=item.version, by=people["developer"])
    _open_campaign(bank, people["organizer"])
    _flag(bank, people)


def _open_campaign(bank: Bank, by: User) -> None:
    """Blind, two assessors per cell, every item of every passage of one topic: each passage is read once."""
    choice = Choice(
        bank=bank,
        topics=(bank.collection.topics.get(query_id=RATED_TOPIC),),
        kinds=frozenset({ItemKind.QUESTION, ItemKind.NUGGET}),
        rater=raters(bank)[0],
    )
    plan = CampaignPlan("Is the baseline right?", mode=Campaign.Mode.BLIND, assessors=2)
    open_campaign(choice, plan, by=by, seed=SEED)


def _flag(bank: Bank, people: dict[str, User]) -> None:
    item: Item = bank.items.get(revision__text="Why is 1816 called the year without a summer?")
    flag = open_flag(
        Subject(bank, item.topic, item, None),
        kind=Kind.DUPLICATE,
        text="The nugget \u201c1816, the year without a summer\u201d says the same. Do we need both?",
        by=people["assessor"],
    )
    flag = assign(flag, to=people["developer"], seen=flag.version, by=people["organizer"])
    reply(
        flag,
        text="The nugget only names it; the question asks why. I would keep both.",
        by=people["developer"],
    )
