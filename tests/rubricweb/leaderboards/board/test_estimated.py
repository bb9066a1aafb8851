"""Which drawn cells the estimates of a board stand on, and when the board cannot tell."""

from dataclasses import replace

import numpy as np
import pytest

from grading.types import ItemKind
from rubricweb.campaigns.models import Campaign
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Passage
from rubricweb.grades.human_models import Draw, HumanGrade
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.scoring import Definition, MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, MissingTopic, files, selectors, sentences
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
QUESTIONS = frozenset({ItemKind.QUESTION})
PASSAGES = 8


@pytest.fixture
def bank(collection):
    """6 topics of 4 questions and 8 passages; `good` ranks the first 6, `poor` the last 6.

    The grader rates the first two passages of a topic 5 for each question, the others 0.
    """
    bank = factories.gradable(collection, topics=6, passages=PASSAGES, items=4)
    config = factories.lexical_config()
    runs = [factories.RunFactory(collection=collection, run_tag=tag) for tag in ("good", "poor")]
    for topic in collection.topics.order_by("pk"):
        ids = [pooled.passage.doc_id for pooled in topic.pool.order_by("position")]
        for run, ranked in zip(runs, (ids[:6], ids[2:]), strict=True):
            factories.RankingFactory(run=run, topic=topic, doc_ids=ranked)
    factories.grades(
        config, [(item, passage, 5 if place < 2 else 0) for item, place, passage in places(bank)]
    )
    return bank


def places(bank):
    """Each item with the places and passages of its topic's pool."""
    pools = {
        topic.pk: list(topic.pool.order_by("position").select_related("passage"))
        for topic in bank.collection.topics.all()
    }
    return [
        (item, place, pooled.passage)
        for item in bank.items.all()
        for place, pooled in enumerate(pools[item.topic_id])
    ]


@pytest.fixture
def spec(collection, bank):
    return BoardSpec(collection, factories.lexical_config(), bank, QUESTIONS, MeasureSpec())


@pytest.fixture
def draw_of(collection, bank):
    """`draw_of(design=..., cutoff=...)`: a draw from the bank's items as they are."""

    def made(design=Draw.Design.COVER, cutoff=20, min_grade=4, items=None):
        found = bank.items.all() if items is None else items
        draw = Draw.objects.create(
            collection=collection,
            design=design,
            cutoff=cutoff,
            min_grade=min_grade,
            revisions=[item.revision_id for item in found],
        )
        draw.configs.add(factories.lexical_config())
        return draw

    return made


@pytest.fixture
def rate(bank, assessor):
    """`rate(draw)`: the assessor agrees with the grader on the first 7 passages of every item."""

    def rated(draw, passages=7, agrees=True):
        cells = [
            (item, passage, 5 if (place < 2) == agrees else 0)
            for item, place, passage in places(bank)
            if place < passages
        ]
        factories.rate(cells, by=assessor, draw=draw.pk if draw else None)

    return rated


def rows(board):
    return {row.run_tag: row.estimate for row in board.rows}


def test_drawn_cells_make_an_estimate(spec, draw_of, rate):
    rate(draw_of())
    board = selectors.board(spec)
    found = rows(board)
    assert found["good"].value == found["good"].low == 1
    assert 0 < found["poor"].value < 0.1
    assert found["poor"].low == 0
    assert board.sample.size.cells == 6 * 4 * 7
    assert board.sample.reason == ""


def test_a_board_warns_where_people_find_more_in_long_passages(spec, bank, draw_of, assessor):
    """People find every item in the passages that are long, where the grader finds none of them."""
    draw, long_places = draw_of(), {}
    for number, topic in enumerate(spec.collection.topics.order_by("pk")):
        long = long_places[topic.pk] = (3, 5 + number % 2)
        for place, pooled in enumerate(topic.pool.order_by("position")):
            Passage.objects.filter(pk=pooled.passage_id).update(text="word " * (200 if place in long else 10))
    cells = [
        (item, passage, 5 if place < 2 or place in long_places[item.topic_id] else 0)
        for item, place, passage in places(bank)
        if place < 7
    ]
    factories.rate(cells, by=assessor, draw=draw.pk)
    board = selectors.board(spec)
    (warning,) = sentences.notes(board.sample)
    assert warning.startswith("Given the grader's rating, people find more in long passages (p = .0")
    assert warning.endswith("the estimate may be off for runs that rank them.")
    assert warning in dict(files.provenance.statements(board))["estimate"]
    document = files.board_document(board)["estimate"]
    assert document["warnings"] == [warning]
    assert document["checks"]["length"]["is_rising"]


def test_a_board_without_a_trend_does_not_warn(spec, draw_of, rate):
    rate(draw_of())
    board = selectors.board(spec)
    assert board.sample.checks is not None
    assert sentences.notes(board.sample) == []
    stated = dict(files.provenance.statements(board))["estimate"]
    assert "passages of the same grade." in stated
    assert "no trend by the length of passages or the quality of the runs" in stated


def test_judgments_make_strata_of_the_estimate(spec, draw_of, rate):
    topic = spec.collection.topics.first()
    doc_id = topic.pool.order_by("position").first().passage.doc_id
    factories.JudgmentFactory(topic=topic, doc_id=doc_id, relevance=spec.collection.min_relevant)
    Collection.objects.filter(pk=spec.collection.pk).update(stamp=new_stamp())
    rate(draw_of())
    board = selectors.board(spec)
    assert board.sample.knows_relevance
    assert "of the same grade and relevance." in dict(files.provenance.statements(board))["estimate"]


def test_misses_that_no_best_passage_shows_are_found(spec, draw_of, rate):
    """`poor` covers nothing by the grader, and everything by people."""
    rate(draw_of(), agrees=False)
    board = selectors.board(spec)
    assert {row.run_tag: row.score for row in board.rows} == {"good": 1, "poor": 0}
    assert rows(board)["poor"].value > 0.9


@pytest.mark.parametrize(
    "said",
    [{"cutoff": 10}, {"min_grade": 3}, {"design": Draw.Design.DECIDING}],
)
def test_draws_for_other_boards_do_not_count(spec, draw_of, rate, said):
    rate(draw_of(**said))
    board = selectors.board(spec)
    assert rows(board) == {"good": None, "poor": None}
    assert board.sample.elsewhere == 6 * 4 * 7
    assert (
        "168 rated pairs from other samples do not count"
        in dict(files.provenance.statements(board))["estimate"]
    )


def test_a_uniform_draw_serves_every_threshold(spec, draw_of, rate):
    rate(draw_of(design=Draw.Design.CELLS, cutoff=None, min_grade=None))
    for min_grade in (3, 4):
        measure = replace(spec.measure, min_grade=min_grade)
        assert selectors.board(replace(spec, measure=measure)).sample.reason == ""


def test_cells_that_nobody_drew_do_not_count(spec, rate):
    rate(None)
    board = selectors.board(spec)
    assert rows(board) == {"good": None, "poor": None}
    assert board.sample.size.cells == 0


def test_a_drawn_cell_that_is_rated_again_elsewhere_stays_in_the_sample(spec, bank, draw_of, rate, assessor):
    rate(draw_of())
    item = bank.items.first()
    passage = item.topic.pool.order_by("position").first().passage
    rate_cell(Cell.of(item, passage), rating=4, by=assessor, seen=1)
    assert selectors.board(spec).sample.size.cells == 6 * 4 * 7


def test_items_that_are_newer_than_the_draw_are_not_sampled(spec, bank, draw_of, rate):
    rate(draw_of())
    topic = bank.items.first().topic
    factories.ItemFactory(bank=bank, topic=topic, text="What else?")
    one = selectors.board(spec)
    assert (one.sample.unsampled, one.sample.items) == (1, 25)
    assert rows(one)["poor"].high - rows(one)["poor"].low >= 1 / 5 / 6

    factories.ItemFactory(bank=bank, topic=topic, text="And what else?")
    two = selectors.board(spec)
    assert rows(two) == {"good": None, "poor": None}
    assert "2 of its 26 items could not be drawn" in two.sample.reason


@pytest.mark.parametrize(("agrees", "level"), [(True, "at least 95 %"), (False, "95 %")])
def test_with_few_misses_the_level_is_a_lower_bound(spec, draw_of, rate, agrees, level):
    rate(draw_of(), agrees=agrees)
    board = selectors.board(spec)
    said = dict(files.provenance.statements(board))["estimate"]
    assert f"passages, had they rated every pair; {level} credible interval" in said
    assert files.board_document(board)["estimate"]["is_level_at_least"] is agrees


def test_a_board_names_the_sample_as_campaigns_do():
    assert Campaign.Cells.COVER.label == sentences.CHOICES[Draw.Design.COVER]


def test_a_draw_from_questions_serves_the_questions_of_a_mixed_bank(spec, bank, draw_of, rate):
    rate(draw_of())
    for topic in spec.collection.topics.all():
        factories.ItemFactory(bank=bank, topic=topic, kind=ItemKind.NUGGET, text=f"a fact of {topic.pk}")
    assert selectors.board(spec).sample.reason == ""
    both = replace(spec, kinds=frozenset({ItemKind.QUESTION, ItemKind.NUGGET}))
    assert "6 of its 30 items" in selectors.board(both).sample.reason


def test_too_few_cells_of_an_item_cannot_tell(spec, draw_of, rate):
    rate(draw_of(), passages=5)
    board = selectors.board(spec)
    assert rows(board) == {"good": None, "poor": None}
    assert "too few ratings: 0 items have 5 or more rated pairs" in board.sample.reason


@pytest.mark.parametrize("missing", list(MissingTopic))
def test_topics_that_a_run_lacks_count_as_in_the_score(spec, draw_of, rate, missing):
    rate(draw_of())
    good = spec.collection.runs.get(run_tag="good")
    good.rankings.filter(topic=spec.collection.topics.first()).delete()
    board = selectors.board(replace(spec, missing=missing))
    score = {row.run_tag: row.score for row in board.rows}["good"]
    assert rows(board)["good"].value == pytest.approx(score)


def test_no_estimate_is_made_of_the_workbench_s_denominators(spec, draw_of, rate):
    rate(draw_of())
    board = selectors.board(replace(spec, measure=replace(spec.measure, definition=Definition.WORKBENCH)))
    assert rows(board) == {"good": None, "poor": None}
    assert board.sample is None


def test_files_say_what_is_estimated_and_how(spec, draw_of, rate):
    rate(draw_of())
    board = selectors.board(spec)
    found = files.board_document(board)
    assert found["estimate"]["level"] == 0.95
    assert (
        "people would rate >= 4 on at least one of the run's first 20 passages"
        in found["estimate"]["estimand"]
    )
    assert found["estimate"]["cells"] == 168
    assert {row["run_tag"]: row["estimate"]["value"] for row in found["rows"]}["good"] == 1
    tsv, tex = "\n".join(files.tsv_lines(board)), "\n".join(files.tex_lines(board))
    assert "cover_by_people\tcover_by_people_low\tcover_by_people_high" in tsv
    for text in (tsv, tex):
        assert "95 % credible interval of a stratified hierarchical model" in text.replace("\\%", "%")
    assert "By people, estimated" in tex


def test_an_estimate_takes_no_more_queries_the_second_time(
    spec, draw_of, rate, django_assert_max_num_queries
):
    rate(draw_of())
    selectors.board(spec)
    with django_assert_max_num_queries(25):
        selectors.board(spec)
    assert np.isfinite(rows(selectors.board(spec))["poor"].value)
    assert HumanGrade.objects.filter(draw__isnull=False).count() == 168
