"""Queries that are compiled once give the rows that they would give compiled anew."""

from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.test.utils import CaptureQueriesContext

from rubricweb.banks.models import AnswerKey, ItemRevision
from rubricweb.banks.secrecy import compiled_readable
from rubricweb.core.compiled import LONGEST, compiled_once
from rubricweb.core.reader import NoReader, Reader, reading_as
from rubricweb.corpus.models import Topic
from rubricweb.grades.human_models import HumanGrade

pytestmark = pytest.mark.django_db


def of(collection: int, query_id: str) -> QuerySet[Topic]:
    topics = Topic.objects.select_for_update(of=("self",)).select_related("collection")
    return topics.filter(collection=collection, query_id=query_id)


def by_uid(uid: UUID, person: int) -> QuerySet[HumanGrade]:
    return HumanGrade.objects.filter(Q(uid=uid), by=person).values_list("uid", "by")


@transaction.atomic
def test_each_call_has_its_own_values(collection):
    rows = compiled_once(of)
    topics = [collection.topics.create(query_id=name, text=name, position=9) for name in ("one", "two")]
    for topic in topics:
        with CaptureQueriesContext(connection) as captured:
            (row,) = rows(collection.pk, topic.query_id)
            assert (row, row.text, row.collection) == (topic, topic.text, collection)
        assert len(captured) == 1
    assert rows(collection.pk, "three") == rows(collection.pk + 1, "one") == []


def test_it_is_compiled_once(monkeypatch):
    built = []

    def build(uid: UUID, person: int) -> QuerySet[HumanGrade]:
        built.append(uid)
        return by_uid(uid, person)

    rows = compiled_once(build)
    assert rows(uuid4(), 1) == rows(uuid4(), 2) == []
    assert len(built) == 1


def test_tuples_of_keys_are_compiled_for_each_power_of_two(collection):
    names = ("one", "two", "three")
    one, two, three = (collection.topics.create(query_id=name, text=name, position=9) for name in names)
    built = []

    def build(keys: tuple[int, ...], query_id: str) -> QuerySet[Topic]:
        built.append(keys)
        return Topic.objects.filter(pk__in=keys, query_id=query_id)

    rows = compiled_once(build)
    assert rows((one.pk, two.pk), "two") == [two]
    assert rows((two.pk, one.pk), "one") == [one]
    assert rows((one.pk,), "one") == [one]
    assert len(built) == 2
    assert rows((one.pk, two.pk, three.pk), "three") == [three]
    assert rows((three.pk, two.pk, two.pk + 9, one.pk), "one") == [one]
    assert len(built) == 3
    assert rows((), "one") == []
    assert rows((*range(two.pk + 1, two.pk + LONGEST + 1), one.pk), "one") == [one]


def test_a_uid_is_compared_as_the_database_stores_it(collection, assessor):
    topic = collection.topics.create(query_id="one", text="one", position=9)
    revision = ItemRevision.objects.create(topic=topic, uid="one/1", text="why?")
    place = {"topic": topic, "revision": revision, "passage": collection.passages.create(doc_id="d")}
    event = HumanGrade.objects.create(**place, by=assessor, number=1, rating=3, how="grid", uid=uuid4())
    rows = compiled_once(by_uid)
    assert rows(uuid4(), assessor.pk) == []
    assert rows(event.uid, assessor.pk) == [(event.uid, assessor.pk)]


def test_a_number_beyond_all_keys_has_no_row():
    assert compiled_once(lambda key: Topic.objects.filter(pk=key))(2**63) == []


def test_a_query_that_does_not_compare_an_argument_is_refused():
    with pytest.raises(ValueError, match=r"Arguments \[1\]"):
        compiled_once(lambda first, _second: Topic.objects.filter(pk=first))(1, 2)


def test_a_query_that_depends_on_the_reader_is_refused():
    """Compiled, it would show to everybody what its first reader may see."""
    with reading_as(Reader(sees_everything=True)), pytest.raises(NoReader):
        compiled_once(lambda key: ItemRevision.objects.filter(pk=key))(1)


def test_what_may_be_secret_is_compiled_for_each_of_two_readers(collection, assessor, developer):
    topic = collection.topics.create(query_id="one", text="one", position=9)
    for text, is_secret in (("open", False), ("secret", True)):
        revision = ItemRevision.including_secret.create(topic=topic, uid=text, text=text, is_secret=is_secret)
        AnswerKey.including_secret.create(revision=revision, text=f"{text} answer")
    built = []

    def build(topic_pk: int) -> QuerySet[AnswerKey]:
        built.append(topic_pk)
        return AnswerKey.including_secret.filter(revision__topic=topic_pk).values_list("text", flat=True)

    rows = compiled_readable(build)
    for user, texts in (
        (assessor, ["open answer"]),
        (developer, ["open answer", "secret answer"]),
        (None, ["open answer"]),
    ):
        with reading_as(Reader(request=SimpleNamespace(user=user))):
            assert rows(collection.pk, topic.pk) == rows(collection.pk, topic.pk) == texts
    assert len(built) == 2
