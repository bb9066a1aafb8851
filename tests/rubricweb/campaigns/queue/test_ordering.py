"""Which cells a campaign takes, and in which order, by hand and beside a slow reckoning."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from grading.measures.cover import cover
from grading.types import FAILED, MISSING
from rubricweb.campaigns import ordering
from rubricweb.campaigns.actions import UnfitCampaign
from rubricweb.campaigns.ordering import Cells
from rubricweb.campaigns.population import RANDOM, ChoiceInputs, chosen
from rubricweb.grades.human_ratings import rate_cell
from rubricweb.grades.models import Grade
from rubricweb.grades.topic_ratings import UNJUDGED
from tests.factories import JudgmentFactory, RankingFactory, RunFactory, grade, lexical_config
from tests.rubricweb.campaigns.conftest import choice_of, grade_all

NAN = np.nan


def cells_of(ratings, *, confidence=None, others=(), judged=None, in_top=None) -> Cells:
    array = np.array(ratings, dtype=np.int8)
    return Cells(
        ratings=array,
        confidence=np.full(array.shape, NAN) if confidence is None else np.array(confidence, dtype=float),
        others=tuple(np.array(other, dtype=np.int8) for other in others),
        judged=np.array([UNJUDGED] * len(array) if judged is None else judged, dtype=np.int16),
        in_top=np.ones((1, len(array)), dtype=bool) if in_top is None else np.array(in_top, dtype=bool),
        min_relevant=2,
        min_grade=4,
    )


def test_failed_and_unsure_cells():
    cells = cells_of([[FAILED, 3, 3, MISSING]], confidence=[[NAN, 0.59, 0.6, NAN]])
    assert ordering.unsure(cells).tolist() == [[True, True, False, False]]
    assert ordering.by_confidence(cells).round(2).tolist() == [[1.0, 0.41, 0.4, 0.5]]


def test_graders_disagree_across_the_threshold():
    cells = cells_of([[5, 4, 2, 5]], others=[[[3, 5, 0, FAILED]], [[4, 4, 1, MISSING]]])
    assert ordering.disagreeing(cells).tolist() == [[True, False, False, False]]
    assert ordering.by_disagreement(cells).round(2).tolist() == [[0.4, 0.2, 0.4, 0.0]]


def test_grader_and_judgment_disagree():
    """A spurious entry, an relevant but uncovered passage, a covered one, and one without a judgment."""
    cells = cells_of([[5, 0], [1, 0], [5, 0], [5, 0]], judged=[0, 3, 3, UNJUDGED])
    assert ordering.disagreeing(cells).tolist() == [
        [True, False],
        [True, True],
        [False, False],
        [False, False],
    ]
    assert ordering.by_disagreement(cells).round(2).tolist() == [[1, 0], [0.8, 1], [0, 0], [0, 0]]


def test_flips_learn_from_what_people_rated():
    checked = ordering.checked_levels(
        [(np.array([[5, 5, 5, 5]], np.int8), np.array([[0, 1, 5, MISSING]], np.int8))], 4
    )
    before, after = (
        ordering.flip_chances(cells_of([[5, 0]]), counts)[0] for counts in (np.zeros((2, 6)), checked)
    )
    assert before.tolist() == [0.25, 0.0625]
    assert after.tolist() == [(2 + 2 * 0.25) / 5, 0.0625]


def slow_change(ratings, ranked, others, place):
    """Flip one cell, score again, and add up what the formula says, pair by pair."""
    before = cover(ratings, ranked, cutoff=3)
    flipped = ratings.copy()
    flipped[place] = 0 if ratings[place] >= 4 else 5
    after = cover(flipped, ranked, cutoff=3)
    topics = 2
    means, moved = (before + others) / topics, (after - before) / topics
    order = np.argsort(-means, kind="stable")
    step = 1 / (ratings.shape[1] * topics)
    total = 0.0
    for upper, lower in pairwise(order):
        gap = means[upper] - means[lower]
        swing = moved[lower] - moved[upper]
        if swing > 1e-12 or (gap <= 1e-12 and abs(swing) > 1e-12):
            total += step / (step + gap)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_expected_change_is_that_of_flipping_each_cell(seed):
    rng = np.random.default_rng(seed)
    ratings = rng.choice([-2, -1, 0, 3, 4, 5], size=(8, 3)).astype(np.int8)
    ranked = np.array([rng.permutation(8)[:5] for _ in range(6)], dtype=np.int32)
    others = rng.choice([0.0, 1 / 3, 2 / 3], size=6)
    in_top = np.zeros((6, 8), dtype=bool)
    np.put_along_axis(in_top, ranked[:, :3].astype(int), True, axis=1)
    chances = rng.random(ratings.shape)
    means = (cover(ratings, ranked, cutoff=3) + others) / 2
    result = ordering.by_leaderboard(cells_of(ratings, in_top=in_top), chances, means, 2)
    slow = [[slow_change(ratings, ranked, others, (row, column)) for column in range(3)] for row in range(8)]
    assert result.scores == pytest.approx(chances * np.array(slow))
    assert ((result.pairs >= 0) == (np.array(slow) > 0)).all()


def test_without_two_runs_nothing_can_swap():
    result = ordering.by_leaderboard(cells_of([[5]]), np.ones((1, 1)), np.array([0.5]), 1)
    assert (result.scores.tolist(), result.pairs.tolist()) == ([[0.0]], [[-1]])


def test_the_draw_spreads_its_random_share_and_says_its_chance():
    scores = np.arange(100.0)
    drawn = ordering.draw(scores, size=20, random_share=0.2, seed=3)
    assert drawn.probability == 0.04
    assert np.flatnonzero(drawn.is_random).tolist() == [4, 9, 14, 19]
    assert len(set(drawn.places.tolist())) == 20
    steered = drawn.places[~drawn.is_random]
    assert (np.diff(steered) < 0).all()
    assert set(drawn.places) >= {99, 98, 97, 96, 95, 94}


def test_each_cell_is_drawn_at_random_with_the_stated_chance():
    """Whatever its score: 400 draws, within four standard deviations."""
    drawn = [ordering.draw(np.arange(10.0), size=5, random_share=0.4, seed=seed) for seed in range(400)]
    counts = np.bincount(np.concatenate([order.places[order.is_random] for order in drawn]), minlength=10)
    assert drawn[0].probability == 0.2
    assert np.abs(counts - 80).max() < 4 * np.sqrt(400 * 0.2 * 0.8)


@pytest.mark.django_db
class TestChoice:
    """A choice over rows of the database."""

    def test_random_order_takes_all_by_lot(self, bank):
        drawn = chosen(choice_of(bank), seed=1)
        assert (len(drawn.cells), drawn.population) == (12, 12)
        assert {cell.probability for cell in drawn.cells} == {1.0}
        assert {cell.reason for cell in drawn.cells} == {RANDOM}
        assert drawn == chosen(choice_of(bank), seed=1)
        assert drawn != chosen(choice_of(bank), seed=2)

    def test_unsure_cells_come_first(self, bank):
        low = Grade.objects.order_by("pk").last()
        Grade.objects.filter(pk=low.pk).update(confidence=0.25)
        drawn = chosen(choice_of(bank, order="confidence", random_share=0.0), seed=1)
        assert (drawn.cells[0].revision, drawn.cells[0].passage) == (low.revision_id, low.passage_id)
        assert drawn.cells[0].reason == "The grader is 25% sure."
        assert len(chosen(choice_of(bank, cells="unsure"), seed=1).cells) == 1

    def test_disagreement_looks_at_other_graders_and_judgments(self, bank):
        item = bank.items.first()
        passages = [pooled.passage for pooled in item.topic.pool.all()]
        other = lexical_config()
        other.pk, other.llm, other.fingerprint = None, "other", "other"
        other.save()
        grade(other, item, passages[1], 0)
        JudgmentFactory(topic=item.topic, doc_id=passages[0].doc_id, relevance=0)
        drawn = chosen(choice_of(bank, cells="disagreeing", order="disagreement", random_share=0), seed=1)
        assert {cell.passage for cell in drawn.cells} == {passages[0].pk, passages[1].pk}
        assert len(drawn.cells) == 3
        assert {cell.reason for cell in drawn.cells} == {"Graders disagree, or grader and judgment."}

    def test_the_leaderboard_puts_close_runs_first(self, bank, assessor):
        """Of two topics only the first has runs: one tops the other by what a single passage covers."""
        topic = bank.collection.topics.first()
        passages = [pooled.passage for pooled in topic.pool.all()]
        Grade.objects.exclude(passage=passages[0]).update(rating=0)
        for run_tag, passage in {"better": passages[0], "worse": passages[1]}.items():
            run = RunFactory(collection=bank.collection, run_tag=run_tag)
            RankingFactory(run=run, topic=topic, doc_ids=[passage.doc_id])
        bank.collection.stamp += 1
        bank.collection.save()
        drawn = chosen(choice_of(bank, order="leaderboard", random_share=0.0), seed=1)
        assert {cell.passage for cell in drawn.cells[:2]} == {passages[0].pk}
        assert drawn.cells[0].reason == "Could swap ranks 1 and 2 of the leaderboard."
        assert {cell.passage for cell in drawn.cells[2:4]} == {passages[1].pk}
        assert drawn.cells[4].reason == "Next in this campaign."
        mine = next(cell for cell in drawn.cells if cell.revision == drawn.cells[0].revision)
        assert mine.config == lexical_config().pk

    def test_the_share_of_random_cells_is_kept_with_its_chance(self, campaign_of):
        campaign = campaign_of(order="confidence", size=5, random_share=0.4)
        assert campaign.population == 12
        assert campaign.cells.filter(is_random=True).count() == 2
        chances = set(campaign.cells.values_list("is_random", "draw_probability"))
        assert chances == {(True, 2 / 12), (False, 0.0)}

    def test_what_leaves_nothing_is_refused(self, campaign_of):
        with pytest.raises(UnfitCampaign, match="No pair"):
            campaign_of(cells="unsure")

    def test_too_many_ratings_are_refused(self, campaign_of, monkeypatch):
        monkeypatch.setattr("rubricweb.campaigns.actions.MOST_TURNS", 23)
        with pytest.raises(UnfitCampaign, match="Choose a sample"):
            campaign_of(assessors=2)

    def test_reading_a_choice_takes_a_fixed_number_of_queries(self, bank, django_assert_max_num_queries):
        grade_all(bank, lexical_config(), 4)
        chosen(choice_of(bank, order="leaderboard"), seed=1)
        with django_assert_max_num_queries(14):
            chosen(choice_of(bank, order="leaderboard"), seed=1)

    def test_what_people_rated_is_known(self, bank, campaign_of, assessor):
        """The grader said 4, a person 0: one cell of rating 4 was checked, and changed sides."""
        rate_cell(campaign_of(size=1).cells.get().human_cell, rating=0, by=assessor, seen=0)
        assert ChoiceInputs(choice_of(bank)).checked.tolist() == [[0, 0, 0, 0, 1, 0]] * 2
