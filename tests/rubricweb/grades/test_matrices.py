"""Ratings as arrays: every cell in its place, and the cache never older than the grades."""

import pytest

from grading.types import ANSWERED, FAILED, MISSING
from rubricweb.banks import actions
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import matrices as matrix_module
from rubricweb.grades.matrices import matrices, topic_grades
from rubricweb.grades.models import Grade
from tests import factories
from tests.worked import Worked, worked


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)


def grades_of(made, query_id):
    return matrices(made.config, collection_pool(made.collection))[made.topics[query_id].pk]


def ratings_of(made, query_id):
    uids = [item.revision.uid for item in made.items[query_id]]
    return grades_of(made, query_id).matrix.columns(uids).ratings.tolist()


def test_each_rating_is_in_its_cell_and_a_failed_one_is_no_rating(made):
    assert ratings_of(made, "t1") == [[5, 0], [0, 4], [3, FAILED]]
    assert ratings_of(made, "t2") == [[2], [4]]


@pytest.mark.parametrize(("most", "queries"), [(1_000_000, 1), (1, 2)])
def test_rows_of_many_grades_are_read_some_topics_at_a_time(made, monkeypatch, most, queries):
    read, groups = matrix_module.from_rows, []
    monkeypatch.setattr(matrix_module, "READ_AT_ONCE", most)
    monkeypatch.setattr(
        matrix_module, "from_rows", lambda config, ids: groups.append(ids) or read(config, ids)
    )

    assert ratings_of(made, "t1") == [[5, 0], [0, 4], [3, FAILED]]
    assert ratings_of(made, "t2") == [[2], [4]]
    assert len(groups) == queries
    assert sorted(pk for group in groups for pk in group) == sorted(made.topics[t].pk for t in ("t1", "t2"))


def test_a_topic_without_grades_has_no_columns(made):
    assert grades_of(made, "t3").matrix.ratings.shape == (1, 0)


def test_an_item_that_nobody_graded_is_missing(made):
    item = actions.add_item(made.bank, made.topics["t2"], kind="question", text="What feeds yeast?", by=None)
    made.items["t2"].append(item)

    assert ratings_of(made, "t2") == [[2, MISSING], [4, MISSING]]


def test_a_new_grade_is_seen_at_once_and_other_topics_stay_cached(made):
    before = grades_of(made, "t1")
    assert ratings_of(made, "t2") == [[2], [4]]
    item = actions.add_item(made.bank, made.topics["t2"], kind="question", text="What feeds yeast?", by=None)
    made.items["t2"].append(item)
    factories.grade(made.config, item, made.passages["e1"], 3)

    assert ratings_of(made, "t2") == [[2, 3], [4, MISSING]]
    assert grades_of(made, "t1") is before


def test_an_extracted_answer_is_neither_a_rating_nor_missing(made):
    Grade.objects.filter(passage=made.passages["e1"]).update(outcome="extracted", rating=None)

    assert ratings_of(made, "t2") == [[ANSWERED], [4]]


def test_a_graded_passage_outside_the_pool_is_left_out(made):
    stranger = factories.PassageFactory(collection=made.collection, doc_id="stranger")
    factories.grade(made.config, made.items["t2"][0], stranger, 5)

    assert ratings_of(made, "t2") == [[2], [4]]


def test_all_topics_take_four_queries_and_then_one(made, django_assert_num_queries):
    pool = collection_pool(made.collection)
    with django_assert_num_queries(4):
        matrices(made.config, pool)
    with django_assert_num_queries(1):
        matrices(made.config, pool)


def test_one_topic_is_the_same_object(made):
    pool = collection_pool(made.collection)
    topic_id = made.topics["t1"].pk

    assert topic_grades(made.config, pool, topic_id) is matrices(made.config, pool)[topic_id]
