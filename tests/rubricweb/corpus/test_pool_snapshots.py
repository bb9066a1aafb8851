"""Pools from snapshots are those of the rows, and never older than these."""

from dataclasses import fields

import numpy as np
import pytest

from rubricweb.core.models import new_stamp
from rubricweb.corpus import pools
from rubricweb.corpus.derived_models import PoolSnapshot
from rubricweb.corpus.models import Collection
from rubricweb.corpus.topic_pools import TopicJudgments, TopicPool, TopicRankings
from tests import factories


@pytest.fixture
def ranked(collection):
    """Two topics; one run lacks the second, another is withdrawn, and one passage is judged only."""
    first, second = factories.TopicFactory.create_batch(2, collection=collection)
    ids = [passage.doc_id for passage in factories.pooled(first, 3)]
    factories.PooledFactory(topic=second)
    factories.ranked(first, {"run-a": [*ids[::-1], "outside"], "run-b": ids[:1]})
    factories.JudgmentFactory(topic=first, doc_id=ids[1], relevance=2)
    factories.JudgmentFactory(topic=first, doc_id="judged-only", relevance=-1)
    return collection


def keep():
    """As workers do: what has not changed between two calls is kept."""
    pools.keep_snapshots()
    pools.keep_snapshots()


def is_from_snapshots(collection, monkeypatch):
    with monkeypatch.context() as patched:
        patched.delattr(pools, "_from_rows")
        pools.pool_at.cache_clear()
        try:
            pools.collection_pool(collection)
        except NameError:
            return False
    return True


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype == np.float64)
    if isinstance(one, TopicPool | TopicRankings | TopicJudgments):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return one == other


def test_a_pool_from_snapshots_is_that_of_the_rows(ranked, monkeypatch):
    rows = pools.from_rows(ranked.pk, ranked.stamp)
    keep()

    assert is_from_snapshots(ranked, monkeypatch)
    kept = pools.collection_pool(ranked)
    assert kept is not rows
    assert (kept.run_tags, kept.run_pks, kept.left_out) == (rows.run_tags, rows.run_pks, rows.left_out)
    assert all(same(one, other) for one, other in zip(kept.topics, rows.topics, strict=True))
    assert kept.topics[0].judgments["judged-only"] == -1


def test_passages_that_do_not_count_are_kept_too(ranked):
    run = ranked.runs.get(run_tag="run-b")
    alone = factories.PassageFactory(collection=ranked)
    topic = ranked.topics.first()
    factories.PooledFactory(topic=topic, passage=alone, position=9)
    run.rankings.filter(topic=topic).update(doc_ids=[alone.doc_id], scores=[1.0])
    run.state = run.State.WITHDRAWN
    run.save()
    keep()

    assert pools.collection_pool(ranked).left_out == {topic.pk: frozenset({alone.pk})}


def test_what_was_changed_since_the_last_call_is_not_kept_yet(ranked):
    pools.keep_snapshots()
    Collection.objects.update(stamp=new_stamp())
    pools.keep_snapshots()

    assert not PoolSnapshot.objects.exists()


def test_after_a_change_the_rows_are_read_until_workers_kept_it(ranked, monkeypatch):
    keep()
    ranked.stamp = new_stamp()
    ranked.save()
    assert not is_from_snapshots(ranked, monkeypatch)
    keep()
    assert is_from_snapshots(ranked, monkeypatch)
    assert PoolSnapshot.objects.count() == 2


def test_a_damaged_snapshot_is_not_read(ranked, monkeypatch):
    keep()
    first, second = PoolSnapshot.objects.order_by("pk")
    PoolSnapshot.objects.filter(pk=first.pk).update(content=second.content)

    assert not is_from_snapshots(ranked, monkeypatch)
    assert len(pools.collection_pool(ranked).topics[0].doc_ids) == 3


def test_nothing_is_kept_of_a_collection_that_is_being_deleted(ranked):
    Collection.objects.update(is_being_deleted=True)
    keep()

    assert not PoolSnapshot.objects.exists()
