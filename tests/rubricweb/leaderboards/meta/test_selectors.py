"""Correlations of boards that can be scored by hand with official ones."""

import pytest
from scipy import stats

from grading.measures.rank_correlation import NO_GRADES, TOO_FEW, Coefficient
from rubricweb.corpus.models import OfficialScore
from rubricweb.grades.configs import imported_config
from rubricweb.grades.models import Grade
from rubricweb.leaderboards.errors import BoardError
from rubricweb.leaderboards.meta import contenders as module
from rubricweb.leaderboards.meta import sheets
from rubricweb.leaderboards.meta.contenders import contenders
from rubricweb.leaderboards.meta.references import JUDGMENTS, reference_choices
from rubricweb.leaderboards.meta.selectors import Wanted, detail_rows, meta_rows
from tests.worked import judge

RUNS = ("both", "first", "lacks", "stray")
COVER = {3: [1, 0.25, 0.25, 0.75], 4: [1, 0.25, 0.25, 0.5], 5: [0.25, 0.25, 0, 0]}


def official(collection, board="TREC", values=(1, 3, 4, 2), *, is_rank=True):
    for run_tag, value in zip(RUNS, values, strict=True):
        OfficialScore.objects.create(
            collection=collection, board=board, run_tag=run_tag, value=value, is_rank=is_rank
        )


def rows_of(made, min_grades=(3, 4, 5)):
    return contenders(made.collection, [made.config], [made.bank], list(min_grades))


def test_every_threshold_against_an_official_board(made):
    official(made.collection)
    wanted = Wanted("official:TREC", ("rubric_cover",), 2)
    for row in meta_rows(rows_of(made), wanted):
        ours = COVER[row.contender.min_grade]
        (found,) = row.found
        assert found.value(Coefficient.SPEARMAN) == pytest.approx(
            stats.spearmanr(ours, [4, 2, 1, 3]).statistic
        )
        assert found.value(Coefficient.KENDALL) == pytest.approx(
            stats.kendalltau(ours, [4, 2, 1, 3]).statistic
        )


def test_the_official_top_only(made):
    official(made.collection)
    (row,) = meta_rows(rows_of(made, [4]), Wanted("official:TREC", ("rubric_cover",), 2, k=3))
    assert row.found[0].by[Coefficient.KENDALL].n == 3
    (row,) = meta_rows(rows_of(made, [4]), Wanted("official:TREC", ("rubric_cover",), 2, k=2))
    assert row.found[0].by[Coefficient.KENDALL].reason == TOO_FEW


def test_judgments_are_scored_by_the_same_measure(made):
    judge(made)
    assert reference_choices(made.collection) == [(JUDGMENTS, "human judgments")]
    wanted = Wanted(JUDGMENTS, ("P_2", "rubric_cover"), 2)
    precision, cover = (detail_rows(rows_of(made, [4]), name, wanted)[0].against for name in wanted.measures)
    assert precision == "human judgments (P_2, relevant from 2)"
    assert cover == "human judgments (ndcg_cut_10, gains are the judgments)"


def test_details_have_intervals_and_costs(made):
    official(made.collection, values=(4, 2, 3, 1))
    (row,) = detail_rows(rows_of(made, [4]), "rubric_cover", Wanted("official:TREC", ("rubric_cover",), 2))
    value, spread = row.by[Coefficient.KENDALL]
    ours = COVER[4]
    assert value.value == pytest.approx(stats.kendalltau(ours, [-4, -2, -3, -1]).statistic)
    assert spread.low <= value.value <= spread.high
    assert row.costs[0].run_tag == "both"
    without = stats.kendalltau(ours[1:], [-2, -3, -1]).statistic
    assert row.costs[0].cost == pytest.approx(without - value.value)


def test_a_grader_without_grades_is_void_by_name(made):
    official(made.collection)
    Grade.objects.update(rating=None, outcome="failed")
    (row,) = meta_rows(rows_of(made, [4]), Wanted("official:TREC", ("rubric_cover",), 2))
    assert row.found[0].by[Coefficient.KENDALL].reason == NO_GRADES
    document = sheets.document(
        [row],
        [
            (
                "rubric_cover",
                detail_rows(
                    rows_of(made, [4]), "rubric_cover", Wanted("official:TREC", ("rubric_cover",), 2)
                ),
            )
        ],
        Wanted("official:TREC", ("rubric_cover",), 2),
    )
    assert document["rows"][0]["measures"]["rubric_cover"]["kendall"]["void"] == "no_grades"


def test_a_direct_grader_has_one_row_and_no_cover(made):
    official(made.collection)
    direct = imported_config("m", "Sun", "direct")
    (row,) = contenders(made.collection, [direct], [made.bank], [3, 4, 5])
    assert (row.bank, row.min_grade) == (None, 1)
    assert row.spec("rubric_cover") is None
    rows = meta_rows([row], Wanted("official:TREC", ("rubric_cover",), 2))
    assert rows[0].found[0].value(Coefficient.KENDALL) is None
    assert sheets.void(rows) == "a dash is void: this measure has no meaning for this grader"


def test_too_many_rows_are_refused(made, monkeypatch):
    monkeypatch.setattr(module, "MAX_BOARDS", 2)
    with pytest.raises(BoardError, match="3 rows to compare, expected at most 2"):
        rows_of(made)


def test_best_and_ties_are_marked_and_counted(made):
    official(made.collection)
    wanted = Wanted("official:TREC", ("rubric_cover",), 2, within=0.15)
    sheet = sheets.comparison(meta_rows(rows_of(made), wanted), wanted, "TREC", [Coefficient.SPEARMAN])
    assert [cells[3].mark.value for cells in sheet.rows] == ["best", "best", ""]
    assert [cells[-1].text for cells in sheet.rows] == ["1", "1", "0"]
