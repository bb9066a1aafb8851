"""What stands beside the board: how much of it people have checked."""

from __future__ import annotations

import re

from rubricweb.banks.models import ItemRevision
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.leaderboards import board_page
from tests.rubricweb.leaderboards.test_board_page import text_of
from tests.rubricweb.leaderboards.test_views import BOARD
from tests.worked import judge


def test_cells_that_people_checked_are_counted(made, viewer, assessor, client_of):
    cell = Cell.of(made.items["t1"][0], made.passages["d1"])
    rate_cell(cell, rating=5, by=assessor, seen=0)
    response = client_of(viewer).get(BOARD)

    assert "Checked by people 12 % 1 of 8 pairs of a passage and a question." in text_of(response)
    assert "No estimate of people's scores: no campaign drew pairs for it." in text_of(response)
    humans = client_of(viewer).get(BOARD, {"source": "humans"})
    assert "ratings people only" in text_of(humans)


def test_agreement_with_judgments_has_three_coefficients(made, viewer, client_of, monkeypatch):
    judge(made)
    monkeypatch.setattr(board_page, "TAU_FROM", 4)
    page = text_of(client_of(viewer).get(BOARD))
    assert re.search("Kendall.s . over 4 runs; Spearman.s . 0.83, Pearson.s r 0.87[.]", page)


def test_a_check_is_offered_where_nobody_has_rated_yet(made, owner, developer, client_of):
    page = text_of(client_of(owner).get(BOARD))
    assert "Checked by people 0 % None yet. To rate all takes" in page
    assert "Start a check" in page
    assert "Start a check" not in text_of(client_of(developer).get(BOARD)), "a campaign is an organizer's"

    ItemRevision.objects.filter(items__bank=made.bank).update(text="")
    page = text_of(client_of(owner).get(BOARD))
    assert "None yet. Nobody can rate questions that have only ids." in page
    assert "Start a check" not in page
