"""What changed on a board: what the browser shows and sends back, what the session keeps, what is told."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.exceptions import BadRequest
from django.utils import timezone

from rubricweb.leaderboards import rank_changes
from rubricweb.leaderboards.board import Board, BoardRow, Top


def board(*ranked, graded=0):
    """A board of (run id, rank) pairs, whose scores are 1 / rank."""
    rows = tuple(BoardRow(pk, f"run{pk}", rank, False, 1 / rank, None, 1, 1, 1.0) for pk, rank in ranked)
    return Board(None, rows, 1, 0, 1, "stamp", 20, (), n_graded=graded)


BEFORE = board((1, 1), (2, 2), (3, 3))
AFTER = board((3, 1), (1, 2), (2, 3))


def rose(rendering):
    return {run: change.rose for run, change in rendering.changes.items()}


def sent(rendering):
    return {"seen": rendering.seen, "before": rendering.before, "graded": str(rendering.graded)}


def test_nothing_has_changed_at_first():
    first = rank_changes.rendering(BEFORE, {})

    assert (rose(first), first.moved, first.news) == ({}, {}, "")


def test_changes_are_since_the_last_look():
    look = rank_changes.standing(BEFORE)
    first = rank_changes.rendering(AFTER, {}, look)
    again = rank_changes.rendering(AFTER, sent(first))

    assert rose(first) == rose(again) == {3: 2, 1: -1, 2: -1}
    assert first.changes[3].difference == pytest.approx(0.6667)
    assert (first.moved, first.news, again.news) == ({}, "", ""), "they are no news to who opens the page"


def test_moves_since_the_last_rendering_are_told_once():
    second = rank_changes.rendering(AFTER, sent(rank_changes.rendering(BEFORE, {})))
    third = rank_changes.rendering(AFTER, sent(second))

    assert second.moved == {3: 2, 1: -1, 2: -1}
    assert second.news == "3 runs moved. run3 from 3 to 1, run1 from 1 to 2, run2 from 2 to 3."
    assert (third.moved, third.news, rose(third)) == ({}, "", rose(second))


def test_news_count_the_new_grades():
    old = rank_changes.rendering(board((1, 1), (2, 2), graded=5), {})
    new = rank_changes.rendering(board((1, 1), (2, 1), graded=42), sent(old))

    assert new.news == "1 run moved after 37 new grades. run2 from 2 to 1."


def test_news_say_who_is_first():
    top = Top(True, ("run1",), 1, 0, None)
    old = rank_changes.rendering(BEFORE, {})
    same = replace(board((1, 1), (3, 2), (2, 3)), top=top)
    other = replace(AFTER, top=replace(top, first=("run3",)))

    assert rank_changes.rendering(same, sent(old)).news.endswith(" run1 is first, as before.")
    assert rank_changes.rendering(other, sent(old)).news.endswith(" run3 is first now.")


def test_another_score_at_the_same_rank_is_told():
    rows = tuple(replace(row, score=(row.score or 0) - 0.1) for row in BEFORE.rows)
    new = rank_changes.rendering(replace(BEFORE, rows=rows), sent(rank_changes.rendering(BEFORE, {})))

    assert new.news == "3 runs changed their scores."
    assert new.moved == {1: 0, 2: 0, 3: 0}


def test_many_moves_are_counted():
    old = rank_changes.rendering(board(*((n, n) for n in range(1, 7))), {})
    new = rank_changes.rendering(board(*((7 - n, n) for n in range(1, 7))), sent(old))

    assert new.news.startswith("6 runs moved. ")
    assert new.news.count(" from ") == rank_changes.NAMED


def test_a_new_run_is_no_move():
    old = rank_changes.rendering(BEFORE, {})
    new = rank_changes.rendering(board((1, 1), (2, 2), (3, 3), (4, 4)), sent(old))

    assert (new.changes, new.moved, new.news) == ({}, {}, "")


@pytest.mark.parametrize("text", ["", "1", "1:", "a:b", "1:2:3:4", ",,", "²:1", "1:2:nan", "1:2:1e999"])
def test_a_standing_that_is_none_does_no_harm(text):
    assert rank_changes.rendering(BEFORE, {"seen": text, "before": text}).seen


def test_a_number_that_no_database_holds_is_a_bad_request():
    with pytest.raises(BadRequest, match="No id is larger"):
        rank_changes.rendering(BEFORE, {"seen": f"1:{'9' * 5_000}"})


def test_the_digest_tells_boards_apart():
    assert rank_changes.digest(BEFORE) != rank_changes.digest(AFTER)
    assert rank_changes.digest(BEFORE) == rank_changes.digest(board((1, 1), (2, 2), (3, 3)))


def aged(session, **by):
    for look in session[rank_changes.LOOKS].values():
        look[0] = (timezone.now() - timedelta(**by)).isoformat()


def test_look_is_compared_with_the_visit_before():
    session = {}
    assert rank_changes.look(session, "a", BEFORE).since is None
    aged(session, minutes=5)
    assert rank_changes.look(session, "a", AFTER).since is None, "it is the same visit"
    aged(session, days=1)
    later = rank_changes.look(session, "a", BEFORE)
    assert (later.before, later.since.date()) == (
        rank_changes.standing(AFTER),
        (timezone.now() - timedelta(days=1)).date(),
    )


def test_look_of_each_board_is_its_own_and_few_are_kept():
    session = {}
    for key in range(rank_changes.KEPT_LOOKS + 2):
        rank_changes.look(session, str(key), BEFORE)
    assert list(session[rank_changes.LOOKS]) == [str(key) for key in range(2, rank_changes.KEPT_LOOKS + 2)]
