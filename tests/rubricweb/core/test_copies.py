"""Long changes in a copy of a SQLite database: what others see, and what happens if they change the same."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection, transaction

from rubricweb.core import copies
from rubricweb.core.copies import RESERVED, Overtaken
from rubricweb.corpus.models import Collection, Passage, Topic
from tests.factories import CollectionFactory, PassageFactory, TopicFactory

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL locks rows, not the database"),
]


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def stored() -> Collection:
    collection = CollectionFactory(slug="stored")
    TopicFactory(collection=collection, query_id="t1", text="old words")
    TopicFactory(collection=collection, query_id="t2", text="goes")
    return collection


def change(collection: Collection) -> str:
    """Add a topic, reword one and delete one."""
    collection.topics.create(query_id="t3", text="new", position=9)
    collection.topics.filter(query_id="t1").update(text="new words")
    collection.topics.filter(query_id="t2").delete()
    transaction.on_commit(partial(told.append, "changed"))
    return "done"


told: list[str] = []


@pytest.fixture(autouse=True)
def nobody_told() -> None:
    told.clear()


def topics() -> dict[str, str]:
    return dict(Topic.objects.values_list("query_id", "text"))


def test_nothing_is_there_before_it_is_taken_over_and_then_all(stored):
    with copies.changes_of(partial(change, stored)) as (result, changes):
        assert result == "done"
        assert topics() == {"t1": "old words", "t2": "goes"}
        assert told == []
        with changes.taken_over():
            Collection.objects.filter(pk=stored.pk).update(name="Taken over")
        assert topics() == {"t1": "new words", "t3": "new"}
    assert told == ["changed"]
    assert Collection.objects.get().name == "Taken over"


def test_what_is_not_taken_over_never_happened(stored, data_dir):
    with copies.changes_of(partial(change, stored)):
        pass
    assert topics() == {"t1": "old words", "t2": "goes"}
    assert told == []
    assert list(data_dir.iterdir()) == []


def test_an_error_in_the_block_takes_nothing_over(stored):
    with (
        pytest.raises(ZeroDivisionError),
        copies.changes_of(partial(change, stored)) as (_, changes),
        changes.taken_over(),
    ):
        raise ZeroDivisionError
    assert topics() == {"t1": "old words", "t2": "goes"}
    assert told == []


def test_an_error_of_the_work_leaves_the_usual_database(stored, data_dir):
    def fails() -> None:
        change(stored)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), copies.changes_of(fails):
        pass
    assert topics() == {"t1": "old words", "t2": "goes"}
    assert list(data_dir.iterdir()) == []


def test_what_others_add_meanwhile_stays_beside_it(stored):
    with copies.changes_of(partial(change, stored)) as (_, changes):
        theirs = TopicFactory(collection=stored, query_id="t4", text="theirs")
        with changes.taken_over():
            pass
    assert topics() == {"t1": "new words", "t3": "new", "t4": "theirs"}
    assert theirs.pk > Topic.objects.get(query_id="t3").pk + RESERVED - 100


@pytest.mark.parametrize(
    "theirs",
    [
        lambda: Topic.objects.filter(query_id="t1").update(text="their words"),
        lambda: Topic.objects.filter(query_id="t1").delete(),
        lambda: Topic.objects.filter(query_id="t2").update(text="their words"),
        lambda: Topic.objects.get(query_id="t2").subtopics.create(facet_id="f", position=0),
        lambda: TopicFactory(collection=Collection.objects.get(), query_id="t3", text="their topic"),
        lambda: Collection.objects.get().delete(),
    ],
    ids=["reworded", "deleted", "reworded-deleted", "hung-on-deleted", "same-added", "parent-deleted"],
)
def test_what_others_changed_meanwhile_is_never_overwritten(stored, theirs):
    with copies.changes_of(partial(change, stored)) as (_, changes):
        theirs()
        after = topics()
        with pytest.raises(Overtaken), changes.taken_over():
            pass
    assert topics() == after
    assert told == []


def test_the_work_can_be_done_again_after_it_was_overtaken(stored):
    with copies.changes_of(partial(change, stored)) as (_, changes):
        Topic.objects.filter(query_id="t1").update(text="their words")
        with pytest.raises(Overtaken), changes.taken_over():
            pass
    with copies.changes_of(partial(change, stored)) as (_, changes), changes.taken_over():
        pass
    assert topics() == {"t1": "new words", "t3": "new"}


def test_keys_go_on_after_several(stored):
    for number in range(3):
        work = partial(PassageFactory, collection=stored, doc_id=f"d{number}")
        with copies.changes_of(work) as (_, changes), changes.taken_over():
            pass
        PassageFactory(collection=stored, doc_id=f"between{number}")
    assert Passage.objects.count() == 6
    keys = list(Passage.objects.order_by("pk").values_list("pk", flat=True))
    assert keys == list(range(keys[0], keys[0] + 6))


def test_a_transaction_needs_no_copy(stored):
    assert copies.are_possible()
    with transaction.atomic():
        assert not copies.are_possible()


def test_rows_go_in_after_those_that_they_refer_to():
    models = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    order = copies.parents_first(models)

    assert sorted(order, key=str) == sorted(models, key=str)
    for place, model in enumerate(order):
        targets = {field.related_model for field in model._meta.concrete_fields} - {None, model}
        assert targets <= set(order[:place])
