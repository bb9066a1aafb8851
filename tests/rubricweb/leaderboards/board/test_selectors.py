"""The board of `tests.worked`, by hand."""

import math

import pytest

from grading.statistics.rank_correlation import ALL_TIED, TOO_FEW
from grading.statistics.rank_intervals import ApproximateRank
from grading.types import ItemKind, Purpose
from rubricweb.banks import actions
from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import OfficialScore, Run
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.grades.store import save_grades
from rubricweb.leaderboards.board import BoardSpec, files, selectors
from tests import factories
from tests.worked import judge

COVER = MeasureSpec()
QUESTIONS = frozenset({ItemKind.QUESTION})


def spec_of(made, measure=COVER):
    return BoardSpec(made.collection, made.config, made.bank, QUESTIONS, measure)


def board_of(made, measure=COVER):
    return selectors.board(spec_of(made, measure))


def test_rows_are_ranked_with_ties(made):
    rows = board_of(made).rows

    assert [(row.place, row.run_tag, row.score) for row in rows] == [
        ("1", "both", 1.0),
        ("2", "stray", 0.5),
        ("=3", "first", 0.25),
        ("=3", "lacks", 0.25),
    ]


def test_standard_errors_are_the_sample_deviation_by_root_topics(made):
    stderrs = {row.run_tag: row.stderr for row in board_of(made).rows}

    assert stderrs == pytest.approx({"both": 0, "stray": 0.5, "first": 0.25, "lacks": 0.25})


def test_one_topic_has_no_standard_error(made):
    for item in made.items["t2"]:
        actions.retire_item(item, seen=item.version, by=None)
    board = board_of(made)

    assert board.n_topics == 1
    assert {row.stderr for row in board.rows} == {None}


def test_a_topic_that_a_run_lacks_counts_zero_and_is_told(made):
    rows = {row.run_tag: row for row in board_of(made).rows}

    assert (rows["lacks"].score, rows["lacks"].n_topics, rows["lacks"].n_answered) == (0.25, 2, 1)
    assert (rows["both"].n_topics, rows["both"].n_answered) == (2, 2)


def test_topics_without_items_are_left_out(made):
    board = board_of(made)

    assert (board.n_topics, board.n_left_out, board.n_items) == (2, 1, 3)


def test_a_topic_with_items_and_no_grades_counts_zero(made):
    """It has no labels, though: then it is in no mean."""
    actions.add_item(made.bank, made.topics["t3"], kind="question", text="What is frost?", by=None)

    assert [row.score for row in board_of(made).rows] == pytest.approx([2 / 3, 1 / 3, 1 / 6, 1 / 6])
    assert board_of(made, MeasureSpec("P_1")).n_topics == 2


def test_judged_passages_are_those_among_the_first(made):
    assert {row.run_tag: row.judged for row in board_of(made).rows} == {
        "both": 1,
        "first": 1,
        "lacks": 1,
        "stray": pytest.approx(2 / 3),
    }
    at_one = {row.run_tag: row.judged for row in board_of(made, MeasureSpec(cutoff=1)).rows}
    assert at_one["stray"] == 0.5


@pytest.mark.parametrize(
    ("measure", "k"),
    [(MeasureSpec(cutoff=7), 7), (MeasureSpec("P_5", cutoff=7), 5), (MeasureSpec("map", cutoff=7), 7)],
)
def test_judged_looks_as_deep_as_the_measure(measure, k):
    assert measure.judged_at == k


def test_correlation_with_human_judgments(made):
    """nDCG by judgments: both 1, first 0.5, stray 0.5, lacks 0; cover 1, 0.25, 0.5, 0.25."""
    judge(made)
    (found,) = board_of(made).correlations

    assert (found.against, found.measure) == ("human judgments", "ndcg_cut_10, gains are the judgments")
    assert found.spearman.value == pytest.approx(3.75 / 4.5)
    assert found.kendall.value == pytest.approx(4 / 5)
    assert found.pearson.value == pytest.approx(0.375 / math.sqrt(0.375 * 0.5))
    assert found.spearman.n == 4


def test_correlation_is_under_the_same_measure_where_it_is_one_of_labels(made):
    judge(made)
    (found,) = board_of(made, MeasureSpec("P_2")).correlations

    assert found.measure == "P_2, relevant from 2"


@pytest.mark.parametrize(("values", "is_rank"), [((1, 2, 3, 4), True), ((0.9, 0.7, 0.5, 0.3), False)])
def test_correlation_with_an_official_board_of_ranks_or_scores(made, values, is_rank):
    for run_tag, value in zip(("both", "stray", "first", "lacks"), values, strict=True):
        OfficialScore.objects.create(
            collection=made.collection, run_tag=run_tag, value=value, is_rank=is_rank
        )
    (found,) = board_of(made).correlations

    assert found.against == "official leaderboard"
    assert found.spearman.value == pytest.approx(4.5 / math.sqrt(4.5 * 5))


def test_runs_that_an_official_board_lacks_get_a_rank_there(made):
    """`stray` is behind `both` alone. Two topics tell nothing apart: there is no interval."""
    for run_tag, score in {"both": 0.9, "elsewhere": 0.8, "first": 0.7, "lacks": 0.7}.items():
        OfficialScore.objects.create(
            collection=made.collection, run_tag=run_tag, value=score, is_rank=False, source="NIST"
        )
    board = board_of(made)
    (found,) = board.correlations

    assert (found.source, found.placed) == ("NIST", (ApproximateRank("stray", 1, None, None),))
    assert files.board_document(board)["correlations"][0]["approximate_ranks"] == [
        {"run_tag": "stray", "rank": 1.0, "low": None, "high": None}
    ]
    assert "# approximate rank of stray on official leaderboard: 1" in files.tsv_lines(board)


def test_void_correlations_say_why(made):
    judge(made)
    Grade.objects.update(rating=None, outcome="failed")
    (found,) = board_of(made).correlations
    assert (found.spearman.value, found.spearman.reason) == (None, ALL_TIED)

    Run.objects.filter(run_tag__in=["first", "lacks"]).delete()
    made.collection.stamp += 1
    made.collection.save()
    (found,) = board_of(made).correlations
    assert (found.kendall.value, found.kendall.reason, found.kendall.n) == (None, TOO_FEW, 2)


def test_the_stamp_of_the_items_changes_with_the_items_only(made):
    before = board_of(made).items_stamp
    assert board_of(made, MeasureSpec("map")).items_stamp == before

    item = made.items["t1"][0]
    item = actions.retire_item(item, seen=item.version, by=None)
    assert board_of(made).items_stamp != before

    actions.restore_item(item, seen=item.version, by=None)
    actions.reorder_items(made.bank, made.topics["t1"], order=[made.items["t1"][1].pk], by=None)
    assert board_of(made).items_stamp == before


@pytest.mark.parametrize("is_ungraded", [True, False])
def test_a_bank_that_nobody_graded_is_ungraded(made, is_ungraded):
    if is_ungraded:
        Grade.objects.update(rating=None, outcome="failed")

    assert board_of(made).is_ungraded == is_ungraded


def test_direct_labels_need_no_bank(made):
    """Labels d1 1, d2 0: P@1 of both is 1, of lacks 0. Topics t2 and t3 have no labels."""
    config = imported_config("labeller", "YesNoPrompt", Purpose.DIRECT)
    direct = ItemRevision.objects.create(topic=made.topics["t1"], uid="direct")
    rows = [
        Grade(
            config=config,
            topic=made.topics["t1"],
            revision=direct,
            passage=made.passages[d],
            rating=n,
            outcome="numeric",
        )
        for d, n in (("d1", 1), ("d2", 0))
    ]
    save_grades(config, rows)
    spec = BoardSpec(
        made.collection, config, None, frozenset({ItemKind.DIRECT}), MeasureSpec("P_1", min_grade=1)
    )
    board = selectors.board(spec)

    assert board.n_topics == 1
    assert [(row.run_tag, row.score) for row in board.rows] == [
        ("both", 1),
        ("first", 1),
        ("lacks", 0),
        ("stray", 0),
    ]


def test_kinds_choose_the_items(made):
    actions.add_item(made.bank, made.topics["t1"], kind="nugget", text="Anthocyanins are red", by=None)

    both = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
    board = selectors.board(BoardSpec(made.collection, made.config, made.bank, both, MeasureSpec()))
    assert board.n_items == 4
    assert board.rows[0].score == pytest.approx((2 / 3 + 1) / 2)
    assert board_of(made).n_items == 3


def test_no_runs_make_an_empty_board(collection):
    bank = factories.BankFactory(collection=collection)
    spec = BoardSpec(collection, factories.lexical_config(), bank, QUESTIONS, MeasureSpec())

    assert selectors.board(spec).rows == ()


def test_queries_are_few_and_do_not_grow(made, django_assert_max_num_queries):
    board_of(made)
    with django_assert_max_num_queries(10):
        board_of(made)


def test_judged_counts_no_passages_of_topics_without_items(made):
    """t3 asks nothing, so that what `both` ranks there waits for no grade."""
    both = made.collection.runs.get(run_tag="both")
    factories.RankingFactory(run=both, topic=made.topics["t3"], doc_ids=["f1"])
    judged = {row.run_tag: row.judged for row in board_of(made).rows}
    assert judged == {"both": 1.0, "first": 1.0, "lacks": 1.0, "stray": pytest.approx(2 / 3)}
