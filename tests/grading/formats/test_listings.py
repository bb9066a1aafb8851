"""Listings of the Workbench, where its own output in fixtures/formats does not show the rule.

tests/rubricweb/exports/test_listings.py compares whole files with that output.
"""

from grading.formats import registry
from grading.formats.listings import (
    ListedItem,
    ListedPassage,
    RatedTopic,
    SpuriousTopic,
    grid_lines,
    spurious_lines,
    uncovered_lines,
    verify_lines,
)
from grading.types import FAILED, MISSING, ItemKind

WHO = ListedItem("t1/5d41402abc4b2a76b9719d911017c592", "Who?")
FACT = ListedItem("t1/7d793037a0760186574b0282f2f435e7", "Bees dance", ItemKind.NUGGET)


def test_cells_without_a_rating_are_minus_one_also_where_grading_failed():
    passages = (
        ListedPassage("d1", "One.", (FAILED,), ("a",)),
        ListedPassage("d2", "Two.", (MISSING,), ("b",)),
    )
    topic = RatedTopic("t1", (WHO,), passages)
    rows = "".join(grid_lines([topic])).splitlines()[4:]
    assert rows == ["t1,d1,One.,-1,a", "t1,d2,Two.,-1,b"]
    assert "Who?\t d1\t -1 \t a\nWho?\t d2\t -1 \t b\n" in "".join(verify_lines([topic]))


def test_an_item_without_answers_has_an_empty_line():
    topic = RatedTopic("t1", (WHO,), (ListedPassage("d1", "One.", (4,), ("",)),))
    assert "".join(verify_lines([topic])) == f"\n{WHO.item_id}\nWho?\n\n\n\n"


def test_topics_without_items_or_passages_are_not_in_the_grid():
    empty = [RatedTopic("t1", (), (ListedPassage("d1", "One."),)), RatedTopic("t2", (WHO,), ())]
    assert list(grid_lines(empty)) == []
    assert list(uncovered_lines([])) == ["relevant passages without any high self-ratings:\n"]


def test_nuggets_come_first_without_text_and_twenty_of_a_kind_are_named():
    many = [(ListedItem(f"t1/{n}", ""), 30 - n) for n in range(25)]
    lines = "".join(spurious_lines([SpuriousTopic([*many, (FACT, 2)])])).splitlines()
    assert lines[1] == f"{FACT.item_id}\t 2"
    assert lines[3:] == [f"t1/{n}\t {30 - n}" for n in range(20)] + [""]


def test_the_registry_writes_them(tmp_path):
    path = tmp_path / "listing"
    registry.find("workbench-bad-question").write(path, [SpuriousTopic([(WHO, 3)])])
    assert path.read_text().splitlines()[2] == f"{WHO.item_id}\t 3\tWho?"
    assert [one.name for one in registry.candidates(path)] == ["workbench-bad-question"]
