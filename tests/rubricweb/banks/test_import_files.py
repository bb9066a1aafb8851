"""Items from bank files, and those that only graded files know."""

import pytest

from grading.types import ItemKind
from rubricweb.banks import actions
from rubricweb.banks.importers import facet_of
from rubricweb.banks.models import Bank, Item, ItemChange, ItemRevision
from rubricweb.grades.models import Grade
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, database, direct, passage, rated, uid

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def graded(folder):
    """A graded file of two items whose texts it does not know."""
    return folder.graded(passage("d1", rated({uid(FALL): 5, uid(RED): 1})))


def banks():
    """bank -> texts of its items (their ids where unknown), in order."""
    return {
        bank.name: [str(item) for item in bank.items.select_related("revision")]
        for bank in Bank.objects.order_by("name")
    }


def test_items_of_a_bank_file(folder):
    folder.load("--bank", folder.lines("bank.jsonl", bank_line(RED), bank_line(FALL)))
    assert banks() == {"main": [RED, FALL]}
    assert list(Item.objects.values_list("revision__uid", "position", "version")) == [
        (uid(RED), 0, 1),
        (uid(FALL), 1, 1),
    ]
    assert list(ItemChange.objects.values_list("verb", "number")) == [("imported", 1), ("imported", 1)]


def test_ids_that_only_a_graded_file_knows_wait_in_imported(folder, graded):
    folder.load("--graded", graded)
    assert banks() == {"imported": [uid(FALL), uid(RED)]}
    assert set(ItemRevision.objects.values_list("text", flat=True)) == {""}


def test_ids_that_a_bank_knows_do_not_go_to_imported(folder, graded):
    bank = folder.lines("bank.jsonl", bank_line(RED))
    folder.load("--graded", graded, "--bank", bank, "--bank-name", "drafted")
    assert banks() == {"drafted": [RED], "imported": [uid(FALL)]}


def test_a_text_supplied_later_takes_the_item_out_of_imported(folder, graded):
    folder.load("--graded", graded)
    item = Item.objects.get(revision__uid=uid(RED))
    grades = list(Grade.objects.order_by("pk").values())
    imported = folder.load("--bank", folder.lines("bank.jsonl", bank_line("What is frost?", RED)))["counts"]
    assert imported["items"] == {"new": 1, "changed": 1, "unchanged": 0}
    assert imported["revisions"] == {"new": 1, "changed": 1, "unchanged": 0}
    assert banks() == {"imported": [uid(FALL)], "main": ["What is frost?", RED]}
    item.refresh_from_db()
    assert (item.bank.name, item.revision.text, item.version) == ("main", RED, 2)
    assert list(item.changes.values_list("number", "verb")) == [(2, "imported"), (1, "imported")]
    assert list(Grade.objects.order_by("pk").values()) == grades


def test_imported_goes_with_its_last_item(folder, graded):
    folder.load("--graded", graded)
    bank = folder.lines("bank.jsonl", bank_line(RED, FALL))
    folder.load("--bank", bank)
    assert banks() == {"main": [RED, FALL]}
    before = database()
    assert folder.load("--graded", graded, "--bank", bank)["changed"] is False
    assert database() == before


def test_a_bank_file_knows_the_kind_better(folder, graded):
    folder.load("--graded", graded)
    nugget = {"query_id": "t1", "query_text": "why", "items": [{"nugget_id": uid(RED), "nugget_text": RED}]}
    folder.load("--bank", folder.lines("nuggets.jsonl", nugget))
    assert Item.objects.get(revision__uid=uid(RED)).kind == ItemKind.NUGGET


def test_text_for_the_bank_imported_itself(folder, graded):
    folder.load("--graded", graded)
    folder.load("--bank", folder.lines("bank.jsonl", bank_line(RED)), "--bank-name", "imported")
    assert banks() == {"imported": [uid(FALL), RED]}


@pytest.mark.parametrize("change", ["reword", "retire"])
def test_what_people_changed_is_not_brought_back(folder, graded, change):
    bank = folder.lines("bank.jsonl", bank_line(RED))
    folder.load("--graded", graded, "--bank", bank)
    for item in Item.objects.select_related("bank__collection", "topic", "revision"):
        if change == "reword":
            actions.revise_item(item, text=f"Other words {item.pk}?", seen=1, by=None)
        else:
            actions.retire_item(item, seen=1, by=None)
    before = database()
    assert folder.load("--graded", graded, "--bank", bank)["changed"] is False
    assert database() == before


def test_a_second_bank_may_ask_the_same_words(folder):
    bank = folder.lines("bank.jsonl", bank_line(RED))
    folder.load("--bank", bank)
    folder.load("--bank", bank, "--bank-name", "second")
    assert banks() == {"main": [RED], "second": [RED]}
    assert ItemRevision.objects.count() == 1


def test_new_items_follow_the_old_ones(folder):
    folder.load("--bank", folder.lines("bank.jsonl", bank_line(RED)))
    folder.load("--bank", folder.lines("more.jsonl", bank_line(FALL, RED)))
    assert banks() == {"main": [RED, FALL]}


def test_direct_grades_make_no_item_and_ask_the_query(folder):
    graded = folder.graded(passage("d1", labels=[direct(is_relevant=True)]))
    folder.load("--graded", graded)
    assert not Item.objects.exists()
    assert ItemRevision.objects.get().text == ""
    folder.load("--queries", folder.queries())
    assert ItemRevision.objects.get().text == "why leaves turn red"
    folder.load("--queries", folder.queries(t1="why leaves fall"), "--replace")
    assert ItemRevision.objects.get().text == "why leaves fall"
    assert Grade.objects.get().rating == 1


@pytest.mark.parametrize(
    ("item", "facet_id"),
    [
        (uid(RED), ""),
        (uid(RED, facet_id="colour"), "colour"),
        (uid(RED, facet_id="a/b"), "a/b"),
        ("t1/NDQ_1", ""),
        ("t1/colour/NDQ_1", ""),
        (uid(RED, query_id="t11"), ""),
    ],
)
def test_subtopic_in_an_item_id(item, facet_id):
    assert facet_of("t1", item) == facet_id
