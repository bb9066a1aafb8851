"""Jobs with a prompt that asks about all items of a passage in one call."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from grading.graders import registry
from grading.types import ErrorClass, Grade, GradeFailure, ItemKind, Outcome
from rubricweb.graders.calls import calls_compared
from rubricweb.grades import actions, configs
from rubricweb.grades.engine import chunks
from rubricweb.grades.engine.missing import missing_cells
from rubricweb.grades.engine.price import price
from rubricweb.grades.models import Grade as GradeOfRow, GradingJob
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.rubricweb.grades import scripted

pytestmark = pytest.mark.portable

PROMPT = "QuestionSelfRatedWholeRubric"
ITEMS, PASSAGES = 5, 4


@pytest.fixture
def script(monkeypatch):
    """`script(what)` sets what the model behind the grader yields for each call."""
    target = "tests.rubricweb.grades.scripted:ScriptedGrader"
    backend = registry.Backend("scripted", "Scripted", target, (PROMPT,), True, "script", asks_any=True)
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    chunks.close_until(0)
    yield scripted.SCRIPT.append
    scripted.SCRIPT.clear()
    chunks.close_until(0)


@pytest.fixture
def config(collection, settings, redis_server, script):
    settings.CHUNK_CELLS = 10
    gradable(collection, topics=1, passages=PASSAGES, items=ITEMS)
    return configs.config_for("scripted", "script", PROMPT)


@pytest.fixture
def job(collection, config) -> GradingJob:
    return actions.start_grading(collection, by=None, configs=[config])[0]


def work(job: GradingJob) -> GradingJob:
    for pk in list(job.chunks.values_list("pk", flat=True)):
        work_on("chunk", pk)
    job.refresh_from_db()
    return job


def says(pair, lines):
    return Grade(pair.item.item_id, pair.passage.passage_id, None, Outcome.EXTRACTED, "\n".join(lines))


def lines(pair):
    return [f"{number}: {number % 6}" for number, _ in enumerate(pair.items, 1)]


def test_the_price_counts_calls_and_each_text_once_a_call(collection, config, settings):
    settings.PRICES = {"script": 1.0}
    alone = configs.config_for("scripted", "script", "QuestionSelfRatedPromptWithReminder")
    of_calls, of_cells = (
        price(collection, missing_cells(collection, [each]), []) for each in (config, alone)
    )
    assert (of_calls.cells, of_calls.calls) == (ITEMS * PASSAGES, PASSAGES)
    assert of_calls.text.startswith(f"{PASSAGES} calls, ")
    assert of_cells.calls == of_cells.cells == of_calls.cells
    assert of_cells.tokens > 3.5 * of_calls.tokens
    assert of_cells.dollars > 3.5 * of_calls.dollars


def test_each_line_is_a_grade_with_its_place_and_a_bad_one_fails_alone(job, script, client_of, owner):
    def reply(_, pair):
        yield says(pair, lines(pair)[:-1])

    script(reply)
    assert work(job).state == "done"
    rows = GradeOfRow.objects.filter(job=job)
    failed = rows.filter(outcome="failed")
    assert (rows.count(), failed.count()) == (ITEMS * PASSAGES, PASSAGES)
    assert set(failed.values_list("call_place", "error_class")) == {(ITEMS, "parse")}
    assert all(row.reply.startswith("the reply has no line for item 5 of 5") for row in failed)
    assert set(rows.values_list("call_items", flat=True)) == {ITEMS}
    assert all(row.rating == row.call_place for row in rows.exclude(outcome="failed"))
    first = failed.first()
    pair = chunks.pair(first.topic, first.revision, first.passage, ItemKind.QUESTION)
    asked = chunks.with_call(first, pair)
    assert [item.item_id for item in asked.items][-1] == first.revision.uid
    page = (
        client_of(owner)
        .get(reverse("grades:jobs", args=[job.collection.slug]), {"job": job.pk})
        .content.decode()
    )
    assert f"{ITEMS}. {first.revision.text}" in page


def test_no_call_is_made_twice_when_a_worker_dies_between_any_two(job, script, monkeypatch):
    """The results of a call are saved together, though each would be saved by itself."""
    monkeypatch.setattr("rubricweb.grades.engine.kind.BATCH_RESULTS", 1)
    asked: list[tuple[str, tuple[str, ...]]] = []
    die_after = [1]

    def reply(_, pair):
        if len(asked) == die_after[0]:
            die_after[0] += 1
            raise KeyboardInterrupt
        asked.append((pair.passage.passage_id, tuple(item.item_id for item in pair.items)))
        yield says(pair, lines(pair))

    script(reply)
    for _ in range(PASSAGES):
        try:
            work(job)
        except KeyboardInterrupt:
            job.chunks.filter(state="leased").update(state="queued", lease_until=None)
    assert work(job).state == "done"
    assert len(asked) == len({passage for passage, _ in asked}) == PASSAGES
    assert all(len(items) == ITEMS for _, items in asked)


def test_a_failed_call_is_one_error_to_the_circuit_breaker(job, script):
    def reply(_, pair):
        yield GradeFailure(pair.item.item_id, pair.passage.passage_id, "down", None, ErrorClass.SERVER)

    script(reply)
    work(job)
    assert job.state == "done"
    assert job.failures["counts"] == {"server": PASSAGES}
    assert GradeOfRow.objects.filter(job=job, error_class="server").count() == ITEMS * PASSAGES


def test_the_page_of_graders_compares_it_with_one_item_a_call(collection, job, script, client_of, owner):
    def reply(_, pair):
        yield says(pair, lines(pair)[:-1]) if pair.items else scripted.rated(pair, 2)

    script(reply)
    work(job)
    address = reverse("graders:graders", args=[collection.slug])
    assert calls_compared(collection) == []
    alone = configs.config_for("scripted", "script", "QuestionSelfRatedPromptWithReminder")
    work(actions.start_grading(collection, by=None, configs=[alone])[0])
    [[whole, other]] = calls_compared(collection)
    assert (whole.grades, whole.failed, whole.price.calls) == (ITEMS * PASSAGES, PASSAGES, PASSAGES)
    assert (other.failed, other.price.calls) == (0, ITEMS * PASSAGES)
    rated = ITEMS * PASSAGES - PASSAGES
    assert (other.agreement.pairs, other.agreement.same) == (rated, pytest.approx(1 / (ITEMS - 1)))
    assert (whole.by_place, other.by_place) == (pytest.approx(1.0), None)
    page = " ".join(client_of(owner).get(address).content.decode().split())
    assert re.search(rf"25\s?% of {rated} pairs", page)
