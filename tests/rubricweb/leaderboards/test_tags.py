"""The rows of a board as HTML."""

from __future__ import annotations

from django.utils.html import strip_tags

from rubricweb.leaderboards.board import BoardRow
from rubricweb.leaderboards.board.columns import BoardCell
from rubricweb.leaderboards.board_page import BoardLine, TopicCell
from rubricweb.leaderboards.tags import board_rows


def line(**of_row: object) -> BoardLine:
    values: dict[str, object] = {"rank": 1, "is_tied": False, "score": 0.5, "stderr": None, "judged": 1.0}
    values |= {"run_id": 7, "run_tag": "<b>&'\"", "n_topics": 2, "n_answered": 2} | of_row
    return BoardLine(
        row=BoardRow(**values),  # type: ignore[arg-type]
        origin="RAG · <i>",
        dot=None,
        change=None,
        moved="",
        band="",
        band_rows=0,
        numbers=(BoardCell("0.500", "<n>", '"t"'),),
        topics=(TopicCell(None, "<q> · not counted"),),
    )


def test_what_teams_and_files_name_is_escaped() -> None:
    html = board_rows([line()], "/c/compare/", "measure=<m>&x=1", (), 10)
    for raw in ("<b>", "<i>", "<n>", "<q>", "<m>", "&x"):
        assert raw not in html
    assert 'href="/c/compare/?measure=&lt;m&gt;&amp;x=1&amp;a=7"' in html
    assert 'title="&quot;t&quot;"' in html


def test_a_ticked_run_keeps_its_tick() -> None:
    assert " checked>" in board_rows([line()], "/", "", [7], 10)
    assert " checked>" not in board_rows([line()], "/", "", [8], 10)


def test_what_a_run_lacks_is_said_beside_its_name() -> None:
    html = board_rows([line(n_answered=1, judged=0.25, is_closed_book=True)], "/", "", (), 10)
    for said in ("closed book", "1 of 2 topics", "25\u202f% graded", "first 10 passages"):
        assert said in html
    assert " RAG " in strip_tags(html)


def test_of_a_run_that_is_being_graded_one_share_is_said() -> None:
    html = board_rows([line(judged=0.25, current=0.5)], "/", "", (), 10)
    assert "50\u202f% current" in html
    assert "graded" not in html
