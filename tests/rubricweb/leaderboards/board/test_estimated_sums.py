"""Nugget scores and P@k by people, estimated from campaigns over single cells or whole passages."""

from dataclasses import replace

import numpy as np
import pytest

from grading.types import ItemKind
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import SAMPLES, Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection
from rubricweb.grades.human_matrices import RatingSource
from rubricweb.grades.human_models import Draw
from rubricweb.grades.models import Grade
from rubricweb.grades.raters import raters
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, RunEstimate, files, selectors, sentences
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
QUESTIONS = frozenset({ItemKind.QUESTION})
RUNS, TOPICS, ITEMS = 4, 6, 6
ONE = MeasureSpec("nuggets_strict_all", cutoff=1)
P_2 = MeasureSpec("P_2", cutoff=2)


@pytest.fixture
def bank(collection):
    """Each of four runs ranks a passage of its own first in each of six topics, then that of the next run.

    The grader rates a fifth of the cells 5, and people the same but for one passage of each topic.
    """
    bank = factories.gradable(collection, topics=TOPICS, passages=RUNS, items=ITEMS)
    config, random = factories.lexical_config(), np.random.default_rng(3)
    runs = [factories.RunFactory(collection=collection, run_tag=f"run{n}") for n in range(RUNS)]
    for topic in collection.topics.order_by("pk"):
        passages = [pooled.passage for pooled in topic.pool.order_by("position")]
        for number, run in enumerate(runs):
            both = [passages[number].doc_id, passages[(number + 1) % RUNS].doc_id]
            factories.RankingFactory(run=run, topic=topic, doc_ids=both)
        cells = [(item, passage) for item in bank.items.filter(topic=topic) for passage in passages]
        factories.grades(config, [(*cell, 5 if random.random() < 0.2 else 0) for cell in cells])
    return bank


@pytest.fixture
def spec_of(collection, bank):
    return lambda measure: BoardSpec(collection, factories.lexical_config(), bank, QUESTIONS, measure)


@pytest.fixture
def opened(bank, owner):
    def made(cells, cutoff, size=None):
        choice = CellChoice(
            bank,
            tuple(bank.collection.topics.all()),
            QUESTIONS,
            raters(bank)[0],
            cells=cells,
            cutoff=cutoff,
            size=size,
        )
        plan = CampaignPlan(f"{cells} {size}", Campaign.Mode.BLIND)
        return open_campaign(choice, plan, by=owner, seed=5)

    return made


@pytest.fixture
def rated(collection, assessor):
    """`rated(campaign)`: people rate as the grader does, and of each topic's first passage the contrary."""

    def rate(campaign, count=None):
        graded = {
            (revision, passage): rating
            for revision, passage, rating in Grade.objects.values_list("revision", "passage", "rating")
        }
        firsts = {topic.pool.order_by("position").first().passage_id for topic in collection.topics.all()}
        ratings = [
            (cell.item, cell.passage, 5 - rating if cell.passage_id in firsts else rating)
            for cell in campaign.cells.select_related("item", "passage")[:count]
            for rating in (graded[cell.revision_id, cell.passage_id],)
        ]
        factories.rate(ratings, by=assessor, draw=campaign.draw_id)

    return rate


def estimates(board):
    return {row.run_tag: row.estimate for row in board.rows}


@pytest.mark.parametrize(
    ("cells", "measure"),
    [(Campaign.Cells.ANSWERS, ONE), (Campaign.Cells.PASSAGES, P_2)],
)
def test_estimates_of_all_cells_are_the_scores_by_people(spec_of, opened, rated, cells, measure):
    campaign = opened(cells, measure.cutoff, size=RUNS * TOPICS * ITEMS)
    assert campaign.cells.count() == RUNS * TOPICS * ITEMS
    rated(campaign)
    board, people = (
        selectors.board(replace(spec_of(measure), source=source))
        for source in (RatingSource.GRADER, RatingSource.HUMANS)
    )
    by_run = estimates(board)
    assert {row.run_tag: pytest.approx(row.score) for row in people.rows} == {
        tag: estimate.value for tag, estimate in by_run.items()
    }
    assert any(by_run[row.run_tag].value != pytest.approx(row.score) for row in board.rows)
    assert board.sample.reason == ""
    line = next(line for line in files.tex_lines(board) if " run0 " in line)
    assert line.endswith("& -- & -- \\\\"), "no interval of no width"
    assert all(estimate.is_certain for estimate in by_run.values())


def test_what_the_arithmetic_leaves_is_no_interval():
    assert RunEstimate(0.766666666666669, 0.766666664209496, 0.766666669123838).is_certain
    assert not RunEstimate(0.7667, 0.7666, 0.7668).is_certain


def test_estimates_of_a_part_have_intervals_that_hold_the_score_by_people(spec_of, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=110))
    board = selectors.board(spec_of(ONE))
    assert board.sample.size.cells == 110
    assert all(0.02 < estimate.high - estimate.low < 0.7 for estimate in estimates(board).values())
    stated = dict(files.provenance.statements(board))["estimate"]
    assert "95 % t interval of a power-tuned difference estimator (PPI++)" in stated
    assert sentences.ASSUMES_NOTHING in stated
    assert files.document(board)["estimate"]["design"] == "answers"
    assert "score_by_people\tscore_by_people_low" in "\n".join(files.tsv_lines(board))


def test_cells_of_answers_serve_rubric_cover_and_every_threshold(spec_of, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=130))
    for min_grade in (2, 4):
        board = selectors.board(spec_of(MeasureSpec(cutoff=1, min_grade=min_grade)))
        assert board.sample.design == "answers"
        assert all(estimates(board).values())


def test_a_campaign_under_way_says_when_its_intervals_hold(spec_of, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=120), count=110)
    board = selectors.board(spec_of(ONE))
    assert (board.sample.rated, board.sample.drawn) == (110, 120)
    message = "110 of the 120 drawn pairs are rated: the intervals hold once all are"
    assert message in sentences.basis(board.sample)
    document = files.document(board)["estimate"]
    assert (document["cells_drawn_and_rated"], document["cells_drawn"]) == (110, 120)


@pytest.mark.parametrize(
    ("cells", "cutoff", "measure", "reason"),
    [
        (Campaign.Cells.ANSWERS, 1, P_2, "no campaign drew pairs"),
        (Campaign.Cells.PASSAGES, 1, P_2, "no campaign drew pairs"),
        (Campaign.Cells.PASSAGES, 2, ONE, "no campaign drew pairs"),
    ],
)
def test_draws_for_other_scores_do_not_count(spec_of, opened, rated, cells, cutoff, measure, reason):
    rated(opened(cells, cutoff, size=60))
    board = selectors.board(spec_of(measure))
    assert not any(estimates(board).values())
    assert reason in board.sample.reason
    assert "a sample that estimates every run's" in sentences.lacks(board.sample)


def test_score_that_is_no_sum_asks_for_no_campaign(spec_of, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=60))
    board = selectors.board(spec_of(MeasureSpec("nuggets_all", cutoff=2)))
    assert not any(estimates(board).values())
    assert sentences.lacks(board.sample) == f"No estimate of people's scores: {sentences.SEVERAL}."


def test_basis_of_passages_speaks_of_passages(spec_of, opened, rated):
    rated(opened(Campaign.Cells.PASSAGES, 2, size=RUNS * TOPICS * ITEMS * 5 // 6))
    sample = selectors.board(spec_of(P_2)).sample
    assert sample.size.cells == RUNS * TOPICS * 5 // 6
    assert 0 < sample.size.misses < sample.size.below, "people find something where the grader finds nothing"
    basis = sentences.basis(replace(sample, unsampled=1, items=24))
    assert "From 20 passages that were drawn at random" in basis
    assert "because 1 of 24 passages could not be drawn" in basis
    assert "About 20 more passages would make" in basis


def test_a_run_that_is_newer_than_the_draw_has_no_estimate(spec_of, collection, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=130))
    run = factories.RunFactory(collection=collection, run_tag="newer")
    for topic in collection.topics.all():
        passage = factories.PooledFactory(topic=topic).passage
        factories.RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id])
    Collection.objects.filter(pk=collection.pk).update(stamp=new_stamp())
    found = estimates(selectors.board(spec_of(ONE)))
    assert found.pop("newer") is None
    assert all(found.values())


def test_items_to_avoid_leave_no_estimate_of_weighted_scores(spec_of, bank, opened, rated):
    rated(opened(Campaign.Cells.ANSWERS, 1, size=130))
    bank.items.filter(pk=bank.items.first().pk).update(importance="avoid", weight=-1)
    board = selectors.board(spec_of(MeasureSpec("nuggets_strict_weighted", cutoff=1)))
    assert "items to avoid" in board.sample.reason


def test_every_sample_of_a_campaign_has_a_design_and_its_words():
    designs = {str(design) for design in sentences.CHOICES}
    assert {str(cells) for cells in SAMPLES} == designs == {str(design) for design in sentences.ENOUGH}
    for cells in SAMPLES:
        campaign = Campaign(cells_taken=cells, draw=Draw(pk=1, design=Draw.Design(str(cells))))
        assert campaign.counts_for.endswith("The intervals hold once all are rated.")


def test_a_board_names_the_samples_as_campaigns_do():
    labels = {str(value): label for value, label in Campaign.Cells.choices}
    assert {str(design): labels[design] for design in sentences.CHOICES} == {
        str(design): choice for design, choice in sentences.CHOICES.items()
    }
