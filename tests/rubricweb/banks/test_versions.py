"""Naming versions of a bank, and the weights of its items."""

import pytest

from grading.types import Importance
from rubricweb.banks import actions
from rubricweb.banks.changes import EditConflict, UnfitVersion, UnfitWeight
from rubricweb.banks.versions import name_version
from tests.factories import gradable

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, items=2)


def test_a_version_keeps_what_the_bank_held(bank, developer):
    reworded, retired, *_ = bank.items.all()
    before = {item.pk: item.revision_id for item in bank.items.all()}
    actions.weigh_item(reworded, importance=Importance.OKAY, seen=1, by=developer)
    version = name_version(bank, name=" As  published ", note="For the notebook.", by=developer)
    actions.revise_item(reworded, text="Is it red?", seen=2, by=developer)
    actions.retire_item(retired, seen=1, by=developer)

    assert (version.number, version.name) == (1, "As published")
    assert {entry.item_id: entry.revision_id for entry in version.entries.all()} == before
    assert sorted(version.entries.values_list("weight", flat=True)) == [0.5, 1.0, 1.0, 1.0]
    assert name_version(bank, name="Later", by=developer).entries.count() == 3


@pytest.mark.parametrize("name", ["", "   ", "x" * 121, "As published"])
def test_a_version_needs_a_name_of_its_own(bank, developer, name):
    name_version(bank, name="As published", by=developer)
    with pytest.raises(UnfitVersion):
        name_version(bank, name=name, by=developer)
    assert bank.versions.count() == 1


def test_a_weight_is_remembered_in_the_history(bank, developer):
    item = bank.items.first()
    actions.weigh_item(item, importance=Importance.AVOID, seen=1, by=developer)
    actions.weigh_item(item, importance=Importance.VITAL, weight=2.5, seen=2, by=developer)
    actions.weigh_item(item, importance=Importance.VITAL, weight=2.5, seen=3, by=developer)
    assert [(c.number, c.verb, c.detail) for c in item.changes.all()] == [
        (3, "weighed", "vital, weight 2.5"),
        (2, "weighed", "avoid, weight -1"),
    ]


def test_two_weights_at_once_are_a_conflict(bank, developer):
    item = bank.items.first()
    actions.weigh_item(item, importance=Importance.OKAY, seen=1, by=developer)
    with pytest.raises(EditConflict):
        actions.weigh_item(item, importance=Importance.AVOID, seen=1, by=developer)
    item.refresh_from_db()
    assert item.importance == Importance.OKAY


@pytest.mark.parametrize("weight", [10.5, -11, float("nan")])
def test_a_weight_stays_in_its_range(bank, developer, weight):
    with pytest.raises(UnfitWeight, match="between -10 and 10"):
        actions.weigh_item(
            bank.items.first(), importance=Importance.VITAL, weight=weight, seen=1, by=developer
        )
