"""Actions on a bank: what they refuse, and that nothing is lost."""

import pytest

from grading.types import ItemKind, item_id
from rubricweb.banks import actions, selectors
from rubricweb.banks.changes import DuplicateItem, EditConflict, WrongText
from rubricweb.banks.models import Item
from rubricweb.core.models import AuditEntry
from tests.factories import ItemFactory, ItemRevisionFactory

WORDS = "Which pigment makes leaves red?"


def texts(bank, topic, kind="question"):
    items = bank.items.active().for_topic(topic).filter(kind=kind)
    return [item.revision.text for item in items.select_related("revision")]


def ask(bank, topic, text, by=None, kind=ItemKind.QUESTION):
    return actions.add_item(bank, topic, kind=kind, text=text, by=by)


def test_the_same_words_cannot_be_asked_twice_but_as_the_other_kind(bank, topic):
    first = ask(bank, topic, WORDS)
    with pytest.raises(DuplicateItem) as refusal:
        ask(bank, topic, f"  {WORDS} ")
    assert refusal.value.twin == first
    assert ask(bank, topic, WORDS, kind=ItemKind.NUGGET).revision == first.revision


def test_a_twin_that_comes_between_the_check_and_the_write_is_refused_too(bank, topic, monkeypatch):
    ask(bank, topic, WORDS)
    checks = []
    check = actions._refuse_twin
    monkeypatch.setattr(
        actions, "_refuse_twin", lambda *of: checks.append(of) or (len(checks) > 1 and check(*of))
    )
    with pytest.raises(DuplicateItem):
        ask(bank, topic, WORDS)
    assert len(checks) == 2
    assert texts(bank, topic) == [WORDS]


def test_the_second_of_two_writers_gets_a_conflict_and_the_first_is_kept(bank, topic, developer, owner):
    item = ask(bank, topic, WORDS, by=owner)
    actions.revise_item(Item.objects.get(pk=item.pk), text="Why red?", seen=1, by=owner)
    with pytest.raises(EditConflict) as conflict:
        actions.revise_item(Item.objects.get(pk=item.pk), text="Why not green?", seen=1, by=developer)
    assert conflict.value.item.revision.text == "Why red?"
    assert [change.revision.text for change in selectors.history(item)] == ["Why red?", WORDS]
    assert not item.topic.revisions.filter(text="Why not green?").exists()


def test_retiring_twice_is_one_change_and_restoring_brings_the_words_back(bank, topic, developer):
    item = ask(bank, topic, WORDS, by=developer)
    actions.retire_item(item, seen=1, by=developer)
    actions.retire_item(item, seen=1, by=developer)
    assert item.version == 2
    actions.restore_item(item, seen=2, by=developer)
    assert [change.verb for change in selectors.history(item)] == ["restored", "retired", "added"]
    assert texts(bank, topic) == [WORDS]


def test_a_retired_item_whose_words_are_asked_again_cannot_come_back(bank, topic, developer):
    item = ask(bank, topic, WORDS)
    actions.retire_item(item, seen=1, by=developer)
    ask(bank, topic, WORDS)
    with pytest.raises(DuplicateItem):
        actions.restore_item(item, seen=2, by=developer)
    item.refresh_from_db()
    assert item.is_retired


@pytest.mark.parametrize(
    ("place", "order"),
    [(0, ["c", "a", "b"]), (1, ["a", "c", "b"]), (2, ["a", "b", "c"]), (9, ["a", "b", "c"])],
)
def test_an_item_moves_among_its_fellows_only(bank, topic, developer, place, order):
    ask(bank, topic, "first nugget", kind=ItemKind.NUGGET)
    items = [ask(bank, topic, text) for text in ("a", "b", "gone")]
    ask(bank, topic, "last nugget", kind=ItemKind.NUGGET)
    items.append(ask(bank, topic, "c"))
    actions.retire_item(items[2], seen=1, by=developer)
    actions.move_item(items[3], place=place, by=developer)
    assert texts(bank, topic) == order
    assert texts(bank, topic, kind="nugget") == ["first nugget", "last nugget"]
    everything = [item.revision.text for item in selectors.topic_items(bank, topic)]
    assert [everything.index(text) for text in ("first nugget", "gone", "last nugget")] == [0, 3, 4]


def test_a_retired_item_does_not_move(bank, topic, developer):
    items = [ask(bank, topic, text) for text in ("a", "b")]
    actions.retire_item(items[1], seen=1, by=developer)
    actions.move_item(items[1], place=0, by=developer)
    assert not AuditEntry.objects.filter(verb="item moved").exists()


def test_the_words_behind_an_id_are_kept_only_if_their_md5_is_the_ids(bank, topic, developer):
    unknown = ItemRevisionFactory(topic=topic, uid=item_id("q1", WORDS), text="")
    item = ItemFactory(bank=bank, topic=topic, revision=unknown)
    with pytest.raises(WrongText):
        actions.supply_text(item, text=WORDS.lower(), by=developer)
    unknown.refresh_from_db()
    assert unknown.text == ""
    actions.supply_text(item, text=f" {WORDS}\n", by=developer)
    unknown.refresh_from_db()
    assert unknown.text == WORDS
    assert AuditEntry.objects.get(verb="text supplied").by == developer


def test_an_id_without_an_md5_never_matches(bank, topic, developer):
    named = ItemRevisionFactory(topic=topic, uid="q1/seven", text="")
    with pytest.raises(WrongText):
        actions.supply_text(ItemFactory(bank=bank, topic=topic, revision=named), text=WORDS, by=developer)
