"""Whatever runs says for whom it reads, and what does not reads nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from importlib import import_module
from typing import TypeVar
from unittest.mock import patch

import pytest
from django.conf import settings
from django.core.management import get_commands
from django.test import RequestFactory
from django.utils.module_loading import import_string

from rubricweb.banks.models import Bank, Item
from rubricweb.core import reader as core_reader
from rubricweb.core.reader import NoReader, OperatorCommand, Reader, everything, read_once, reader, reading_as
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import shown_names
from rubricweb.grades import actions
from rubricweb.grades.human_matrices import human_matrices
from rubricweb.grades.human_models import HumanGrade
from rubricweb.grades.matrices import matrices
from rubricweb.grades.models import Grade, JobChunk
from rubricweb.grades.visibility import hidden_count, visible_grades, visible_human_grades
from rubricweb.jobs import queue
from rubricweb.jobs.worker import Beat
from tests.factories import gradable, grade, lexical_config

T = TypeVar("T")


def without_reader(work: Callable[[], T]) -> T:
    """Do it where nobody has said who reads, as in a new thread, but with the test's connection."""
    with patch.object(core_reader, "_reader", ContextVar("reader")):
        return work()


READS: dict[str, Callable[[Bank], object]] = {
    "items": lambda bank: list(bank.items.all()),
    "items of all banks": lambda bank: Item.objects.count(),
    "grades": lambda bank: visible_grades(Grade.objects.all(), bank.collection_id),
    "human ratings": lambda bank: visible_human_grades(HumanGrade.objects.all(), bank.collection_id),
    "matrices": lambda bank: matrices(lexical_config(), collection_pool(bank.collection)),
    "human matrices": lambda bank: human_matrices(collection_pool(bank.collection)),
    "hidden cells": lambda bank: hidden_count(bank.collection_id),
    "names of runs": lambda bank: shown_names(bank.collection_id, ("alpha",)),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", READS)
def test_what_may_be_hidden_is_not_read_without_a_reader(name, collection):
    bank = gradable(collection, topics=1)
    READS[name](bank)
    with pytest.raises(NoReader, match=r"everything\(\)"):
        without_reader(lambda: READS[name](bank))


def test_a_reader_ends_with_its_block():
    def nested() -> list[bool]:
        with reading_as(Reader()):
            public = reader().sees_everything
            with everything():
                inner = reader().sees_everything
            return [public, inner, reader().sees_everything]

    assert without_reader(nested) == [False, True, False]


@pytest.mark.django_db
def test_a_worker_sees_everything(collection):
    """All kinds of work begin in the one function that queues name, which says so."""
    gradable(collection, topics=1)
    actions.start_grading(collection, by=None)
    (chunk,) = JobChunk.objects.all()
    without_reader(lambda: import_string(queue.ENTRY_POINT)("chunk", chunk.pk))
    assert Grade.objects.count() == chunk.size > 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address", ["/", "/collections/autumn/exports/qrels/", "/api/v1/collections/autumn/banks/"]
)
def test_a_request_reads_as_its_user(address, collection, assessor, client_of):
    """Also what is streamed after the view has returned."""
    item = gradable(collection, topics=1).items.first()
    grade(lexical_config(), item, item.topic.pool.first().passage, 3)
    client = client_of(assessor)

    def answer() -> tuple[int, bytes]:
        response = client.get(address)
        content = b"".join(response.streaming_content) if response.streaming else response.content
        return response.status_code, content

    status, content = without_reader(answer)
    assert status == 200
    assert content


def test_nothing_is_rendered_outside_of_the_reader():
    """Pages of refusals are rendered by middlewares: those stand inside of the one that sets the reader."""
    named = [path.rpartition(".")[2] for path in settings.MIDDLEWARE]
    assert named.index("ReaderMiddleware") == named.index("AuthenticationMiddleware") + 1


@pytest.mark.django_db(transaction=True)
def test_the_duties_of_workers_see_everything():
    seen: list[bool] = []

    def duty() -> None:
        seen.append(reader().sees_everything)
        beat.is_over.set()

    beat = Beat([duty])
    beat.start()
    beat.join()
    assert seen == [True]


def commands() -> Iterator[str]:
    return (name for name, room in get_commands().items() if room.startswith("rubricweb."))


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_sees_everything(name):
    module = import_module(f"{get_commands()[name]}.management.commands.{name}")
    assert issubclass(module.Command, OperatorCommand)


@pytest.mark.parametrize(("method", "times"), [("GET", 1), ("POST", 2)])
def test_only_a_request_that_changes_nothing_keeps_what_it_read(method, times):
    calls = []

    @read_once
    def read(place):
        calls.append(place)
        return place

    request = RequestFactory().generic(method, "/")
    with reading_as(Reader(request)):
        assert [read(1), read(1)] == [1, 1]
        assert calls == [1] * times
    calls.clear()
    with reading_as(Reader(request)):  # another reader
        assert [read(1), read(2)] == [1, 2]
    with everything():
        assert [read(2), read(2)] == [2, 2]
    assert calls == [1, 2, 2, 2]
