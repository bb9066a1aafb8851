"""Of requests that ask the same at once, one computes; over the real Redis."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import pytest
from django.http import HttpResponse

from rubricweb.core import shared_answers
from rubricweb.core.shared_answers import shared_answer


class Computing:
    """Counts how often it answers."""

    def __init__(self, status=200):
        self.status, self.count = status, 0

    def __call__(self):
        self.count += 1
        return HttpResponse(f"answer {self.count}", status=self.status)


@pytest.fixture
def key():
    return uuid4().hex


@pytest.mark.parametrize("answer", [shared_answer, shared_answers._shared_by_all])
def test_of_many_that_ask_at_once_one_computes(key, answer):
    """Of the threads of a process, and of the processes."""
    computing, barrier = Computing(), Barrier(8)

    def ask(_):
        barrier.wait()
        return answer(key, computing).content

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(8)))

    assert answers == [b"answer 1"] * 8
    assert computing.count == 1


def test_an_answer_without_content_keeps_its_status(key):
    computing = Computing(204)
    assert [shared_answer(key, computing).status_code for _ in range(2)] == [204, 204]
    assert computing.count == 1


def test_other_keys_are_computed_apart(key):
    computing = Computing()
    assert shared_answer(key, computing).content != shared_answer(f"{key}2", computing).content


@pytest.mark.parametrize("status", [403, 422, 500])
def test_a_refusal_is_not_shared(key, status):
    computing = Computing(status)
    assert [shared_answer(key, computing).status_code for _ in range(2)] == [status, status]
    assert computing.count == 2


def test_after_an_error_the_next_request_computes(key):
    def failing():
        raise ValueError("no board")

    with pytest.raises(ValueError, match="no board"):
        shared_answer(key, failing)
    assert shared_answer(key, Computing()).content == b"answer 1"


def test_nobody_waits_for_ever_for_one_that_is_slow(key, monkeypatch):
    computing = Computing()

    def slow():
        monkeypatch.setattr(shared_answers, "LOCK_SECONDS", 0)
        return shared_answer(key, computing)  # another request, while this one computes

    assert shared_answer(key, slow).content == b"answer 1"


def test_without_redis_each_request_computes(key, redis_server):
    computing = Computing()
    redis_server.stop()
    answers = [shared_answer(key, computing).content for _ in range(2)]
    redis_server.start()

    assert answers == [b"answer 1", b"answer 2"]
