"""The impact preview by hand and by brute force; the what-if of an item against boards computed anew."""

import itertools
import random

import numpy as np
import pytest

from grading.measures import cover
from grading.statistics import influence
from grading.types import ItemKind
from rubricweb.banks import actions
from rubricweb.corpus.pools import collection_pool
from rubricweb.editor import impact, what_if
from rubricweb.grades.matrices import topic_grades
from rubricweb.grades.models import GradingJob, JobChunk
from rubricweb.grades.scoring import MeasureSpec
from tests.factories import (
    BankFactory,
    ItemFactory,
    PassageFactory,
    PooledFactory,
    RankingFactory,
    TopicFactory,
    grade,
    graded,
    lexical_config,
    pooled,
    ranked,
)

NEW = "Does frost make leaves red?"
MEASURE = MeasureSpec()


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="q1")


@pytest.fixture
def passages(topic):
    return pooled(topic, 4)


@pytest.fixture
def runs(topic, passages):
    """ahead: d0 d1; behind: d2; apart: d3."""
    return ranked(topic, {"ahead": ["d0", "d1"], "apart": ["d3"], "behind": ["d2"]})


@pytest.fixture
def bank(collection):
    return BankFactory(collection=collection)


@pytest.fixture
def items(bank, topic, passages, runs):
    """Two questions that `ahead` covers, the others none: 1, 0 and 0."""
    return graded(bank, topic, passages, {"Which pigment?": (5, 0, 1, 2), "Which tree?": (1, 4, 0, 3)})


def draft(bank, topic, text=NEW, **more):
    return impact.UnsavedItem(bank, topic, ItemKind.QUESTION, text, **more)


def asked_before(bank, topic, text):
    """The revision of these words, as an item that was added and retired again."""
    item = ItemFactory(bank=bank, topic=topic, text=text)
    actions.retire_item(item, seen=1, by=None)
    return item


def test_a_new_question_is_graded_on_the_whole_pool(bank, topic, items):
    preview = impact.impact_of(draft(bank, topic))
    assert (preview.passages, preview.already_graded, preview.to_grade, preview.runs) == (4, 0, 4, 3)
    assert preview.seconds is None
    assert not preview.is_twin
    # 2/3 against 0 now; with the new question at most 3/3 and 1/3: only the two at 0 can part.
    assert preview.could_move == ("apart", "behind")


def test_words_that_were_asked_before_keep_their_grades(bank, topic, items, passages):
    old = asked_before(bank, topic, NEW)
    grade(lexical_config(), old, passages[0], 2)
    grade(lexical_config(), old, passages[1], None, "failed")
    grade(lexical_config(), old, passages[3], 5)
    preview = impact.impact_of(draft(bank, topic, text=f" {NEW}\n"))
    assert (preview.already_graded, preview.to_grade) == (3, 1)
    # apart covers it for sure: 2/3, 1/3 and 0 or 1/3; the tie at rank 2 may break, only behind can fall.
    assert preview.could_move == ("behind",)


def test_a_rewording_gives_up_what_the_old_words_cover(bank, topic, items):
    preview = impact.impact_of(draft(bank, topic, item=items[0]))
    # ahead has 1/2 for sure; each may add 1/2: all may be equal, or any of the two others draw level.
    assert preview.could_move == ("apart", "behind")
    assert impact.impact_of(draft(bank, topic, text="Which tree?", item=items[0])).is_twin


def test_money_comes_from_the_price_of_the_model(bank, topic, items, settings):
    assert impact.impact_of(draft(bank, topic)).dollars is None
    settings.PRICES = {lexical_config().llm: 2.0}
    cheap, dear = draft(bank, topic), draft(bank, topic, text=f"{NEW} {'Or rain? ' * 50}")
    assert 0 < impact.impact_of(cheap).dollars < impact.impact_of(dear).dollars
    assert impact.impact_of(cheap).dollars_words == "less than $0.01"


def test_time_comes_from_the_measured_rate(bank, topic, items, collection):
    job = GradingJob.objects.create(collection=collection, config=lexical_config(), scope="1 item", total=10)
    JobChunk.objects.create(
        job=job, number=1, topic=topic, cells=[], size=10, done=10, seconds=5, state=JobChunk.State.DONE
    )
    assert impact.impact_of(draft(bank, topic)).seconds == pytest.approx(2.0)


def test_a_topic_that_asks_nothing_yet_starts_to_count(bank, topic, items, collection, passages):
    new_topic = TopicFactory(collection=collection, query_id="q2")
    PooledFactory(topic=new_topic, passage=passages[0])
    RankingFactory(run=collection.runs.get(run_tag="behind"), topic=new_topic, doc_ids=["d0"])
    preview = impact.impact_of(draft(bank, new_topic))
    # Now 1, 0, 0. Then behind has 0 or 1 on the new topic, of two: 1/2, 0, and 0 or 1/2.
    assert preview.could_move == ("apart", "behind")


def test_a_collection_without_runs_or_pool(bank, collection):
    preview = impact.impact_of(draft(bank, TopicFactory(collection=collection)))
    assert (preview.passages, preview.already_graded, preview.runs, preview.could_move) == (0, 0, 0, ())


def random_board(collection, bank, seed):
    """A topic with 7 passages, 5 runs of depth 3 and 3 items, and the grades of 3 cells of new words."""
    dice = random.Random(seed)
    topic = TopicFactory(collection=collection, query_id=f"random{seed}")
    passages = [PassageFactory(collection=collection, doc_id=f"r{seed}-{n}") for n in range(7)]
    for passage in passages:
        PooledFactory(topic=topic, passage=passage)
    for n in range(5):
        run, _ = collection.runs.get_or_create(run_tag=f"run{n}")
        doc_ids = [passage.doc_id for passage in dice.sample(passages, 3)]
        RankingFactory(run=run, topic=topic, doc_ids=doc_ids)
    config = lexical_config()
    for n in range(3):
        item = ItemFactory(bank=bank, topic=topic, text=f"Question {n} of {seed}?")
        for passage in passages:
            grade(config, item, passage, dice.choice([0, 1, 3, 4, 5]))
    old = asked_before(bank, topic, f"{NEW} {seed}")
    for passage in dice.sample(passages, 3):
        grade(config, old, passage, dice.choice([0, 3, 5]))
    return topic, old


def covers(pool, topic, uids, column):
    """Cover of the topic, with `column` as the ratings of one more item where it is given."""
    grades = topic_grades(lexical_config(), pool, topic.pk)
    ratings = grades.matrix.columns(uids).ratings
    if column is not None:
        ratings = np.column_stack([ratings, column])
    return cover.cover(ratings, grades.pool.ranked_rows)


def uids_of(items):
    return tuple(item.revision.uid for item in items)


@pytest.mark.parametrize("seed", range(6))
def test_runs_that_could_move_against_every_outcome(collection, bank, seed):
    topic, old = random_board(collection, bank, seed)
    pool = collection_pool(collection)
    uids = uids_of(bank.items.active().for_topic(topic))
    column = topic_grades(lexical_config(), pool, topic.pk).matrix.columns(uids_of([old])).ratings[:, 0]
    before = covers(pool, topic, uids, None)
    moved = set()
    for outcome in itertools.product((0, 5), repeat=int((column == -1).sum())):
        filled = column.copy()
        filled[column == -1] = outcome
        after = covers(pool, topic, uids, filled)
        moved |= {move.run_tag for move in influence.moves(before, after, pool.run_tags)}
    could_move = impact.could_move(draft(bank, topic, text=f"{NEW} {seed}"), lexical_config(), pool)
    assert set(could_move) == moved


def test_retiring_by_hand(items):
    effect = what_if.what_if(items[0], lexical_config(), MEASURE)
    # The highest ratings are 5 4 1 3; without the first question they are 1 4 0 3.
    changes = [(change.doc_id, change.before, change.after, change.crosses) for change in effect.labels]
    assert changes == [("d0", 5, 1, True), ("d2", 1, 0, False)]
    assert effect.runs.moves == ()
    assert effect.runs.rescored == 0


@pytest.mark.parametrize("seed", range(4))
def test_retiring_and_restoring_against_boards_computed_anew(collection, bank, items, seed):
    topic, _ = random_board(collection, bank, seed)
    pool = collection_pool(collection)
    item = bank.items.active().for_topic(topic)[1]
    active = list(bank.items.active().for_topic(topic))
    inside, outside = uids_of(active), uids_of(other for other in active if other != item)
    rest = covers(pool, items[0].topic, uids_of(items), None)
    means = [(rest + covers(pool, topic, uids, None)) / 2 for uids in (inside, outside)]
    expected = influence.moves(*means, pool.run_tags)
    retiring = what_if.what_if(item, lexical_config(), MEASURE)
    assert [(run.run_tag, run.before, run.after) for run in retiring.runs.moves] == [
        (move.run_tag, move.before, move.after) for move in expected
    ]
    place = pool.run_tags.index
    for run in retiring.runs.moves:
        assert run.score_before == pytest.approx(means[0][place(run.run_tag)])
        assert run.score_after == pytest.approx(means[1][place(run.run_tag)])
    ratings = topic_grades(lexical_config(), pool, topic.pk).matrix
    highest = [ratings.columns(uids).ratings.max(axis=1).tolist() for uids in (inside, outside)]
    doc_ids = pool.by_topic[topic.pk].doc_ids
    labels = [(d, a, b) for d, a, b in zip(doc_ids, *highest, strict=True) if a != b]
    assert [(change.doc_id, change.before, change.after) for change in retiring.labels] == labels

    actions.retire_item(item, seen=1, by=None)
    done = what_if.what_changed(item, lexical_config(), MEASURE)
    assert (done.labels, done.runs.moves) == (retiring.labels, retiring.runs.moves)
    restoring = what_if.what_if(item, lexical_config(), MEASURE)
    assert [(r.run_tag, r.before, r.after) for r in restoring.runs.moves] == [
        (move.run_tag, move.before, move.after) for move in influence.moves(means[1], means[0], pool.run_tags)
    ]


def test_retiring_the_only_item_takes_the_topic_out_of_the_mean(collection, bank, items, passages):
    lonely = TopicFactory(collection=collection, query_id="q2")
    PooledFactory(topic=lonely, passage=passages[0])
    RankingFactory(run=collection.runs.get(run_tag="behind"), topic=lonely, doc_ids=["d0"])
    item = ItemFactory(bank=bank, topic=lonely, text="Alone?")
    grade(lexical_config(), item, passages[0], 5)
    effect = what_if.what_if(item, lexical_config(), MEASURE)
    # ahead 1/2, apart 0, behind 1/2 before; 1, 0, 0 after. The label vanishes, it does not become 0.
    assert [(run.run_tag, run.before, run.after) for run in effect.runs.moves] == [
        ("apart", 3, 2),
        ("behind", 1, 2),
    ]
    assert [(change.before, change.after) for change in effect.labels] == [(5, None)]


def test_a_question_whose_words_are_a_nugget_too_changes_nothing_when_it_goes(bank, topic, items):
    ItemFactory(bank=bank, topic=topic, kind="nugget", revision=items[0].revision)
    effect = what_if.what_if(items[0], lexical_config(), MEASURE)
    assert (effect.labels, effect.runs.moves) == ((), ())
