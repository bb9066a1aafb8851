"""Scores of all runs: by hand, and against plain loops over the rows."""

import random

import numpy as np
import pytest

from grading.measures.cover import LabelMode
from rubricweb.corpus.models import Ranking, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.grades import scoring
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec, judgment_table, score_table, topic_labels
from rubricweb.grades.selectors import items_by_topic
from rubricweb.grades.store import save_grades
from tests import factories
from tests.worked import Worked, judge, worked


@pytest.fixture
def made(collection) -> Worked:
    return worked(collection)


def table(made, measure):
    pool = collection_pool(made.collection)
    return score_table(pool, matrices(made.config, pool), items_by_topic(made.bank, ["question"]), measure)


def labels(made, query_id, measure):
    pool = collection_pool(made.collection)
    topic_id = made.topics[query_id].pk
    uids = items_by_topic(made.bank, ["question"])[topic_id]
    return topic_labels(matrices(made.config, pool)[topic_id], uids, measure)


def rounded(table):
    return [[None if np.isnan(score) else round(float(score), 6) for score in row] for row in table.scores]


def test_cover_by_hand(made):
    scores = table(made, MeasureSpec())

    assert scores.run_tags == ("both", "first", "lacks", "stray")
    assert rounded(scores) == [[1, 1, None], [0.5, 0, None], [0.5, 0, None], [0, 1, None]]
    assert scores.means().tolist() == [1, 0.25, 0.25, 0.5]


def test_cover_looks_at_the_first_passages_only(made):
    assert rounded(table(made, MeasureSpec(cutoff=1)))[0] == [0.5, 1, None]


def test_cover_at_a_lower_grade(made):
    assert rounded(table(made, MeasureSpec(min_grade=2)))[3] == [0.5, 1, None]
    assert rounded(table(made, MeasureSpec(min_grade=2)))[1] == [0.5, 1, None]


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (MeasureSpec("P_20"), {"d1": 5, "d2": 4, "d3": 3}),
        (MeasureSpec("P_20", mode=LabelMode.BINARY), {"d1": 1, "d2": 1, "d3": 0}),
        (MeasureSpec("P_20", min_grade=3, mode=LabelMode.COUNT), {"d1": 1, "d2": 1, "d3": 1}),
        (MeasureSpec("P_20", min_answers=2), {"d1": 0, "d2": 0, "d3": 0}),
    ],
)
def test_labels_by_hand(made, measure, expected):
    assert labels(made, "t1", measure) == expected


def test_a_passage_whose_grades_all_failed_has_no_label(made):
    Grade.objects.filter(passage=made.passages["d3"]).update(rating=None, outcome="failed")

    assert labels(made, "t1", MeasureSpec("P_20")) == {"d1": 5, "d2": 4}


def test_precision_by_hand(made):
    """Relevant from label 4: d1, d2 and e2."""
    assert rounded(table(made, MeasureSpec("P_2"))) == [
        [1, 0.5, None],
        [0.5, 0, None],
        [0.5, 0, None],
        [0, 0.5, None],
    ]


@pytest.mark.parametrize("mode", [LabelMode.BINARY, LabelMode.COUNT])
def test_other_labels_are_relevant_from_one(mode):
    assert MeasureSpec("map", min_grade=4, mode=mode).level == 1
    assert MeasureSpec("map", min_grade=4).level == 4


def test_judgments_by_hand(made):
    judge(made)
    scores = judgment_table(collection_pool(made.collection), MeasureSpec("ndcg_cut_10"), level=2)

    assert rounded(scores) == [[1, 1, None], [1, 0, None], [0, 0, None], [0, 1, None]]


def test_judged_passages_by_hand(made):
    pool = collection_pool(made.collection)
    grades = matrices(made.config, pool)[made.topics["t1"].pk]
    uids = items_by_topic(made.bank, ["question"])[made.topics["t1"].pk]

    assert scoring.judged_counts(grades, uids, 20).tolist() == [[2, 1, 1, 1], [2, 1, 1, 2]]
    assert scoring.judged_counts(grades, uids, 1).tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert scoring.judged_counts(grades, (), 20).tolist() == [[0, 0, 0, 0], [2, 1, 1, 2]]


def test_no_runs_and_no_topics_have_no_scores(collection):
    pool = collection_pool(collection)

    assert score_table(pool, {}, {}, MeasureSpec()).means().shape == (0,)


def test_a_run_without_any_counted_topic_has_no_mean(made):
    made.bank.items.all().delete()

    assert np.isnan(table(made, MeasureSpec()).means()).all()


def test_only_the_topic_of_a_retired_item_is_scored_anew(made):
    from rubricweb.banks import actions

    table(made, MeasureSpec())
    item = made.items["t1"][0]
    actions.retire_item(item, seen=item.version, by=None)
    before = scoring.topic_scores.cache_info()
    scores = table(made, MeasureSpec())
    after = scoring.topic_scores.cache_info()

    assert (after.hits - before.hits, after.misses - before.misses) == (2, 1)
    assert rounded(scores)[0] == [1, 1, None]
    assert rounded(scores)[1] == [0, 0, None]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("cutoff", "min_grade"), [(3, 4), (20, 2)])
def test_cover_is_what_plain_loops_over_the_rows_find(collection, seed, cutoff, min_grade):
    made = scattered(collection, random.Random(seed))
    scores = table(made, MeasureSpec(min_grade=min_grade, cutoff=cutoff))

    expected = [
        [by_loops(made, run, topic, cutoff=cutoff, min_grade=min_grade) for topic in collection.topics.all()]
        for run in collection.runs.all()
    ]
    np.testing.assert_allclose(scores.scores, np.array(expected, dtype=float), atol=1e-12)


def by_loops(made, run, topic, *, cutoff, min_grade):
    """Rubric-Cover from the rows, one by one."""
    items = [item for item in made.bank.items.filter(topic=topic) if item.retired_at is None]
    if not items:
        return None
    ranking = Ranking.objects.filter(run=run, topic=topic).first()
    top = ranking.doc_ids[:cutoff] if ranking else []
    covered = 0
    for item in items:
        grades = Grade.objects.filter(config=made.config, revision=item.revision, passage__doc_id__in=top)
        covered += any(grade.rating is not None and grade.rating >= min_grade for grade in grades)
    return covered / len(items)


def scattered(collection, dice: random.Random) -> Worked:
    """Random grades, holes, failures and rankings over three topics."""
    bank = factories.BankFactory(collection=collection)
    made = Worked(collection, bank, factories.lexical_config(), {}, {}, {})
    runs = [factories.RunFactory(collection=collection, run_tag=f"run{n}") for n in range(4)]
    for position in range(3):
        topic: Topic = factories.TopicFactory(
            collection=collection, query_id=f"q{position}", position=position
        )
        pooled = [factories.PooledFactory(topic=topic).passage for _ in range(8)]
        items = [factories.ItemFactory(bank=bank, topic=topic, text=f"Question {n}?") for n in range(4)]
        cells = [(item, passage) for item in items for passage in pooled if dice.random() < 0.7]
        rows = []
        for item, passage in cells:
            rating = dice.choice([0, 1, 2, 3, 4, 5, None])
            outcome = "failed" if rating is None else "numeric"
            rows.append(
                Grade(
                    config=made.config,
                    topic=topic,
                    revision=item.revision,
                    passage=passage,
                    rating=rating,
                    outcome=outcome,
                )
            )
        save_grades(made.config, rows)
        for run in runs:
            if dice.random() < 0.8:
                known = [passage.doc_id for passage in pooled] + ["unknown1", "unknown2"]
                ranked = dice.sample(known, dice.randint(1, len(known)))
                factories.RankingFactory(run=run, topic=topic, doc_ids=ranked)
    return made
