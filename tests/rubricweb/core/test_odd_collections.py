"""Every page answers for a collection that lacks something: no items, runs, grades, passages, judgments."""

from __future__ import annotations

import pytest

from rubricweb.banks.actions import retire_item
from rubricweb.banks.models import Bank
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment, Pooled, Ranking
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def without_items_of_a_topic(collection: Collection, bank: Bank, topic_id: object) -> None:
    for item in bank.items.filter(topic=topic_id):
        retire_item(item, seen=item.version, by=None)


def without_items(collection: Collection, bank: Bank, topic_id: object) -> None:
    for item in bank.items.all():
        retire_item(item, seen=item.version, by=None)


def without_rankings(collection: Collection, bank: Bank, topic_id: object) -> None:
    Ranking.objects.filter(run__collection=collection).delete()


def without_runs(collection: Collection, bank: Bank, topic_id: object) -> None:
    collection.runs.all().delete()


def without_passages(collection: Collection, bank: Bank, topic_id: object) -> None:
    Pooled.objects.filter(topic__collection=collection).delete()


def judged_below_0(collection: Collection, bank: Bank, topic_id: object) -> None:
    Judgment.objects.filter(topic__collection=collection).update(relevance=-1)


@pytest.mark.parametrize(
    "odd",
    [
        without_items_of_a_topic,
        without_items,
        without_rankings,
        without_runs,
        without_passages,
        judged_below_0,
    ],
)
def test_every_page_answers(odd, collection, owner, assessor, client_of):
    bank = world(collection, owner, assessor)
    known = parameters(bank, assessor, blind_campaign(bank, by=owner))
    odd(collection, bank, known["topic_id"])
    Collection.objects.update(stamp=new_stamp())
    organizer = client_of(owner)
    organizer.raise_request_exception = False
    failed = {}
    for route in readable_routes():
        response = organizer.get(route.address(known))
        b"".join(response.streaming_content if response.streaming else ())
        if response.status_code >= 500:
            failed[route.name] = response.status_code
    assert failed == {}
