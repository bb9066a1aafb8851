"""How long jobs take, and what follows: their priority, the size of their chunks, and forecasts."""

from __future__ import annotations

import time
from functools import partial

import pytest

from grading import prompts
from grading.graders import registry
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import kind, parts, progress
from rubricweb.grades.engine.missing import Missing, missing_cells
from rubricweb.grades.engine.price import expected_time, price
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs import queue, worker_state
from rubricweb.jobs.queue import WorkerBeat
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades.scripted import rated


def always(number, pair):
    yield rated(pair)


def test_a_person_who_waits_goes_before_a_backfill(collection, config, developer, settings, redis_server):
    gradable(collection, topics=2, passages=3, items=2)
    first, second = collection.topics.all()
    (backfill,) = actions.start_grading(collection, by=None, configs=[config], topics=[first])
    (awaited,) = actions.start_grading(collection, by=developer, configs=[config], topics=[second])
    assert (backfill.priority, awaited.priority) == ("default", "high")
    names = worker_state.queue_names()
    assert names.index(awaited.priority) < names.index(backfill.priority)


def test_a_large_job_is_a_backfill_whoever_starts_it(job, collection, config, developer, monkeypatch):
    """By the time that it takes, not by its cells."""
    assert job.priority == "high"
    steer(job, "cancel-now", by=developer)
    monkeypatch.setattr(progress, "speed_of", lambda chunks: 11 / actions.SECONDS_TO_WAIT_FOR)
    assert actions.start_grading(collection, by=developer, configs=[config])[0].priority == "default"


def test_what_nobody_asked_for_goes_after_all_that_people_ask_for(
    collection, config, developer, redis_server
):
    gradable(collection, topics=2, passages=3, items=2)
    first, second = collection.topics.all()
    start = partial(actions.start_grading, collection, configs=[config])
    (own,) = start(by=developer, topics=[first], priority=GradingJob.Priority.LOW)
    (backfill,) = start(by=None, topics=[second])
    names = worker_state.queue_names()
    assert names.index(backfill.priority) < names.index(own.priority)


@pytest.mark.parametrize(("rate", "cells"), [(None, 4), (2.0, 20), (0.1, 1), (90.0, 900), (1e6, 2048)])
def test_chunks_are_about_ten_seconds(rate, cells, settings):
    settings.CHUNK_CELLS = 2048
    assert parts.size_for(rate, "hf_causal") == cells


@pytest.mark.parametrize(("rate", "cells"), [(None, 32), (2.0, 40), (0.1, 2), (60.0, 1200), (1e6, 2048)])
def test_chunks_for_a_server_keep_it_busy(rate, cells, settings):
    settings.CHUNK_CELLS = 2048
    assert parts.size_for(rate, "openai_compatible") == cells


def test_the_price_of_what_is_missing(collection, config, settings, redis_server):
    gradable(collection, topics=1, passages=6, items=2)
    settings.PRICES = {"script": 2.0}
    missing = missing_cells(collection, [config])
    found = price(collection, missing, [])
    pairs = [
        len(item.revision.text) + len(row.passage.text) + len(item.topic.text)
        for item in collection.banks.get().items.all()
        for row in item.topic.pool.all()
    ]
    template = len(prompts.get("LexicalBaseline").template)
    assert found.cells == 12
    assert found.tokens == round((sum(pairs) + 12 * template) / 4)
    assert found.dollars == pytest.approx(found.tokens * 2 / 1e6)
    assert found.is_guess
    assert found.seconds == (12 * 0.3, 12 * 3), "a cell a second, as long as nobody has measured it"
    settings.PRICES = {}
    assert price(collection, missing, []).dollars is None


def test_the_time_comes_from_the_measured_rate_and_is_shared(job, run, script, config, collection):
    script(always)
    run(job)
    job.chunks.update(seconds=2.0)
    (gap,) = missing_cells(collection, [config_for("lexical", "lexical", "LexicalBaseline")])
    missing = [Missing(config, gap.gaps, frozenset())]
    found = price(collection, missing, [beat("one"), beat("two")])
    assert found.seconds == pytest.approx((12 / 2 / 2 * 0.7, 12 / 2 / 2 * 1.5))
    assert not found.is_guess


def beat(name: str, **told: object) -> WorkerBeat:
    return WorkerBeat(name, time.time(), "idle", "CPU", **told)


def test_time_is_that_of_the_workers_that_can_with_loading_the_model_that_none_has(collection, redis_server):
    config = config_for("hf_causal", "tiny", "QuestionSelfRatedUnanswerablePromptWithChoices")
    queue.note_usual([worker_state.loading_name("tiny")], 40.0)
    able, short = beat("able", backends=("hf_causal",)), beat("short")
    time_of = partial(expected_time, [(config, 10)])
    assert time_of([able, short]) == (40.0, 10.0, True)
    assert time_of([able, able, short]) == (40.0, 5.0, True)
    loaded = beat("able", backends=("hf_causal",), loaded=("tiny",))
    assert time_of([loaded, short]) == (0.0, 10.0, True)


def test_the_first_chunks_of_a_model_that_nobody_measured_are_tiny_and_few(
    collection, config, script, run, redis_server, developer, monkeypatch
):
    gradable(collection, topics=1, passages=100, items=2)
    (job,) = actions.start_grading(collection, by=developer, configs=[config])
    assert set(job.chunks.values_list("size", flat=True)) == {4}
    assert job.chunks.count() == parts.FIRST_CHUNKS
    monkeypatch.setattr(parts, "measured_rate", lambda config: 1.0)
    script(always)
    work_on("chunk", job.chunks.first().pk)
    sizes = list(job.chunks.order_by("number").values_list("size", flat=True))
    waiting = parts.FIRST_CHUNKS * 2
    assert sizes == [4] * parts.FIRST_CHUNKS + [10] * (waiting - parts.FIRST_CHUNKS + 1)
    run(job)
    assert sum(job.chunks.values_list("size", flat=True)) == 200, "measured four times, all of it is cut"


def test_a_grader_without_a_model_has_all_its_chunks_at_once(collection, settings, redis_server):
    settings.CHUNK_CELLS = 2
    gradable(collection, topics=1, passages=20, items=2)
    (job,) = actions.start_grading(collection, by=None)
    assert job.chunks.count() == 20


@pytest.mark.parametrize(
    ("seconds", "waits", "is_handed_back"), [(0.0, "high", True), (0.0, "low", False), (60.0, "high", False)]
)
def test_a_chunk_that_takes_too_long_makes_way_for_what_is_more_urgent(
    collection, config, script, monkeypatch, redis_server, seconds, waits, is_handed_back
):
    monkeypatch.setattr(kind, "CHUNK_SECONDS", seconds)
    monkeypatch.setattr(kind, "LOCAL", frozenset({"scripted"}))
    gradable(collection, topics=1, passages=2, items=2)
    (job,) = actions.start_grading(collection, by=None, configs=[config])
    queue.enqueue_many_now("rubricweb.jobs.worker.work_on", [("import-1-0", ("import", 1))], queue_name=waits)
    script(always)
    chunk = job.chunks.get()
    work_on("chunk", chunk.pk)
    chunk.refresh_from_db()
    assert (chunk.state, chunk.attempts) == (("queued", 0) if is_handed_back else ("done", 1))
    assert Grade.objects.count() == chunk.done == (1 if is_handed_back else 4)


def test_every_back_end_has_a_time_until_somebody_measured_it_but_for_batches(collection, redis_server):
    for backend in registry.known_backends():
        if backend.name == "panel":  # which has no prompt of its own
            continue
        config = config_for(backend.name, "any", backend.prompt_classes[0])
        expected = expected_time([(config, 10)], [])
        if backend.name == "batch_file":
            assert expected is None, "others do the work, within a day"
        else:
            assert expected is not None
            assert expected.grading == 10 / backend.guessed_rate
