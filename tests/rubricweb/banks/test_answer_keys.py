"""Accepted answers of a wording: from files, and changed by people."""

import pytest

from grading.types import ItemKind
from rubricweb.banks import actions
from rubricweb.banks.changes import EditConflict, NoAnswerKey, UnfitAnswerKey
from rubricweb.banks.models import AnswerKey, Item, ItemRevision
from rubricweb.core.models import AuditEntry
from tests.factories import BankFactory, ItemFactory, TopicFactory
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, counts, database, uid

pytestmark = pytest.mark.django_db


@pytest.fixture
def item(collection, developer):
    topic = TopicFactory(collection=collection, query_id="t1")
    bank = BankFactory(collection=collection)
    return actions.add_item(bank, topic, kind=ItemKind.QUESTION, text=RED, by=developer)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def keyed_line(**answers):
    """A bank line of both questions; `red` and `fall` are their accepted answers."""
    line = bank_line(RED, FALL)
    for question, name in zip(line["items"], ("red", "fall"), strict=True):
        if name in answers:
            question["gold_answers"] = answers[name]
    return line


def keys(text=RED):
    return list(AnswerKey.objects.filter(revision__uid=uid(text)).values_list("text", flat=True))


def test_accepted_answers_come_with_a_bank_file_once(folder):
    bank = folder.lines(
        "bank.jsonl", keyed_line(red=["anthocyanin", " the  anthocyanins ", ""], fall=[1816, True])
    )
    imported = folder.load("--bank", bank)["counts"]
    assert (keys(RED), keys(FALL)) == (["anthocyanin", "the anthocyanins"], ["1816", "true"])
    assert imported["answer_keys"] == counts(answer_keys=(4, 0, 0))["answer_keys"]
    before = database()
    assert (
        folder.load("--bank", bank)["counts"]["answer_keys"] == counts(answer_keys=(0, 0, 4))["answer_keys"]
    )
    assert database() == before


def test_a_later_file_adds_accepted_answers(folder):
    folder.load("--bank", folder.lines("bank.jsonl", keyed_line(red=["anthocyanin"])))
    folder.load("--bank", folder.lines("more.jsonl", keyed_line(red=["red pigment"])))
    assert keys() == ["anthocyanin", "red pigment"]


def test_what_a_person_removed_stays_removed(folder, developer, item):
    bank = folder.lines("bank.jsonl", keyed_line(red=["anthocyanin", "carotene"], fall=["autumn"]))
    folder.load("--bank", bank)
    actions.set_answer_keys(item, texts=["anthocyanin"], seen=1, by=developer)
    imported = folder.load("--bank", bank)["counts"]["answer_keys"]
    assert (keys(RED), keys(FALL)) == (["anthocyanin"], ["autumn"])
    assert imported == {"new": 0, "changed": 0, "unchanged": 3}


def test_an_answer_too_long_for_its_column_is_refused_with_its_line(folder, item):
    bank = folder.lines("bank.jsonl", bank_line(FALL), keyed_line(red=["x" * 301]))
    before = database()
    with pytest.raises(Exception, match=r"bank\.jsonl.*2.*an accepted answer has 301 characters"):
        folder.load("--bank", bank)
    assert database() == before


def test_the_list_is_replaced(item, developer):
    actions.set_answer_keys(item, texts=["anthocyanin", "carotene"], seen=1, by=developer)
    kept = AnswerKey.objects.get(text="anthocyanin").pk
    actions.set_answer_keys(
        item, texts=["", "red  pigment", " anthocyanin", "red pigment"], seen=2, by=developer
    )
    assert keys() == ["anthocyanin", "red pigment"]
    assert AnswerKey.objects.get(text="anthocyanin").pk == kept
    assert item.version == 3
    assert [(change.verb, change.by) for change in item.changes.all()[:2]] == [("keyed", developer)] * 2
    assert AuditEntry.objects.filter(verb="item keyed", by=developer).count() == 2


def test_the_same_list_changes_nothing(item, developer):
    actions.set_answer_keys(item, texts=["anthocyanin", "carotene"], seen=1, by=developer)
    before = database()
    actions.set_answer_keys(item, texts=["carotene", "anthocyanin"], seen=1, by=developer)
    assert database() == before


def test_the_second_of_two_writers_gets_a_conflict(item, owner, developer):
    actions.set_answer_keys(Item.objects.get(pk=item.pk), texts=["anthocyanin"], seen=1, by=owner)
    with pytest.raises(EditConflict):
        actions.set_answer_keys(Item.objects.get(pk=item.pk), texts=["carotene"], seen=1, by=developer)
    assert keys() == ["anthocyanin"]


def test_whoever_asks_the_same_words_sees_the_change_in_the_history(item, developer):
    twin = ItemFactory(
        bank=BankFactory(collection=item.bank.collection, name="other"), topic=item.topic, text=RED
    )
    actions.set_answer_keys(item, texts=["anthocyanin"], seen=1, by=developer)
    twin.refresh_from_db()
    assert (twin.version, twin.changes.get().verb) == (2, "keyed")
    with pytest.raises(EditConflict):
        actions.set_answer_keys(twin, texts=["carotene"], seen=1, by=developer)


def test_new_words_have_no_key_and_the_old_ones_keep_theirs(item, developer):
    actions.set_answer_keys(item, texts=["anthocyanin"], seen=1, by=developer)
    actions.revise_item(item, text=FALL, seen=2, by=developer)
    assert (keys(FALL), keys(RED)) == ([], ["anthocyanin"])
    assert not Item.objects.with_answer_key().exists()
    actions.revise_item(item, text=RED, seen=3, by=developer)
    assert Item.objects.with_answer_key().get() == item


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([f"answer {n}" for n in range(21)], "Keep it to 20 answers; these are 21."),
        (["x" * 301], "Keep each answer under 300 characters"),
    ],
)
def test_too_much_is_refused(item, texts, message):
    with pytest.raises(UnfitAnswerKey, match=message):
        actions.set_answer_keys(item, texts=texts, seen=1, by=None)
    assert keys() == []


def test_twenty_answers_fit_with_empty_lines_and_repetitions(item):
    texts = [f"answer {n}" for n in range(20)]
    actions.set_answer_keys(item, texts=[*texts, "", *texts], seen=1, by=None)
    assert keys() == texts


def test_nuggets_and_unknown_words_have_none(item):
    nugget = ItemFactory(bank=item.bank, topic=item.topic, kind="nugget", text=FALL)
    with pytest.raises(NoAnswerKey):
        actions.set_answer_keys(nugget, texts=["autumn"], seen=1, by=None)
    ItemRevision.objects.filter(pk=item.revision_id).update(text="")
    item.refresh_from_db()
    with pytest.raises(NoAnswerKey):
        actions.set_answer_keys(item, texts=["anthocyanin"], seen=1, by=None)
