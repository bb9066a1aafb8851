"""The limit on calls under way, with a clock of the test's own."""

import pytest

from grading.graders.server_calls import FIRST, ConcurrencyLimit


def play_round(limit: ConcurrencyLimit, seconds: float, *, at: float = 0.0) -> None:
    """As many calls at once as the limit allows, each of which takes so long."""
    calls = limit.calls
    for under_way in range(1, calls + 1):
        limit.note_start(under_way)
    for _ in range(calls):
        limit.note_reply(at, at + seconds)


def test_the_limit_doubles_until_it_is_as_high_as_allowed() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    seen = []
    for _ in range(6):
        seen.append(limit.calls)
        play_round(limit, 0.5)
    assert seen == [8, 16, 32, 64, 128, 200]
    assert limit.calls == 200


def test_a_low_limit_of_the_options_is_kept() -> None:
    limit = ConcurrencyLimit(3, longest_queueing=1.0)
    play_round(limit, 0.5)
    assert limit.calls == 3


def test_a_refusal_lowers_it_once_for_all_calls_of_that_time() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    for at in range(3):
        play_round(limit, 0.5, at=at)
    assert limit.calls == 64
    for _ in range(20):
        limit.note_overload(started=3.0, ended=3.5)
    assert limit.calls == 44
    limit.note_overload(started=3.6, ended=4.0)
    assert limit.calls == 31


def test_after_a_refusal_it_grows_by_one_a_round() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    for at in range(3):
        play_round(limit, 0.5, at=at)
    limit.note_overload(started=3.0, ended=3.5)
    for at in range(4, 14):
        play_round(limit, 0.5, at=at)
    assert limit.calls in range(53, 55)


def test_it_never_falls_below_one() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    for at in range(50):
        limit.note_overload(started=float(at), ended=at + 0.5)
    assert limit.calls == 1


def test_a_round_in_which_every_call_waits_lowers_it() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    play_round(limit, 0.5)
    play_round(limit, 1.4, at=1.0)
    assert limit.calls == 32
    play_round(limit, 1.8, at=3.0)
    assert limit.calls == 44  # 64, of which 0.7 are left


def test_one_slow_reply_is_no_queue() -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    play_round(limit, 0.5)
    limit.note_reply(1.0, 60.0)
    for _ in range(limit.calls):
        limit.note_reply(60.0, 60.5)
    assert limit.calls > 16


def test_a_server_that_becomes_slower_for_good_is_not_taken_for_a_queue_for_ever() -> None:
    limit = ConcurrencyLimit(8, longest_queueing=1.0)
    play_round(limit, 1.0)
    lowered = []
    for at in range(60):
        before = limit.calls
        play_round(limit, 2.5, at=10.0 * at)
        lowered.append(limit.calls < before)
    assert lowered[0]
    assert not any(lowered[30:])
    assert limit.calls == 8


@pytest.mark.parametrize("under_way", [1, 3])
def test_few_calls_do_not_raise_it(under_way: int) -> None:
    limit = ConcurrencyLimit(200, longest_queueing=1.0)
    for _ in range(100):
        limit.note_start(under_way)
        limit.note_reply(0.0, 0.5)
    assert limit.calls == FIRST
