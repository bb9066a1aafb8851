"""What is found in a topic's evidence is kept, and never longer than it is true, nor for other readers."""

from __future__ import annotations

from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Judgment
from rubricweb.grades.human_ratings import Cell, rate_cell
from tests.factories import ItemFactory, grade

PAGE = "/collections/autumn/review/problems/"


def found(client, **address: object) -> dict[str, int]:
    page = client.get(PAGE, address)
    return {kind: count for kind, _, count in page.context["kinds"] if count}


def test_a_change_shows_at_once(client_of, viewer, autumn):
    client = client_of(viewer)
    assert found(client) == {"misleading": 1, "uncovered": 1}
    autumn.topic.text = "Which pigment makes leaves red"
    autumn.topic.save()
    assert found(client) == {"misleading": 1, "weak": 1, "uncovered": 1}, "Q1 asks nothing beyond its topic"
    item = ItemFactory(bank=autumn.bank, topic=autumn.topic, text="Why do leaves turn red, and when?")
    assert found(client) == {"misleading": 1, "weak": 2, "uncovered": 1}
    grade(autumn.config, item, autumn.passages["d2"], 5)
    assert found(client) == {"misleading": 1, "weak": 2}
    Judgment.objects.all().delete()
    autumn.collection.stamp += 1
    autumn.collection.save()
    assert found(client) == {"weak": 2}


def test_a_rating_shows_at_once(client_of, viewer, assessor, autumn):
    client = client_of(viewer)
    assert found(client, source="people") == {}
    cell = Cell.of(autumn.items[1], autumn.passages["d2"])
    rate_cell(cell, rating=4, by=assessor, seen=0)
    assert found(client, source="people") == {"uncovered": 1}


def test_a_secret_item_is_found_for_those_who_may_read_it(client_of, viewer, owner, autumn):
    everybody = client_of(viewer), client_of(owner)
    assert [found(client) for client in everybody] == [{"misleading": 1, "uncovered": 1}] * 2
    ItemRevision.including_secret.filter(pk=autumn.items[0].revision_id).update(is_secret=True)
    seen, all_of_it = [found(client) for client in everybody]
    assert ("misleading" in seen, "misleading" in all_of_it) == (False, True)
