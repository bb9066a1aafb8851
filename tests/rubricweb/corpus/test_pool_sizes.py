"""Pools are counted without being read: by workers once nobody changes them, and from the rows until then."""

from __future__ import annotations

import pytest

from rubricweb.core.models import new_stamp
from rubricweb.corpus import pools
from rubricweb.corpus.derived_models import PoolSnapshot
from rubricweb.corpus.models import Collection
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def topics(collection):
    """Of 3, 1 and no passages; the second has a passage of the first."""
    first, second, empty = factories.TopicFactory.create_batch(3, collection=collection)
    shared, *_ = factories.pooled(first, 3)
    factories.PooledFactory(topic=second, passage=shared)
    return first, second, empty


def counted(collection) -> list[tuple[int, int, int]]:
    """(topic, passages, characters), counted anew."""
    pools._sizes.cache_clear()
    pools._chars.cache_clear()
    chars = pools.pool_chars(collection)
    return [(pk, size, chars.get(pk, 0)) for pk, size in pools.pool_sizes(collection).items()]


def expected(collection, topics, left_out=()) -> list[tuple[int, int, int]]:
    texts = [[row.passage.text for row in topic.pool.exclude(passage__in=left_out)] for topic in topics]
    return [(topic.pk, len(some), sum(map(len, some))) for topic, some in zip(topics, texts, strict=True)]


def keep() -> None:
    """As workers do."""
    pools.keep_snapshots()
    pools.keep_snapshots()


def test_rows_are_counted_until_workers_did(collection, topics, monkeypatch):
    assert counted(collection) == expected(collection, topics)
    keep()
    with monkeypatch.context() as patched:
        patched.delattr(pools, "pooled_chars")
        patched.delattr(pools, "Pooled")
        assert counted(collection) == expected(collection, topics)


def test_counts_of_before_a_change_are_not_taken(collection, topics):
    keep()
    factories.PooledFactory(topic=topics[2])
    Collection.objects.update(stamp=new_stamp())
    assert counted(collection) == expected(collection, topics)


@pytest.mark.parametrize("is_kept", [True, False])
def test_what_only_unaccepted_runs_bring_is_left_out_of_their_topic(collection, topics, is_kept):
    first, second, _ = topics
    shared = second.pool.get().passage
    (run,) = factories.ranked(first, {"away": [shared.doc_id]})
    run.state = run.State.WITHDRAWN
    run.save()
    Collection.objects.update(stamp=new_stamp())
    if is_kept:
        keep()
    of_first, *others = expected(collection, topics)
    assert counted(collection) == [(first.pk, 2, of_first[2] - len(shared.text)), *others]
    passages = pools.pooled_passages(collection, [first.pk, second.pk])
    assert (shared.pk in passages[first.pk], passages[second.pk]) == (False, [shared.pk])


def test_snapshots_of_earlier_versions_are_made_again(collection, topics):
    keep()
    PoolSnapshot.objects.update(passages=None, chars=None)
    assert counted(collection) == expected(collection, topics)
    keep()
    assert not PoolSnapshot.objects.filter(chars=None).exists()


def test_single_pools_are_in_their_order(collection, topics):
    first, *_ = topics
    rows = list(first.pool.order_by("position", "pk").values_list("passage_id", flat=True))
    assert pools.pooled_passages(collection, [first.pk]) == {first.pk: rows}
