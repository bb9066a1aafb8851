"""Ratings from snapshots are those of the rows, and never older than these."""

import numpy as np
import pytest

from grading.types import FAILED, MISSING
from rubricweb.corpus.models import Collection, Pooled, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import matrices, store
from rubricweb.grades.models import Grade, MatrixSnapshot
from tests import factories
from tests.worked import Worked, worked


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)


def keep():
    """As workers do: what has not changed between two calls is kept."""
    matrices.keep_snapshots()
    matrices.keep_snapshots()


def read(made, monkeypatch):
    """The matrices by query id, and the topics of which rows were read."""
    asked, from_rows = [], matrices.from_rows

    def recorded(config, topic_ids):
        asked.extend(topic_ids)
        return from_rows(config, topic_ids)

    monkeypatch.setattr(matrices, "from_rows", recorded)
    matrices._cache.clear()
    by_topic = matrices.matrices(made.config, collection_pool(made.collection))
    monkeypatch.undo()
    graded = {topic.pk: query_id for query_id, topic in made.topics.items() if query_id in made.items}
    by_query = {query_id: by_topic[pk].matrix for pk, query_id in graded.items()}
    return by_query, {graded[pk] for pk in asked if pk in graded}


def columns(made, by_query, query_id):
    uids = [item.revision.uid for item in made.items[query_id]]
    return by_query[query_id].columns(uids).ratings.tolist()


def test_ratings_from_snapshots_are_those_of_the_rows(made, monkeypatch):
    rows, _ = read(made, monkeypatch)
    keep()
    kept, from_rows = read(made, monkeypatch)

    assert not from_rows
    assert columns(made, kept, "t1") == [[5, 0], [0, 4], [3, FAILED]]
    for query_id, matrix in kept.items():
        assert matrix.item_ids == rows[query_id].item_ids
        np.testing.assert_array_equal(matrix.ratings, rows[query_id].ratings)


def test_snapshots_do_not_depend_on_the_order_of_topics(made, monkeypatch):
    for topic in made.topics.values():
        Topic.objects.filter(pk=topic.pk).update(position=100 - topic.position)
    rows, _ = read(made, monkeypatch)
    keep()
    kept, from_rows = read(made, monkeypatch)

    assert not from_rows
    assert columns(made, kept, "t1") == columns(made, rows, "t1") == [[5, 0], [0, 4], [3, FAILED]]
    assert columns(made, kept, "t2") == columns(made, rows, "t2")


def test_of_a_topic_with_a_new_grade_the_rows_are_read(made, monkeypatch):
    keep()
    (item,) = made.items["t2"]
    store.remove_grades(made.config, item.topic_id, Grade.objects.filter(passage=made.passages["e1"]))
    kept, from_rows = read(made, monkeypatch)
    assert from_rows == {"t2"}
    assert columns(made, kept, "t2") == [[MISSING], [4]]
    keep()
    kept, from_rows = read(made, monkeypatch)
    assert not from_rows
    assert columns(made, kept, "t2") == [[MISSING], [4]]


def test_what_another_version_packed_is_not_read_and_is_packed_anew(made, monkeypatch):
    monkeypatch.setattr(matrices, "LAYOUT", 0)
    keep()
    monkeypatch.undo()
    _, from_rows = read(made, monkeypatch)
    assert from_rows == {"t1", "t2"}
    keep()
    _, from_rows = read(made, monkeypatch)
    assert not from_rows


def test_while_a_job_writes_nothing_is_kept(made):
    matrices.keep_snapshots()
    for query_id in made.items:
        store.recount(made.config, made.topics[query_id].pk)
    matrices.keep_snapshots()

    assert not MatrixSnapshot.objects.exists()


def test_each_call_keeps_a_part_of_many_grades(made, monkeypatch):
    monkeypatch.setattr(matrices, "KEPT_AT_ONCE", 1)
    keep()
    assert MatrixSnapshot.objects.count() == 1
    matrices.keep_snapshots()
    assert MatrixSnapshot.objects.count() == 2


def test_a_damaged_snapshot_is_not_read(made, monkeypatch):
    keep()
    one, other = MatrixSnapshot.objects.filter(topic__query_id__in=("t1", "t2"))
    MatrixSnapshot.objects.filter(pk=one.pk).update(content=other.content)
    kept, from_rows = read(made, monkeypatch)

    assert from_rows == {one.topic.query_id}
    assert columns(made, kept, "t1") == [[5, 0], [0, 4], [3, FAILED]]


def test_a_snapshot_outlasts_changes_of_the_pool(made, monkeypatch):
    keep()
    Pooled.objects.filter(passage=made.passages["d2"]).delete()
    factories.PooledFactory(
        topic=made.topics["t1"], passage=factories.PassageFactory(collection=made.collection), position=9
    )
    kept, from_rows = read(made, monkeypatch)

    assert not from_rows
    assert columns(made, kept, "t1") == [[5, 0], [3, FAILED], [MISSING, MISSING]]


def test_nothing_is_kept_of_a_collection_that_is_being_deleted(made):
    Collection.objects.update(is_being_deleted=True)
    keep()

    assert not MatrixSnapshot.objects.exists()
