"""Saving grades: once a cell, stamps that move, and failed grades that give way."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from grading.types import FAILED, Outcome
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import store
from rubricweb.grades.matrices import topic_grades
from rubricweb.grades.models import Grade, MatrixStamp
from rubricweb.grades.store import GradeRow
from tests.factories import gradable, lexical_config

TEXT = "Anthocyanins, 100 %: «rouge» {red} \\ 'quoted' \N{MAPLE LEAF}"


@pytest.fixture
def cells(collection):
    """15 cells of one topic: (topic, revision, passage)."""
    bank = gradable(collection, topics=1, passages=5, items=3)
    return [
        (item.topic_id, item.revision_id, row.passage_id)
        for item in bank.items.all()
        for row in item.topic.pool.all()
    ]


def rows(cells, **values) -> list[GradeRow]:
    return [GradeRow(*cell, **({"rating": 3, "outcome": "numeric"} | values)) for cell in cells]


def failed(cells) -> list[GradeRow]:
    return rows(cells, rating=None, outcome="failed", reply="no digit", error_class="parse")


def stamp() -> tuple[int, int]:
    return MatrixStamp.objects.values_list("number", "grades").get()


def test_every_column_arrives(cells):
    given = rows(
        cells[:1],
        answer=TEXT,
        reply=TEXT,
        confidence=0.25,
        expectation=3.5,
        context_chars=80,
        outcome="defaulted",
    )
    assert store.save_grades(lexical_config(), given) == 1
    kept = Grade.objects.get()
    assert (kept.rating, kept.outcome, kept.answer, kept.reply) == (3, "defaulted", TEXT, TEXT)
    assert (kept.confidence, kept.expectation, kept.context_chars) == (0.25, 3.5, 80)
    assert (kept.attempts, kept.error_class, kept.job) == (1, "", None)
    assert (kept.topic_id, kept.revision_id, kept.passage_id) == cells[0]
    kept.refresh_from_db()
    assert kept.at.tzinfo is not None


def test_a_cell_keeps_its_first_grade_and_the_stamp_counts_new_ones(cells):
    assert store.save_grades(lexical_config(), rows(cells[:4])) == 4
    number, grades = stamp()
    assert grades == 4
    assert store.save_grades(lexical_config(), rows(cells[2:7], rating=5)) == 3
    assert sorted(Grade.objects.values_list("rating", flat=True)) == [3] * 4 + [5] * 3
    moved, counted = stamp()
    assert moved != number
    assert counted == 7


def test_a_cell_twice_in_one_batch_is_saved_once(cells):
    assert store.save_grades(lexical_config(), rows(cells[:2]) + rows(cells[:1], rating=0)) == 2
    assert stamp()[1] == 2


def test_new_grades_of_an_import_keep_what_there_is(cells):
    config, topic_id = lexical_config(), cells[0][0]
    new = [(*cell[1:], 3, "numeric", "", TEXT) for cell in cells]
    assert store.save_new_grades(config, topic_id, new[:4]) == 4
    again = [(*cell[1:], None, "failed", TEXT, "no digit") for cell in cells[2:7]]
    assert store.save_new_grades(config, topic_id, again) == 3
    kept = Grade.objects.order_by("pk").values_list("rating", "outcome", "answer", "reply", "error_class")
    assert list(kept) == [(3, "numeric", "", TEXT, "")] * 4 + [(None, "failed", TEXT, "no digit", "")] * 3
    assert stamp()[1] == 7


def test_a_cell_twice_in_one_import_is_saved_once(cells):
    new = [(*cell[1:], rating, "numeric", "", "") for cell, rating in ((cells[0], 1), (cells[0], 5))]
    assert store.save_new_grades(lexical_config(), cells[0][0], new) == 1
    assert Grade.objects.get().rating == 1
    assert stamp()[1] == 1


def test_nothing_to_save_moves_nothing(cells):
    assert store.save_grades(lexical_config(), []) == 0
    assert not MatrixStamp.objects.exists()


def test_more_rows_than_a_statement_takes_variables(collection):
    bank = gradable(collection, topics=1, passages=300, items=4)
    items, pool = list(bank.items.all()), list(collection.topics.get().pool.all())
    many = [(item.topic_id, item.revision_id, row.passage_id) for item in items for row in pool]
    assert store.save_grades(lexical_config(), rows(many)) == 1_200
    assert Grade.objects.count() == stamp()[1] == 1_200


def test_failed_grades_give_way_to_new_ones(cells, collection):
    config = lexical_config()
    store.save_grades(config, failed(cells[:2]))
    before = topic_grades(config, collection_pool(collection), cells[0][0])
    assert (before.matrix.ratings == FAILED).sum() == 2
    assert store.replace_failed(config, rows(cells[:1], rating=5)) == 1
    assert store.replace_failed(config, failed(cells[1:2])) == 1
    assert list(Grade.objects.order_by("pk").values_list("rating", "outcome", "attempts", "error_class")) == [
        (5, Outcome.NUMERIC, 2, ""),
        (None, Outcome.FAILED, 2, "parse"),
    ]
    after = topic_grades(config, collection_pool(collection), cells[0][0])
    assert (after.matrix.ratings == FAILED).sum() == 1
    assert stamp()[1] == 2


def test_a_rating_never_gives_way(cells):
    store.save_grades(lexical_config(), rows(cells[:1], rating=2))
    assert store.replace_failed(lexical_config(), rows(cells[:1], rating=5)) == 0
    assert store.replace_failed(lexical_config(), failed(cells[:1])) == 0
    assert Grade.objects.values_list("rating", "attempts").get() == (2, 1)


def test_a_retry_of_a_cell_without_a_grade_makes_one(cells):
    assert store.replace_failed(lexical_config(), rows(cells[:1])) == 1
    assert (Grade.objects.count(), stamp()[1]) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_writers_of_the_same_cells_in_another_order_take_turns(collection):
    bank = gradable(collection, topics=2, passages=20, items=3)
    cells = [
        (item.topic_id, item.revision_id, row.passage_id)
        for item in bank.items.all()
        for row in item.topic.pool.all()
    ]
    config, gate, new, errors = lexical_config(), threading.Barrier(4), [], []

    def write(given) -> None:
        try:
            gate.wait(timeout=10)
            new.append(store.save_grades(config, rows(given)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test shows it
            errors.append(error)
        finally:
            connection.close()

    writers = [
        threading.Thread(target=write, args=(some,)) for some in (cells, cells[::-1], cells, cells[30:])
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(timeout=60)
    assert errors == []
    assert sum(new) == Grade.objects.count() == len(cells)
    assert sum(MatrixStamp.objects.values_list("grades", flat=True)) == len(cells)
