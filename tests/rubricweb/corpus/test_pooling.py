"""Pools by depth: what a rule adds, what it leaves as holes, and that later runs extend it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.core.models import AuditEntry, new_stamp
from rubricweb.corpus.actions import accept_run, withdraw_run
from rubricweb.corpus.models import Collection, Pooled, Run
from rubricweb.corpus.pooling import PoolRule, TopicPlan, apply_pool, extend_pool, plan_pool, stored_rule
from rubricweb.corpus.pools import collection_pool
from tests.factories import (
    JudgmentFactory,
    PassageFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    pooled,
    ranked,
)
from tests.rubricweb.import_files import Folder

pytestmark = pytest.mark.django_db

TOPS = {"alpha": ["a1", "both", "a3"], "beta": ["b1", "both", "b3"], "gamma": ["d0", "textless"]}


@pytest.fixture
def topic(collection):
    """The pool holds d0; of what runs rank, all but `textless` have a text."""
    topic = TopicFactory(collection=collection, query_id="t1")
    pooled(topic, 1)
    for doc_id in ("a1", "a3", "b1", "b3", "both", "judged"):
        PassageFactory(collection=collection, doc_id=doc_id)
    PassageFactory(collection=collection, doc_id="empty", text="")
    ranked(topic, TOPS)
    return topic


def doc_ids(topic) -> tuple[str, ...]:
    collection = Collection.objects.get(pk=topic.collection_id)
    return collection_pool(collection).by_topic[topic.pk].doc_ids


def planned(topic, rule: PoolRule) -> TopicPlan:
    plans: list[TopicPlan] = []
    plan_pool(topic.collection, rule, seen=plans.append)
    return plans[0]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (PoolRule(1), ["a1", "b1"]),
        (PoolRule(2), ["a1", "b1", "both"]),
        (PoolRule(9), ["a1", "b1", "both", "a3", "b3"]),
        (PoolRule(2, runs=("beta",)), ["b1", "both"]),
        (PoolRule(1, {"manual": 3}), ["a1", "b1", "both", "b3"]),
        (PoolRule(0, {"manual": 1}), ["b1"]),
        (PoolRule(3, {"manual": 0}), ["a1", "both", "a3"]),
    ],
)
def test_the_first_ranks_of_runs_join(topic, rule, expected):
    Run.objects.filter(run_tag="beta").update(type="manual")
    assert list(planned(topic, rule).added) == expected


def test_judged_passages_join_first(topic):
    for doc_id in ("judged", "d0", "unknown"):
        JudgmentFactory(topic=topic, doc_id=doc_id)
    plan = planned(topic, PoolRule(1))
    assert (list(plan.added), plan.textless) == (["judged", "a1", "b1"], ("unknown",))


def test_passages_without_text_are_told_and_not_pooled(topic):
    ranked(topic, {"delta": ["empty"]})
    assert set(planned(topic, PoolRule(2)).textless) == {"textless", "empty"}
    assert apply_pool(topic.collection, PoolRule(2), by=None).textless == 2
    assert doc_ids(topic) == ("d0", "a1", "b1", "both")


def test_holes_are_counted_before_and_after(topic):
    runs = plan_pool(topic.collection, PoolRule(2, runs=("alpha", "gamma"))).runs
    counted = {run.run_tag: (run.depth, run.ranked, run.before, run.after) for run in runs}
    assert counted == {"alpha": (2, 2, 2, 0), "beta": (2, 2, 2, 1), "gamma": (2, 2, 1, 1)}


def test_topics_are_planned_one_by_one_and_counted_together(topic):
    second = TopicFactory(collection=topic.collection, query_id="t2", position=topic.position + 1)
    for run_tag, doc_ids in {"alpha": ["a3", "a1"], "gamma": ["textless"]}.items():
        run = Run.objects.get(run_tag=run_tag)
        RankingFactory(run=run, topic=second, doc_ids=doc_ids)
    plans: list[TopicPlan] = []
    whole = plan_pool(topic.collection, PoolRule(1), seen=plans.append)
    assert [(plan.query_id, list(plan.added)) for plan in plans] == [("t1", ["a1", "b1"]), ("t2", ["a3"])]
    assert (whole.added, whole.textless, whole.growing) == (3, 1, 2)
    counted = {run.run_tag: (run.ranked, run.before, run.after) for run in whole.runs}
    assert counted == {"alpha": (2, 2, 0), "beta": (1, 1, 0), "gamma": (2, 1, 1)}


def test_a_plan_changes_nothing(topic):
    plan_pool(topic.collection, PoolRule(9))
    assert (Pooled.objects.count(), stored_rule(Collection.objects.get())) == (1, None)


@pytest.mark.parametrize(("depth", "read_again"), [(2, 0), (700, 1)])
def test_plans_of_small_pools_are_kept_until_the_stamp_moves(topic, depth, read_again):
    def added(stamp: int) -> list[str]:
        plans: list[TopicPlan] = []
        plan_pool(topic.collection, PoolRule(depth), seen=plans.append, stamp=stamp)
        return list(plans[0].added)

    stamp = topic.collection.stamp
    first = added(stamp)
    with CaptureQueriesContext(connection) as queries:
        assert added(stamp) == first
    assert sum('FROM "corpus_ranking"' in query["sql"] for query in queries) == read_again
    JudgmentFactory(topic=topic, doc_id="judged")
    assert added(new_stamp()) == ["judged", *first]


def test_building_it_twice_adds_nothing_more(topic, owner):
    rule = PoolRule(2, {"manual": 5}, ("alpha",))
    assert apply_pool(topic.collection, rule, by=owner).added == 2
    stamp = Collection.objects.get().stamp
    assert apply_pool(topic.collection, rule, by=owner).added == 0
    assert (Collection.objects.get().stamp, stored_rule(Collection.objects.get())) == (stamp, rule)
    entry = AuditEntry.objects.filter(verb="pool built").earliest("pk")
    assert (entry.by, entry.detail) == (owner, "top 2, manual runs 5, of 1 run: 2 passages added")


def test_without_a_rule_nothing_is_extended(topic):
    assert extend_pool(topic.collection) is None


def test_withdrawn_runs_contribute_nothing_until_they_are_back(topic):
    alpha = Run.objects.get(run_tag="alpha")
    withdraw_run(alpha, by=None)
    apply_pool(topic.collection, PoolRule(1), by=None)
    assert doc_ids(topic) == ("d0", "b1")
    accept_run(alpha, by=None)
    assert doc_ids(topic) == ("d0", "b1", "a1")


def test_an_accepted_submission_extends_the_pool(topic):
    apply_pool(topic.collection, PoolRule(1, runs=()), by=None)
    late = RunFactory(collection=topic.collection, run_tag="late", state="submitted")
    RankingFactory(run=late, topic=topic, doc_ids=["b3"])
    assert "b3" not in doc_ids(topic)
    accept_run(late, by=None)
    assert doc_ids(topic)[-1] == "b3"


def test_an_imported_run_extends_the_pool(topic, tmp_path):
    apply_pool(topic.collection, PoolRule(1), by=None)
    folder = Folder(tmp_path)
    folder.write("runs/late.run", "t1 Q0 a3 1 9.0 late\nt1 Q0 b3 2 8.0 late\n")
    done = folder.load("--runs", folder.path / "runs")
    assert (done["counts"]["pooled"]["new"], doc_ids(topic)[-1]) == (1, "a3")
    assert "the pool grew by 1 passages (top 1); 0 more" not in done["notes"]
    assert "the pool grew by 1 passages (top 1)" in done["notes"]
    assert folder.load("--runs", folder.path / "runs")["changed"] is False
