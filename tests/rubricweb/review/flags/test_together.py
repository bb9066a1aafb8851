"""Many people in one thread at once: nothing is lost, nothing is counted twice, one decision wins."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection

from rubricweb.core.reader import everything
from rubricweb.review.flags import actions
from rubricweb.review.flags.actions import MovedMeanwhile
from rubricweb.review.models import Flag, Kind

PEOPLE, REPLIES = 8, 5


def at_once(jobs: list[Callable[[], object]]) -> list[object]:
    def done(job: Callable[[], object]) -> object:
        try:
            with everything():
                return job()
        except MovedMeanwhile as moved:
            return moved
        finally:
            connection.close()

    with ThreadPoolExecutor(PEOPLE) as pool:
        return list(pool.map(done, jobs))


@pytest.fixture
def flag(transactional_db, place, assessor) -> Flag:
    return actions.open_flag(place.cell, kind=Kind.SPURIOUS, by=assessor)


def test_replies_at_once_are_all_kept_in_turn(flag, developer):
    texts = [f"Person {person} says {n}." for person in range(PEOPLE) for n in range(REPLIES)]
    at_once([lambda text=text: actions.reply(flag, text=text, by=developer) for text in texts])
    events = list(flag.events.values_list("number", "text"))
    assert [number for number, _ in events] == list(range(1, len(texts) + 2))
    assert {text for _, text in events[1:]} == set(texts)


def test_of_decisions_at_once_one_wins(flag, developer):
    ends = at_once([lambda: actions.resolve(flag, seen=1, by=developer)] * PEOPLE)
    assert sum(isinstance(end, MovedMeanwhile) for end in ends) == PEOPLE - 1
    assert list(flag.events.values_list("verb", flat=True)) == ["opened", "resolved"]


def test_the_same_reply_sent_many_times_is_saved_once(flag, developer):
    uid = uuid4()
    at_once([lambda: actions.reply(flag, text="Once.", by=developer, uid=uid)] * PEOPLE)
    assert list(flag.events.values_list("text", flat=True)) == ["", "Once."]


@pytest.mark.parametrize("uid", [uuid4(), None])
def test_the_same_flag_sent_many_times_is_opened_once(transactional_db, place, assessor, uid):
    made = at_once([lambda: actions.open_flag(place.item, kind=Kind.UNCLEAR, by=assessor, uid=uid)] * PEOPLE)
    assert set(made) == {Flag.objects.get()}
