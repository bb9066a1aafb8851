"""Correlations of boards that can be scored by hand with official ones."""

import pytest
from scipy import stats

from grading.statistics.mean_intervals import UNDEFINED, ConfidenceInterval
from grading.statistics.rank_correlation import NO_GRADES, TOO_FEW, Coefficient
from grading.topic_attributes import TopicSlice
from rubricweb.corpus.models import OfficialScore
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.leaderboards import meta, meta_tables
from rubricweb.leaderboards.board import BoardError
from rubricweb.leaderboards.meta import (
    JUDGMENTS,
    MetaSpec,
    compared,
    contenders,
    meta_rows,
    reference_choices,
)
from tests.worked import judge

pytestmark = pytest.mark.portable

RUNS = ("both", "first", "lacks", "stray")
COVER = {3: [1, 0.25, 0.25, 0.75], 4: [1, 0.25, 0.25, 0.5], 5: [0.25, 0.25, 0, 0]}


def official(collection, board="TREC", values=(1, 3, 4, 2), *, is_rank=True):
    for run_tag, value in zip(RUNS, values, strict=True):
        OfficialScore.objects.create(
            collection=collection, board=board, run_tag=run_tag, value=value, is_rank=is_rank
        )


def official_topics(made, board="TREC", **by_query_id):
    """Scores of the runs on topics, in the order of RUNS."""
    for query_id, values in by_query_id.items():
        for run_tag, value in zip(RUNS, values, strict=True):
            OfficialScore.objects.create(
                collection=made.collection,
                board=board,
                run_tag=run_tag,
                topic=made.topics[query_id],
                value=value,
                is_rank=False,
            )


def rows_of(made, min_grades=(3, 4, 5)):
    return contenders(made.collection, [made.config], [made.bank], list(min_grades))


def test_every_threshold_against_an_official_board(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2)
    for row in meta_rows(rows_of(made), wanted):
        ours = COVER[row.contender.min_grade]
        (found,) = row.cells
        assert found.value(Coefficient.SPEARMAN) == pytest.approx(
            stats.spearmanr(ours, [4, 2, 1, 3]).statistic
        )
        assert found.value(Coefficient.KENDALL) == pytest.approx(
            stats.kendalltau(ours, [4, 2, 1, 3]).statistic
        )


def test_the_official_top_only(made):
    official(made.collection)
    (row,) = meta_rows(rows_of(made, [4]), MetaSpec("official:TREC", ("rubric_cover",), 2, k=3))
    assert row.cells[0].by[Coefficient.KENDALL].n == 3
    (row,) = meta_rows(rows_of(made, [4]), MetaSpec("official:TREC", ("rubric_cover",), 2, k=2))
    assert row.cells[0].by[Coefficient.KENDALL].reason == TOO_FEW


def test_judgments_are_scored_by_the_same_measure(made):
    judge(made)
    assert reference_choices(made.collection) == [(JUDGMENTS, "human judgments")]
    wanted = MetaSpec(JUDGMENTS, ("P_2", "rubric_cover"), 2)
    precision, cover = (found.against for found in meta_rows(rows_of(made, [4]), wanted)[0].cells)
    assert precision == "human judgments (P_2, relevant from 2)"
    assert cover == "human judgments (ndcg_cut_10, gains are the judgments)"


@pytest.fixture
def two_topics_count(monkeypatch):
    """Intervals of the worked collection, whose two topics are too few."""
    meta._drawn.cache_clear()
    monkeypatch.setattr(meta, "MIN_TOPICS", 2)
    yield
    meta._drawn.cache_clear()


def test_two_topics_have_no_intervals_and_only_the_best_is_as_good(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2)
    found = compared(meta_rows(rows_of(made), wanted), wanted, Coefficient)
    spearman = found.columns[0]
    assert not any(cell.interval(Coefficient.SPEARMAN).is_defined for cell in spearman.cells)
    best = max(cell.value(Coefficient.SPEARMAN) for cell in spearman.cells)
    assert spearman.as_good == [cell.value(Coefficient.SPEARMAN) == best for cell in spearman.cells]


def test_details_have_intervals_and_costs(made, two_topics_count):
    official(made.collection, values=(4, 2, 3, 1))
    ((row,),) = (
        one.cells for one in meta_rows(rows_of(made, [4]), MetaSpec("official:TREC", ("rubric_cover",), 2))
    )
    value, spread = row.by[Coefficient.KENDALL], row.interval(Coefficient.KENDALL)
    ours = COVER[4]
    assert value.value == pytest.approx(stats.kendalltau(ours, [-4, -2, -3, -1]).statistic)
    assert spread.low <= value.value <= spread.high
    assert row.costs[0].run_tag == "both"
    without = stats.kendalltau(ours[1:], [-2, -3, -1]).statistic
    assert row.costs[0].cost == pytest.approx(without - value.value)


def test_a_grader_without_grades_is_void_by_name(made):
    official(made.collection)
    Grade.objects.update(rating=None, outcome="failed")
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2)
    rows = meta_rows(rows_of(made, [4]), wanted)
    assert rows[0].cells[0].by[Coefficient.KENDALL].reason == NO_GRADES
    document = meta_tables.document(compared(rows, wanted, Coefficient))
    assert document["rows"][0]["measures"]["rubric_cover"]["kendall"]["void"] == "no_grades"


def test_a_direct_grader_has_one_row_and_no_cover(made):
    official(made.collection)
    direct = imported_config("m", "Sun", "direct")
    (row,) = contenders(made.collection, [direct], [made.bank], [3, 4, 5])
    assert (row.bank, row.min_grade) == (None, 1)
    assert row.spec("rubric_cover") is None
    rows = meta_rows([row], MetaSpec("official:TREC", ("rubric_cover",), 2))
    assert rows[0].cells[0].value(Coefficient.KENDALL) is None
    assert meta_tables.void(rows) == "a dash is void: this measure has no meaning for this grader"


def test_too_many_rows_are_refused(made, monkeypatch):
    monkeypatch.setattr(meta, "MAX_BOARDS", 2)
    with pytest.raises(BoardError, match="3 rows to compare, expected at most 2"):
        rows_of(made)


def test_what_is_near_the_best_is_marked_where_the_reader_says_how_near(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2, within=0.15)
    found = compared(meta_rows(rows_of(made), wanted), wanted, [Coefficient.SPEARMAN])
    sheet = meta_tables.comparison(found, "TREC")
    assert [cells[3].mark.value for cells in sheet.rows] == ["best", "best", ""]
    assert [cells[-1].text for cells in sheet.rows] == ["1", "1", "0"]


def test_with_two_topics_whatever_is_lower_is_as_good_as_the_best(made, two_topics_count):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2)
    found = compared(meta_rows(rows_of(made), wanted), wanted, Coefficient)
    spearman = found.columns[0]
    low, high = spearman.standings[2].interval.low, spearman.standings[2].interval.high
    assert spearman.standings[2].behind > 0.15
    assert (low <= 0) == spearman.standings[2].is_as_good
    assert low <= high
    assert spearman.as_good[:2] == [True, True]


def test_a_win_is_a_measure_and_not_a_coefficient(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover", "cover-4"), 2, within=0)
    found = compared(meta_rows(rows_of(made), wanted), wanted, Coefficient)
    assert len(found.columns) == 2 * len(Coefficient)
    assert [found.wins(place) for place in range(3)] == [2, 2, 1]
    of_scores = [Coefficient.TAU_GAP, Coefficient.PEARSON]
    assert compared(found.rows, wanted, of_scores).wins(0) == 0, "they are not of the order alone"


def test_the_table_for_programs_has_a_line_a_board_and_measure(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover", "P_2"), 2)
    found = compared(meta_rows(rows_of(made), wanted), wanted, Coefficient)
    table = meta_tables.table([found, found], with_costs=True)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]

    assert len(rows) == 2 * 3 * 2
    assert [row["measure"] for row in rows[:2]] == ["rubric_cover", "P_2"]
    assert rows[2]["kendall"] == pytest.approx(stats.kendalltau(COVER[4], [4, 2, 1, 3]).statistic, abs=1e-15)
    assert (rows[0]["bank"], rows[0]["n_items"], rows[0]["against"]) == ("main", 3, "TREC (ranks)")
    assert {"kendall_low", "kendall_high", "kendall_behind_best_low", "costliest_1"} <= set(rows[0])
    assert ("collection", "autumn") in table.stated


ON_T1 = TopicSlice("kind", "what", "kind = what", frozenset({"t1"}), 3)


def test_a_slice_is_compared_with_the_official_scores_of_its_topics(made):
    """Of t1: both 1, first and lacks 0.5, stray 0."""
    official(made.collection, values=(0.5, 0.5, 0.5, 0.5), is_rank=False)
    official_topics(made, t1=(0.1, 0.2, 0.3, 0.4), t2=(0.9, 0.8, 0.7, 0.6))
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2, topics=ON_T1)
    rows = meta_rows(rows_of(made, [4]), wanted)
    (cell,) = rows[0].cells
    assert cell.against == "TREC (scores)"
    expected = stats.kendalltau([1, 0.5, 0.5, 0], [0.1, 0.2, 0.3, 0.4]).statistic
    assert cell.value(Coefficient.KENDALL) == pytest.approx(expected)
    found = compared(rows, wanted, [Coefficient.KENDALL])
    assert meta_tables.comparison(found, "TREC").title.endswith("TREC, 1 of 3 topics: kind = what")
    assert ("topics", "1 of 3 topics: kind = what") in meta_tables.stated([found])


def test_without_scores_of_topics_a_slice_is_compared_with_the_whole_board(made):
    official(made.collection)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2, topics=ON_T1)
    (cell,) = meta_rows(rows_of(made, [4]), wanted)[0].cells
    assert cell.against == "TREC (ranks, over all its topics)"


def test_official_scores_of_topics_are_resampled_with_ours(made, two_topics_count):
    """With the same scores on each topic every resample agrees fully with ours; means alone do not."""
    official(made.collection, values=(1, 0.25, 0.25, 0.5), is_rank=False)
    wanted = MetaSpec("official:TREC", ("rubric_cover",), 2)
    alone = meta_rows(rows_of(made, [4]), wanted)[0].cells[0].interval(Coefficient.KENDALL)
    official_topics(made, t1=(1, 0.5, 0.5, 0), t2=(1, 0, 0, 1))
    together = meta_rows(rows_of(made, [4]), wanted)[0].cells[0].interval(Coefficient.KENDALL)
    assert (together.low, together.high) == (pytest.approx(1), pytest.approx(1))
    assert alone.low < 1


def test_span_without_a_width_is_a_dash():
    """A coefficient of few runs may be the same in nearly all resamples, and would look certain."""
    assert meta_tables.span(ConfidenceInterval(0.25, 0.5)) == "0.250 to 0.500"
    assert meta_tables.span(ConfidenceInterval(1.0, 1.0)) == meta_tables.span(UNDEFINED) == "\N{EN DASH}"
