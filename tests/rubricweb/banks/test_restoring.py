"""Versions compared in words, and brought back: all of it, or nothing."""

import pytest

from grading.types import Importance, ItemKind
from rubricweb.banks import actions
from rubricweb.banks.actions import ItemWeight, settle_items
from rubricweb.banks.changes import BankMoved, EditConflict
from rubricweb.banks.models import Item
from rubricweb.banks.versions import (
    bank_stamp,
    difference,
    held,
    name_version,
    restore_version,
    versions,
    word_diff,
)
from tests.factories import gradable

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, items=3)


@pytest.fixture
def first(bank):
    return bank.items.first().topic


@pytest.fixture
def version(bank, developer):
    return name_version(bank, name="Before", by=developer)


def items_of(bank, topic) -> list[Item]:
    return list(bank.items.for_topic(topic).select_related("revision", "topic", "bank__collection"))


def asked(bank) -> list[tuple[int, str, str, float]]:
    """In the bank's order."""
    rows = bank.items.active().select_related("revision").order_by("topic", "position", "pk")
    return [(row.pk, str(row), row.importance, row.weight) for row in rows]


def change_everything(bank, topic, by) -> None:
    """Reword one, retire one, weigh one, add one, and turn their order around."""
    first, second, third = items_of(bank, topic)
    actions.revise_item(first, text="Which pigment, exactly?", seen=1, by=by)
    actions.retire_item(second, seen=1, by=by)
    actions.weigh_item(third, importance=Importance.AVOID, seen=1, by=by)
    added = actions.add_item(bank, topic, kind=ItemKind.NUGGET, text="It is the carotene", by=by)
    actions.reorder_items(bank, topic, order=[added.pk, third.pk, second.pk, first.pk], by=by)


def test_the_difference_in_words(bank, first, version, developer):
    change_everything(bank, first, developer)
    [topic] = difference(bank, version, None)
    assert topic.topic == first
    assert sorted(item.change for item in topic.items) == ["added", "retired", "reweighed", "reworded"]
    by_change = {item.change: item for item in topic.items}
    reworded = by_change["reworded"].pieces
    assert reworded[0] == ("same", "Which ")
    assert ("new", "pigment, exactly?") in reworded
    assert by_change["reweighed"].is_reweighed
    assert by_change["retired"].after is None
    backwards = difference(bank, None, version)
    assert sorted(item.change for item in backwards[0].items) == ["added", "retired", "reweighed", "reworded"]
    assert difference(bank, version, version) == []


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("a b", "a b", [("same", "a b")]),
        ("a b c", "a c", [("same", "a "), ("gone", "b "), ("same", "c")]),
        ("", "new words", [("new", "new words")]),
        ("old words", "", [("gone", "old words")]),
        ("", "", []),
    ],
)
def test_words(before, after, pieces):
    assert word_diff(before, after) == pieces


def test_restoring_brings_back_everything(bank, first, developer, owner):
    before = asked(bank)
    version = name_version(bank, name="Before", by=developer)
    change_everything(bank, first, developer)
    assert asked(bank) != before
    assert restore_version(version, seen=bank_stamp(bank), by=owner) == 4
    assert asked(bank) == before
    assert difference(bank, version, None) == []
    item = bank.items.get(pk=before[0][0])
    assert [(change.verb, change.by) for change in item.changes.all()] == [
        ("reworded", owner),
        ("reworded", developer),
    ]
    assert restore_version(version, seen=bank_stamp(bank), by=owner) == 0


def test_restoring_words_that_two_items_exchanged(bank, first, version, developer):
    left, right, _ = items_of(bank, first)
    words = str(left), str(right)
    actions.revise_item(left, text="For a moment", seen=1, by=developer)
    actions.revise_item(right, text=words[0], seen=1, by=developer)
    actions.revise_item(left, text=words[1], seen=2, by=developer)
    restore_version(version, seen=bank_stamp(bank), by=developer)
    left, right, _ = items_of(bank, first)
    assert (str(left), str(right)) == words
    assert not left.is_retired
    assert not right.is_retired


def test_restoring_a_wording_without_text(bank, first, developer):
    item = items_of(bank, first)[0]
    item.revision.text = ""
    item.revision.save()
    version = name_version(bank, name="Before", by=developer)
    actions.revise_item(item, text="Which pigment?", seen=1, by=developer)
    restore_version(version, seen=bank_stamp(bank), by=developer)
    assert held(bank, None)[item.pk].revision_id == version.entries.get(item=item).revision_id


def test_somebody_edits_meanwhile(bank, first, version, developer, owner):
    change_everything(bank, first, developer)
    seen = bank_stamp(bank)
    item = bank.items.for_topic(first).active().first()
    actions.retire_item(item, seen=item.version, by=owner)
    now = asked(bank)
    with pytest.raises(BankMoved):
        restore_version(version, seen=seen, by=developer)
    assert asked(bank) == now


def test_a_conflict_in_the_middle_leaves_nothing_half_done(bank, first, version, developer, monkeypatch):
    change_everything(bank, first, developer)
    now, seen = asked(bank), bank_stamp(bank)
    weigh = actions.weigh_item

    def overtaken(item, **more):
        if item.weight < 0:
            raise EditConflict(item, item.version)
        return weigh(item, **more)

    monkeypatch.setattr(actions, "weigh_item", overtaken)
    with pytest.raises(BankMoved):
        restore_version(version, seen=seen, by=developer)
    assert asked(bank) == now
    assert bank_stamp(bank) == seen


def test_versions_with_how_many_items_they_hold(bank, first, version, developer):
    actions.retire_item(items_of(bank, first)[0], seen=1, by=developer)
    name_version(bank, name="After", by=developer)
    assert [(row.name, row.held) for row in versions(bank)] == [("After", 5), ("Before", 6)]


def test_what_was_tried_is_saved_together(bank, first, developer):
    one, two, three = items_of(bank, first)
    weights = {
        one.pk: ItemWeight(1, True, 0.3),
        two.pk: ItemWeight(1, False, 1.0),
        three.pk: ItemWeight(1, True, 1.0),
    }
    assert settle_items(bank, first, weights=weights, by=developer) == 2
    one, two, three = items_of(bank, first)
    assert (one.weight, two.is_retired, three.version) == (0.3, True, 1)
    weights = {one.pk: ItemWeight(2, False, 1.0), three.pk: ItemWeight(9, True, 2.0)}
    with pytest.raises(EditConflict):
        settle_items(bank, first, weights=weights, by=developer)
    assert not items_of(bank, first)[0].is_retired
