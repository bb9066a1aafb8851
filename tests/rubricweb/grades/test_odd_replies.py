"""A job at a server that misbehaves: one odd reply is one failed cell, and the job and the others stay."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytest.importorskip("openai")

from grading.graders import openai_client
from grading.types import Outcome
from rubricweb.grades import actions
from rubricweb.grades.configs import config_for
from rubricweb.grades.engine import chunks
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs.worker import work_on
from tests.factories import gradable
from tests.grading.odd_replies import ODD, Body, reply
from tests.grading.servers.http import Reply, serving

RATE = "QuestionSelfRatedPromptWithReminder"
SHAPES = {odd.name: odd for odd in ODD}
ONE_FAILS = [
    "content null",
    "choices '4'",
    "message 4",
    "filtered, SAFETY",
    "broken off, error",
    "a call of a tool",
    "refusal",
    "thoughts only, beside nothing",
    "an error as text",
]
NONE_FAILS = ["logprob null", "logprob NaN", "alternatives as an object", "usage as text", "content in parts"]
Graded = Callable[[Callable[[int], Body]], GradingJob]


@pytest.fixture
def graded(collection, settings, redis_server, django_capture_on_commit_callbacks, monkeypatch) -> Graded:
    """`graded(body_of)`: the job of 40 cells, whose n-th reply is `body_of(n)`, from beginning to end."""
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)
    gradable(collection, topics=1, passages=20, items=2)
    for number, passage in enumerate(collection.passages.all()):
        passage.text = f"Passage {number} is about leaves."
        passage.save()

    def grade(body_of: Callable[[int], Body]) -> GradingJob:
        first: dict[str, int] = {}

        def script(body: Body, _: int) -> Reply:
            # The same prompt gets the same reply, however often it is asked.
            place = first.setdefault(body["messages"][-1]["content"], len(first))
            return Reply(200, json.dumps(body_of(place)).encode())

        with serving(script) as server:
            settings.OPENAI_BASE_URL = server.url
            chunks.close_until(0)
            config = config_for("openai_compatible", "m", RATE)
            job = actions.start_grading(collection, by=None, configs=[config])[0]
            for pk in list(job.chunks.values_list("pk", flat=True)):
                with django_capture_on_commit_callbacks(execute=True):
                    work_on("chunk", pk)
            chunks.close_until(0)
        job.refresh_from_db()
        return job

    return grade


@pytest.mark.parametrize("name", ONE_FAILS)
def test_one_odd_reply_of_forty_is_one_failed_cell(graded: Graded, name: str) -> None:
    job = graded(lambda place: SHAPES[name].body if place == 17 else reply("5"))
    assert (job.state, job.error) == (GradingJob.State.DONE, "")
    rows = Grade.objects.filter(job=job)
    assert sorted(rows.values_list("rating", flat=True), key=str) == [5] * 39 + [None]
    failed = rows.get(rating=None)
    assert (failed.outcome, failed.error_class) == (Outcome.FAILED, SHAPES[name].fails)
    assert failed.reply
    assert not rows.filter(outcome=Outcome.UNANSWERABLE).exists()


@pytest.mark.parametrize("name", NONE_FAILS)
def test_a_reply_whose_extras_are_odd_is_graded_without_confidence(graded: Graded, name: str) -> None:
    job = graded(lambda place: SHAPES[name].body if place == 17 else reply("5"))
    rows = Grade.objects.filter(job=job)
    assert sorted(rows.values_list("rating", flat=True)) == [4] + [5] * 39
    assert rows.get(rating=4).confidence is None


def test_a_model_that_only_thinks_pauses_its_job_with_what_to_do(graded: Graded) -> None:
    job = graded(lambda _: reply("<think>Rating: 0 would mean", "length"))
    rows = Grade.objects.filter(job=job)
    assert set(rows.values_list("rating", "error_class")) == {(None, "parse")}
    row = rows.first()
    assert "did not stop thinking within 64 tokens; raise max_new_tokens" in row.reply
    assert row.answer == "<think>Rating: 0 would mean"


def test_thinking_is_kept_with_the_grade_and_not_read(graded: Graded) -> None:
    written = "<think>Rating: 2, or perhaps 1.</think>\n\n4"
    job = graded(lambda _: reply(written))
    rows = Grade.objects.filter(job=job)
    assert set(rows.values_list("rating", "outcome")) == {(4, Outcome.NUMERIC.value)}
    from rubricweb.grades import replies

    assert {raw.text for raw in replies.raw_replies(rows).values()} == {written}
