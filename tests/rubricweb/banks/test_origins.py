"""Where words come from, and items that are merged."""

import pytest

from grading.types import Importance, ItemKind
from rubricweb.banks import actions
from rubricweb.banks.actions import quoted
from rubricweb.banks.changes import DuplicateItem, EditConflict, UnfitMerge, UnfitSpan
from rubricweb.banks.models import ItemSource
from tests.factories import ItemFactory, PassageFactory, TopicFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection)


@pytest.fixture
def passage(collection):
    return PassageFactory(
        collection=collection, doc_id="d1", text="Frost kills\nleaves, and dulls  their colour."
    )


def test_spans_stand_in_the_passage_but_for_white_space(passage):
    origin = quoted(passage, ["kills leaves,", "  ", "dulls their\tcolour", "kills  leaves,"])
    assert origin.spans == ("kills leaves,", "dulls their colour")
    for wrong in (["kills trees"], ["Kills"], [str(n) for n in range(11)], ["x" * 2_001]):
        with pytest.raises(UnfitSpan):
            quoted(passage, wrong)


def test_an_item_keeps_its_passage_and_spans(bank, topic, passage, developer):
    first = quoted(passage, ["Frost kills leaves"])
    item = actions.add_item(
        bank, topic, kind=ItemKind.QUESTION, text="What does frost do?", by=developer, origin=first
    )
    second = quoted(passage, ["dulls their colour"])
    actions.revise_item(item, text="Does frost dull leaves?", seen=1, by=developer, origin=second)
    actions.revise_item(item, text="Does frost dull leaves?", seen=2, by=developer, origin=first)
    actions.revise_item(item, text="Is frost bad?", seen=2, by=developer)
    sources = ItemSource.objects.filter(change__item=item).order_by("change__number")
    assert [(source.change.number, source.passage.doc_id, source.spans) for source in sources] == [
        (1, "d1", ["Frost kills leaves"]),
        (2, "d1", ["dulls their colour"]),
    ]


@pytest.fixture
def twins(bank, topic):
    return [ItemFactory(bank=bank, topic=topic, text=text) for text in ("Is it red?", "Is it red, then?")]


def test_merging_retires_with_a_pointer_and_restoring_takes_it_back(twins, developer):
    keep, duplicate = twins
    actions.merge_items(keep, duplicate, seen=1, by=developer)
    duplicate.refresh_from_db()
    assert (duplicate.is_retired, duplicate.merged_into) == (True, keep)
    assert [(c.verb, c.detail) for c in duplicate.changes.all()] == [("retired", "duplicate of: Is it red?")]
    actions.restore_item(duplicate, seen=2, by=developer)
    duplicate.refresh_from_db()
    assert (duplicate.is_retired, duplicate.merged_into) == (False, None)


def test_what_cannot_be_merged(twins, bank, topic, developer):
    keep, duplicate = twins
    nugget = ItemFactory(bank=bank, topic=topic, kind="nugget", text="It is red")
    elsewhere = ItemFactory(bank=bank, topic=TopicFactory(collection=bank.collection), text="Is it red?")
    for item, other in ((keep, keep), (keep, nugget), (elsewhere, keep)):
        with pytest.raises(UnfitMerge):
            actions.merge_items(item, other, seen=1, by=developer)
    actions.weigh_item(duplicate, importance=Importance.OKAY, seen=1, by=developer)
    with pytest.raises(EditConflict):
        actions.merge_items(keep, duplicate, seen=1, by=developer)
    actions.retire_item(keep, seen=1, by=developer)
    with pytest.raises(UnfitMerge):
        actions.merge_items(keep, duplicate, seen=2, by=developer)
    duplicate.refresh_from_db()
    assert not duplicate.is_retired


def test_an_old_wording_is_used_again_even_without_its_text(twins, developer):
    first, second = twins
    second.revision.text = ""
    second.revision.save()
    with pytest.raises(DuplicateItem):
        actions.reuse_wording(first, second.revision, seen=1, by=developer)
    actions.retire_item(second, seen=1, by=developer)
    actions.reuse_wording(first, second.revision, seen=1, by=developer)
    first.refresh_from_db()
    assert (first.revision, first.version) == (second.revision, 2)
