"""Work that a thread does before it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Generator

import pytest

from grading.graders.server_calls import ahead


def counted(done: list[int], most: int = 5) -> Generator[int]:
    try:
        for number in range(most):
            done.append(number)
            yield number
    finally:
        done.append(-1)


@pytest.mark.parametrize("most", [1, 2, 9])
def test_everything_comes_once_and_in_order(most: int) -> None:
    assert list(ahead(counted([]), most)) == [0, 1, 2, 3, 4]


def test_the_next_element_is_made_before_it_is_asked_for() -> None:
    is_made = threading.Event()

    def two() -> Generator[int]:
        yield 1
        is_made.set()
        yield 2

    elements = ahead(two())
    assert next(elements) == 1
    assert is_made.wait(60)
    assert list(elements) == [2]


@pytest.mark.parametrize("most", [1, 3])
def test_closing_ends_the_source_and_the_thread(most: int) -> None:
    done: list[int] = []
    elements = ahead(counted(done, 1_000), most)
    next(elements)
    elements.close()
    assert done[-1] == -1
    assert len(done) <= most + 2
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


def test_an_error_comes_in_its_turn() -> None:
    def bad() -> Generator[int]:
        yield 1
        raise ZeroDivisionError("by nothing")

    elements = ahead(bad(), 4)
    assert next(elements) == 1
    with pytest.raises(ZeroDivisionError, match="by nothing"):
        next(elements)


def test_each_element_is_made_in_another_thread() -> None:
    def who() -> Generator[threading.Thread]:
        yield threading.current_thread()
        yield threading.current_thread()

    first, second = ahead(who())
    assert first is second is not threading.current_thread()
