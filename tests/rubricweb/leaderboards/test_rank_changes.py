"""Marks of moved runs: what the browser shows, what it sends back, and what it is told."""

from dataclasses import replace

import pytest
from django.core.exceptions import BadRequest

from rubricweb.leaderboards import rank_changes
from rubricweb.leaderboards.board.types import Board, BoardRow


def board(*ranked):
    """A board of (run id, rank) pairs."""
    rows = tuple(BoardRow(pk, f"run{pk}", rank, False, 1 / rank, None, 1, 1, 1.0) for pk, rank in ranked)
    return Board(None, rows, 1, 0, 1, "stamp", 20, ())


BEFORE = board((1, 1), (2, 2), (3, 3))
AFTER = board((3, 1), (1, 2), (2, 3))


def rose(rendering):
    return {line.row.run_id: line.rose for line in rendering.lines}


def sent(rendering):
    return {"seen": rendering.seen, "before": rendering.before}


def test_nothing_has_moved_at_first():
    first = rank_changes.rendering(BEFORE, {})

    assert rose(first) == {1: 0, 2: 0, 3: 0}
    assert first.news == ""


def test_moves_are_marked_against_the_order_that_the_browser_shows():
    second = rank_changes.rendering(AFTER, sent(rank_changes.rendering(BEFORE, {})))

    assert rose(second) == {3: 2, 1: -1, 2: -1}
    assert second.lines[1].fell == 1
    assert second.news == "Systems: run3 moved 3 to 1, run1 moved 1 to 2, run2 moved 2 to 3"


def test_marks_stay_until_the_order_changes_again_and_are_told_once():
    second = rank_changes.rendering(AFTER, sent(rank_changes.rendering(BEFORE, {})))
    third = rank_changes.rendering(AFTER, sent(second))
    fourth = rank_changes.rendering(BEFORE, sent(third))

    assert (rose(third), third.news) == (rose(second), "")
    assert rose(fourth) == {1: 1, 2: 1, 3: -2}


def test_one_move_is_one_system():
    tied = rank_changes.rendering(board((1, 1), (2, 2)), {})

    assert rank_changes.rendering(board((1, 1), (2, 1)), sent(tied)).news == "System run2 moved 2 to 1"


def test_news_of_a_move_say_which_ranks_are_possible():
    after = board((1, 1), (2, 1))
    known = replace(after, rows=tuple(replace(row, first=1, last=2) for row in after.rows))
    before = rank_changes.rendering(board((1, 1), (2, 2)), {})

    assert (
        rank_changes.rendering(known, sent(before)).news
        == "System run2 moved 2 to 1 (possible: 1\N{EN DASH}2)"
    )


def test_many_moves_are_counted():
    old = rank_changes.rendering(board(*((n, n) for n in range(1, 7))), {})
    new = rank_changes.rendering(board(*((7 - n, n) for n in range(1, 7))), sent(old))

    assert new.news.endswith(", and 3 more")


def test_a_new_run_is_no_move():
    old = rank_changes.rendering(BEFORE, {})
    new = rank_changes.rendering(board((1, 1), (2, 2), (3, 3), (4, 4)), sent(old))

    assert (rose(new)[4], new.news) == (0, "")


@pytest.mark.parametrize("order", ["", "1", "1:", "a:b", "1:2:3", ",,", "²:1"])
def test_an_order_that_is_none_does_no_harm(order):
    assert len(rank_changes.rendering(BEFORE, {"seen": order, "before": order}).lines) == 3


def test_a_number_that_no_database_holds_is_a_bad_request():
    with pytest.raises(BadRequest, match="No id is larger"):
        rank_changes.rendering(BEFORE, {"seen": f"1:{'9' * 5_000}"})


def test_the_digest_tells_boards_apart():
    assert rank_changes.digest(BEFORE) != rank_changes.digest(AFTER)
    assert rank_changes.digest(BEFORE) == rank_changes.digest(board((1, 1), (2, 2), (3, 3)))
