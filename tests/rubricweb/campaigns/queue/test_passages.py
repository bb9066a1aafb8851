"""Passages as a whole: their order, how they are leased, and how much one person may hold."""

from __future__ import annotations

from itertools import groupby
from uuid import uuid4

import pytest

from rubricweb.campaigns.actions import CampaignPlan, open_campaign, rate, skip
from rubricweb.campaigns.leases import MOST_HELD, allowance, hand_back
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.campaigns.population import chosen
from rubricweb.grades.human_ratings import rate_cell
from rubricweb.grades.models import Grade
from tests.factories import RankingFactory, RunFactory, gradable, lexical_config, take
from tests.rubricweb.campaigns.conftest import choice_of, expire, grade_all

pytestmark = pytest.mark.django_db
State = Turn.State


def orders(turns) -> list[int]:
    return [turn.order for turn in turns]


def finish(campaign: Campaign, person) -> list[tuple[int, int]]:
    """Rate until nothing is left; return topic and passage of each cell, as they came."""
    seen = []
    while held := take(campaign, person):
        seen.append((held[0].cell.topic_id, held[0].cell.passage_id))
        rate(held[0].cell, rating=2, by=person, seen=0, uid=uuid4())
    return seen


def test_by_topic_all_items_of_a_passage_come_together(bank):
    cells = chosen(choice_of(bank, passage_order="topic"), seed=3).cells
    runs = [(place, len(list(some))) for place, some in groupby(cells, lambda one: (one.topic, one.passage))]
    assert [length for _, length in runs] == [2] * 6
    assert len(dict(runs)) == 6
    topics = [topic for topic, _ in groupby(cells, lambda one: one.topic)]
    assert topics == list(bank.collection.topics.values_list("pk", flat=True))
    items = {topic: list(bank.items.filter(topic=topic).values_list("pk", flat=True)) for topic in topics}
    assert [items[cell.topic].index(cell.item) for cell in cells] == [0, 1] * 6


def test_the_same_cells_are_drawn_whatever_the_order_of_the_passages(bank):
    drawn = [
        chosen(choice_of(bank, passage_order=order, size=5), seed=3).cells
        for order in ("cell", "topic", "board")
    ]
    assert set(drawn[0]) == set(drawn[1]) == set(drawn[2])
    assert len(drawn[0]) == 5


def test_by_value_the_passage_that_moves_the_board_most_comes_first(bank):
    """Of the second topic a single passage covers everything for one of two runs."""
    topic = bank.collection.topics.last()
    passages = [pooled.passage for pooled in topic.pool.all()]
    Grade.objects.exclude(passage=passages[2]).update(rating=0)
    for run_tag, passage in {"better": passages[2], "worse": passages[1]}.items():
        run = RunFactory(collection=bank.collection, run_tag=run_tag)
        RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id])
    bank.collection.stamp += 1
    bank.collection.save()
    cells = chosen(choice_of(bank, passage_order="board"), seed=1).cells
    assert [cell.passage for cell in cells[:4]] == [passages[2].pk] * 2 + [passages[1].pk] * 2


def test_a_passage_is_leased_as_a_whole(campaign_of, assessor, second):
    campaign = campaign_of(passage_order="topic")
    assert orders(take(campaign, assessor, count=1)) == [1, 2]
    assert orders(take(campaign, second, count=1)) == [3, 4]
    assert orders(take(campaign, assessor, count=3)) == [1, 2, 5, 6]


@pytest.mark.parametrize("mode", ["blind", "mixed"])
def test_turns_of_a_whole_passage_begin_as_single_ones_do(campaign_of, assessor, mode):
    modes = []
    for passage_order in ("topic", "cell"):
        campaign = campaign_of(passage_order=passage_order, mode=mode, size=2)
        turns = take(campaign, assessor)
        modes.append([(turn.mode, turn.state, turn.rating, turn.lease_until is None) for turn in turns])
    assert len(modes[0]) == len(modes[1]) == 2
    if mode == "blind":
        assert modes[0] == modes[1]
    assert {one[1:] for one in modes[0]} == {(State.LEASED, None, False)}


def test_each_passage_is_read_once_even_by_two_people(campaign_of, assessor, second):
    campaign = campaign_of(passage_order="topic", assessors=2)
    for person in (assessor, second):
        places = finish(campaign, person)
        assert len(places) == 12
        assert len(list(groupby(places))) == 6
    assert not campaign.turns.exclude(state=State.SUBMITTED).exists()


def test_of_a_passage_only_free_cells_come_along(campaign_of, assessor, second):
    """Not one that somebody else holds, and one that the person rated elsewhere comes at the end."""
    campaign = campaign_of(passage_order="topic")
    rate_cell(campaign.cells.get(order=2).human_cell, rating=1, by=assessor, seen=0)
    assert orders(take(campaign, second, count=3)) == [1, 2, 3, 4]
    skip(take(campaign, second)[2].cell, reason="not my field", by=second, uid=uuid4())
    held = take(campaign, assessor, count=3)
    assert orders(held) == [3, 5, 6]
    hand_back(campaign, second)
    assert orders(take(campaign, assessor, count=4)) == [3, 5, 6, 1]


def test_a_lapsed_passage_comes_back_as_a_whole(campaign_of, assessor, second):
    campaign = campaign_of(passage_order="topic")
    take(campaign, assessor, count=1)
    expire(campaign)
    assert orders(take(campaign, second, count=1)) == [1, 2]


@pytest.mark.parametrize(
    ("left", "others", "most"), [(10_000, 0, MOST_HELD), (12, 0, 6), (12, 1, 4), (3, 0, 2), (200, 19, 9)]
)
def test_nobody_holds_more_than_a_share_of_what_is_left(left, others, most):
    assert allowance(left, others) == most


def test_the_end_of_a_campaign_is_shared(campaign_of, assessor, second, owner):
    """12 cells: one person may hold half of them, the next a third, the third a quarter."""
    campaign = campaign_of()
    people = (assessor, second, owner)
    assert [len(take(campaign, person, count=32)) for person in people] == [6, 4, 2]


def test_an_expired_hold_makes_no_share_smaller(campaign_of, assessor, second):
    campaign = campaign_of()
    take(campaign, assessor)
    expire(campaign)
    assert len(take(campaign, second, count=32)) == 6


def test_a_passage_beyond_the_share_is_leased_in_part(collection, assessor, second, owner):
    bank = gradable(collection, topics=1, passages=1, items=6)
    grade_all(bank, lexical_config(), 4)
    campaign = open_campaign(choice_of(bank, passage_order="topic"), CampaignPlan("one"), by=owner, seed=1)
    assert orders(take(campaign, assessor)) == [1, 2, 3]
    assert orders(take(campaign, second)) == [4, 5]
