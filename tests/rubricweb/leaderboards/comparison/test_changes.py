"""What moved, and why: parts that sum to the difference, down to the cells."""

from itertools import product
from random import Random
from types import SimpleNamespace

import pytest

from grading.types import ItemKind
from rubricweb.banks.actions import revise_item
from rubricweb.banks.versions import name_version
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.store import save_grades
from rubricweb.leaderboards.board import BoardSpec
from rubricweb.leaderboards.board.certainty import scored_board
from rubricweb.leaderboards.comparison.changes import CellChange, explained, is_exact, moved_rows
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

BOTH = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
NAMES = ("rubric_cover", "weighted_cover", "normalised_cover", "P_2", "ndcg_cut_10", "alpha_ndcg")


def made_of(made, measure=None, **parts):
    spec = BoardSpec(
        made.collection, parts.pop("config", made.config), made.bank, BOTH, measure or MeasureSpec(), **parts
    )
    return scored_board(spec)


def test_two_thresholds(made):
    before, after = made_of(made, MeasureSpec(min_grade=5)), made_of(made)
    found = {row.run_tag: row for row in moved_rows(before, after)}
    assert (found["both"].before, found["both"].after) == (0.25, 1)
    assert (found["stray"].rank_before, found["stray"].rank_after, found["stray"].rose) == (3, 2, 1)
    why = explained(before, after, "both")
    assert [(row.query_id, row.cause, row.contribution) for row in why] == [
        ("t2", "gained", 0.5),
        ("t1", "gained", 0.25),
    ]
    assert why[0].cells == (CellChange("e2", made.passages["e2"].pk, 4, 4),)
    assert why[1].item_id == made.items["t1"][1].pk


@pytest.mark.parametrize("name", NAMES)
def test_parts_sum_to_the_difference(made, name):
    other = imported_config("m", "SelfRated", "rate")
    for query_id, doc_id, rating in (("t1", "d1", 2), ("t1", "d3", 5), ("t2", "e1", 5)):
        factories.grade(other, made.items[query_id][0], made.passages[doc_id], rating)
    before, after = made_of(made, MeasureSpec(name)), made_of(made, MeasureSpec(name), config=other)
    for row in moved_rows(before, after):
        parts = explained(before, after, row.run_tag)
        assert sum(part.contribution for part in parts) == pytest.approx(row.difference)


def test_a_reworded_item_is_one_change(made, owner):
    version = name_version(made.bank, name="first", by=owner)
    item = made.items["t2"][0]
    revise_item(item, text="What makes bread rise?", seen=item.version, by=owner)
    before, after = made_of(made, version=version), made_of(made)
    (row,) = explained(before, after, "both")
    assert (row.cause, row.item_id, row.contribution) == ("reworded", item.pk, -0.5)
    assert row.text == "What makes bread rise?"
    assert explained(before, made_of(made, version=version), "both") == []
    factories.grade(made.config, item, made.passages["e2"], 5)
    assert [row.query_id for row in explained(before, made_of(made), "both")] == []


def test_labels_are_told_by_topic(made):
    before, after = made_of(made, MeasureSpec("P_2", min_grade=5)), made_of(made, MeasureSpec("P_2"))
    assert not is_exact(before, after)
    why = {row.query_id: row for row in explained(before, after, "both")}
    assert why["t2"].contribution == pytest.approx(0.25)
    assert why["t2"].cells == (CellChange("e2", made.passages["e2"].pk, 4, 4),)


@pytest.fixture
def noisy(collection):
    """Six runs, 20 topics: by another grader the last run is best on each; the others differ by chance."""
    bank = factories.gradable(collection, topics=20, passages=6, items=4)
    ours, theirs = factories.lexical_config(), imported_config("m", "SelfRated", "rate")
    runs = [factories.RunFactory(collection=collection) for _ in range(6)]
    random, rows = Random(3), []
    for topic in collection.topics.all():
        items, pool = list(bank.items.filter(topic=topic)), [pooled.passage for pooled in topic.pool.all()]
        for place, (run, passage) in enumerate(zip(runs, pool, strict=True)):
            factories.RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id])
            for item, (config, last) in product(items, ((ours, 0), (theirs, 5))):
                rating = random.choice((0, 5)) if place < 5 else last
                cell = {"topic": topic, "revision": item.revision, "passage": passage}
                rows.append(Grade(config=config, **cell, rating=rating, outcome="numeric"))
    for config in (ours, theirs):
        save_grades(config, [row for row in rows if row.config == config])
    return SimpleNamespace(collection=collection, bank=bank, config=ours, other=theirs, last=runs[5].run_tag)


def test_moves_that_the_topics_support_are_told_from_noise(noisy):
    rows = moved_rows(made_of(noisy), made_of(noisy, config=noisy.other))
    found = {row.run_tag: row for row in rows}

    sure = found[noisy.last]
    assert (sure.rank_before, sure.rank_after, sure.is_sure) == (6, 1, True)
    assert (sure.possible_before, sure.possible_after) == ((6, 6), (1, 1))
    others = [row for row in rows if row.run_tag != noisy.last]
    assert sum(row.rose != 0 for row in others) == 5
    assert not any(row.is_sure and row.rose > 0 for row in others)
    assert {row.possible_before for row in others} == {(1, 5)}


def test_the_page_says_which_moves_are_more_than_noise(noisy, developer, client_of):
    address = {"grader": noisy.other.pk, "then_grader": noisy.config.pk}
    page = client_of(developer).get("/collections/autumn/leaderboards/compare/", address)

    assert "2 of them clearly" in markup(page)
    moved = {cells[0].text: cells for cells in page.context["sheet"].rows}
    assert [cell.text for cell in moved[noisy.last][1:6]] == ["6", "6", "1", "1", "up 5"]
    assert moved[noisy.last][5].mark
