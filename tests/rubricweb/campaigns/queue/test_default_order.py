"""The default order of a campaign's cells, and what it finds in the same time as cells by lot."""

from __future__ import annotations

import numpy as np
import pytest

from grading.measures.cover import covered_items
from grading.statistics.max_t import ALPHA, pairwise_p
from rubricweb.api.resources.assessment import NewCampaign
from rubricweb.campaigns import ordering
from rubricweb.campaigns.forms import CampaignForm
from rubricweb.campaigns.management.commands.open_campaign import Command
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import ChoiceInputs, chosen
from rubricweb.grades.store import GradeRow, save_grades
from tests.factories import RankingFactory, RunFactory, gradable, lexical_config
from tests.rubricweb.campaigns.conftest import choice_of
from tests.rubricweb.campaigns.queue.test_ordering import cells_of

pytestmark = pytest.mark.django_db
TOPICS, PASSAGES, ITEMS, RUNS, CUTOFF = 14, 24, 4, 6, 5
SECONDS, READING = 15, 15
MINUTES = 60
Order = Campaign.Order


@pytest.fixture
def ranked_bank(collection):
    """A fifth of the cells reach the threshold, and each run ranks them worse than the run before it."""
    random = np.random.default_rng(5)
    bank = gradable(collection, topics=TOPICS, passages=PASSAGES, items=ITEMS)
    runs = [RunFactory(collection=collection, run_tag=f"run{number}") for number in range(RUNS)]
    rows = []
    for topic in collection.topics.all():
        passages = [pooled.passage for pooled in topic.pool.all()]
        reached = random.random((PASSAGES, ITEMS)) < random.beta(0.4, 1.6, PASSAGES)[:, np.newaxis]
        for column, item in enumerate(bank.items.filter(topic=topic)):
            rows += [
                GradeRow(topic.pk, item.revision_id, passage.pk, 4 if reached[row, column] else 0, "numeric")
                for row, passage in enumerate(passages)
            ]
        for number, run in enumerate(runs):
            guesses = reached.mean(axis=1) * (1 - 2 * number / RUNS) + random.normal(0, 0.15, PASSAGES)
            doc_ids = [passages[row].doc_id for row in np.argsort(-guesses)]
            RankingFactory(run=run, topic=topic, doc_ids=doc_ids)
    save_grades(lexical_config(), rows)
    collection.stamp += 1
    collection.save()
    return bank


def clear_and_right(bank, order: str) -> int:
    """Count the pairs of runs that people's ratings alone make clear, in the direction of all their ratings.

    People miss a tenth of what the grader covers and cover a hundredth of the rest. A rating takes SECONDS,
    and each passage is read once, until MINUTES are over.
    """
    choice = choice_of(bank, order=order, cutoff=CUTOFF)
    sheets = ChoiceInputs(choice).sheets
    random = np.random.default_rng(6)
    people = [
        random.random(sheet.cells.high.shape) < np.where(sheet.cells.high, 0.9, 0.01) for sheet in sheets
    ]
    rated = [np.zeros_like(reached) for reached in people]
    topics = {sheet.pool.topic_id: number for number, sheet in enumerate(sheets)}
    seconds, read = 0, set()
    for cell in chosen(choice, seed=1).cells:
        seconds += SECONDS + READING * (cell.passage not in read)
        if seconds > MINUTES * 60:
            break
        read.add(cell.passage)
        number = topics[cell.topic]
        column = [column.revision for column in sheets[number].columns].index(cell.revision)
        rated[number][sheets[number].pool.passage_pks.index(cell.passage), column] = True
    truth, board = (
        _scores(reached, sheets)
        for reached in (people, [cells & mask for cells, mask in zip(people, rated, strict=True)])
    )
    apart, true = (scores.mean(axis=1)[:, np.newaxis] - scores.mean(axis=1) for scores in (board, truth))
    return int(((pairwise_p(board) <= ALPHA) & (apart * true > 0)).sum() // 2)


def _scores(reached, sheets):
    """Rubric-Cover, of shape (runs, topics), from cells that reach the threshold."""
    scores = [
        covered_items(cells.astype(np.int8), sheet.pool.ranked_rows, cutoff=CUTOFF, min_grade=1).mean(axis=1)
        for cells, sheet in zip(reached, sheets, strict=True)
    ]
    return np.stack(scores, axis=1)


def test_default_order_makes_more_pairs_clear_than_cells_by_lot(ranked_bank):
    by_default, by_lot = (
        clear_and_right(ranked_bank, order) for order in (Campaign.DEFAULT_ORDER, Order.RANDOM)
    )
    assert by_default >= 8
    assert by_default >= 1.5 * by_lot


def test_default_order_is_that_of_page_command_and_api(bank):
    fields = CampaignForm(bank.collection, [bank]).fields
    command = Command().create_parser("manage.py", "open_campaign")
    offered = [
        fields["order"].initial,
        command.parse_args(["autumn", "first", "--grader", "1"]).order,
        NewCampaign().fields["order"].default,
        choice_of(bank).__class__.__dataclass_fields__["order"].default,
    ]
    assert offered == [Campaign.DEFAULT_ORDER] * 4
    assert fields["cells"].initial == Campaign.Cells.ALL, "the order of other cells counts for nothing"


def test_by_rank_goes_down_all_runs_alike():
    """Three passages are ranked 1 or 2 by two runs, and no run has the fourth; 4 is the threshold."""
    cells = cells_of([[0, 4], [5, 0], [4, 4], [5, 5]], in_top=np.ones((2, 4), dtype=bool))
    scores = ordering.by_rank(cells, np.array([[0, 1], [1, 2]], dtype=np.int32))
    places = [divmod(place, 2) for place in np.argsort(-scores.ravel(), kind="stable").tolist()]
    assert places[:2] == [(0, 1), (1, 0)]
    assert places[2:4] == [(2, 0), (2, 1)]
    assert places[4:6] == [(0, 0), (1, 1)]
    assert not scores[3].any()


def test_by_rank_says_of_random_cells_what_it_says_of_others(bank):
    """Else an assessor who rates blind would read from the reason that the grader covers the item."""
    drawn = chosen(choice_of(bank, order="rank", random_share=0.5), seed=1)
    assert {cell.is_random for cell in drawn.cells} == {True, False}
    assert {cell.reason for cell in drawn.cells} == {"Next in this campaign."}
