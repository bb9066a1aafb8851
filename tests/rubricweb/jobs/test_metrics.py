"""What Prometheus reads, parsed as Prometheus does."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from grading.graders import registry
from grading.types import CellToGrade, ErrorClass, Grade, GradeFailure, Outcome, Trace
from rubricweb.grades import actions
from rubricweb.grades.engine import chunks
from rubricweb.jobs import worker
from rubricweb.jobs.limits import tokens_of
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.grades.answering import asking

TOKEN = "of-the-monitor"
MONITOR = {"Authorization": f"Bearer {TOKEN}", "host": "10.0.0.7:8000"}


@pytest.fixture(autouse=True)
def _guarded(settings, redis_server):
    settings.METRICS_TOKEN = TOKEN
    redis_server.start()
    redis_server.flush()


def _read(client: Client) -> dict[tuple[str, ...], float]:
    """Values by name and labels, which are in the order of their names."""
    answer = client.get("/metrics", headers=MONITOR)
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.content.decode())
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


@pytest.mark.parametrize("value", ["", "Bearer ", "Bearer of-another", f"Basic {TOKEN}"])
def test_nobody_reads_it_without_the_token(client: Client, value):
    answer = client.get("/metrics", headers={"Authorization": value})
    assert (answer.status_code, answer.content) == (401, b"")


def test_without_a_token_in_the_settings_there_is_nothing(client: Client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


@pytest.mark.django_db
def test_work_is_counted_from_its_start_to_its_end(collection, client: Client, settings):
    settings.CHUNK_CELLS = 6
    gradable(collection, topics=1, passages=4, items=3)
    job = actions.start_grading(collection, by=None)[0]
    chunks = list(job.chunks.order_by("number"))
    before = _read(client)
    assert before["rubricweb_work_waiting", "chunk"] == len(chunks) == 2
    worker.work_on("chunk", chunks[0].pk)
    after = _read(client)
    assert after["rubricweb_work_waiting", "chunk"] == 1
    assert after["rubricweb_work_leased", "chunk"] == 0
    assert after["rubricweb_work_attempts_total", "chunk", "done"] == 1
    assert after["rubricweb_work_units_total", "chunk", "done"] == 6
    assert after["rubricweb_work_seconds_total", "chunk", "done"] > 0
    assert 0 <= after["rubricweb_work_oldest_seconds", "chunk"] < 600
    assert after["rubricweb_cells_total", str(job.config)] == 6


@pytest.fixture
def failing(monkeypatch):
    """A grader that fails on the first pair of a chunk; it reads 100 characters of each and writes 20."""
    backend = registry.Backend(
        "scripted", "Scripted", f"{scripted.__name__}:ScriptedGrader", (), True, "paper", True
    )
    monkeypatch.setitem(registry.BACKENDS, "scripted", backend)
    monkeypatch.setattr(scripted, "SCRIPT", [_failing_first])
    chunks.close_until(0)
    yield
    chunks.close_until(0)


def _failing_first(number: int, pair: CellToGrade) -> Iterator[scripted.Result]:
    cell, trace = (pair.item.item_id, pair.passage.passage_id), Trace("x" * 100, "y" * 20)
    if number < 1:
        yield GradeFailure(*cell, "No rating.", trace, ErrorClass.PARSE)
    else:
        yield Grade(*cell, 4, Outcome.NUMERIC, trace=trace)


@pytest.mark.django_db
def test_pairs_failures_tokens_and_money_are_counted_by_grader(collection, failing, client: Client, settings):
    settings.PRICES = {"paper": 10.0}
    gradable(collection, topics=1, passages=2, items=3)
    asking(collection, "scripted", "QuestionSelfRatedUnanswerablePromptWithChoices")
    job = actions.start_grading(collection, by=None)[0]
    for chunk in job.chunks.all():
        worker.work_on("chunk", chunk.pk)
    values = _read(client)
    assert values["rubricweb_cells_total", str(job.config)] == 6
    assert values["rubricweb_failed_cells_total", "parse", str(job.config)] == 2
    assert values["rubricweb_tokens_total", "read", "paper"] == round(tokens_of(["x" * 600]))
    assert values["rubricweb_tokens_total", "written", "paper"] == round(tokens_of(["y" * 120]))
    assert values["rubricweb_dollars_total", "paper"] == pytest.approx(tokens_of(["x" * 720]) / 100_000)


@pytest.mark.django_db
def test_queues_say_how_long_their_first_piece_waits(
    collection, client: Client, django_capture_on_commit_callbacks
):
    gradable(collection, topics=1, passages=2, items=3)
    with django_capture_on_commit_callbacks(execute=True):
        job = actions.start_grading(collection, by=None)[0]
    job.chunks.update(queued_at=timezone.now() - dt.timedelta(minutes=5))
    assert 300 <= _read(client)["rubricweb_queue_oldest_seconds", "default"] < 600


DOCKER = Path(settings.BASE_DIR, "docker")


@pytest.mark.django_db
def test_boards_and_alarms_draw_what_there_is(client: Client):
    """Every query of the board has names of /metrics only, and each of those is drawn."""
    board = json.loads((DOCKER / "grafana.json").read_text(encoding="utf-8"))
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    answer = client.get("/metrics", headers=MONITOR).content.decode()
    families = set(re.findall(r"^# TYPE (rubricweb_\w+)", answer, re.MULTILINE))
    there = {name for name in families if not name.endswith("_created")}
    drawn = [_names_in(query) for query in queries]
    assert all(drawn)
    assert set().union(*drawn) == there
    assert _names_in((DOCKER / "prometheus/alerts.yml").read_text(encoding="utf-8")) < there


def _names_in(text: str) -> set[str]:
    return {name.removesuffix("_bucket") for name in re.findall(r"\brubricweb_\w+", text)}
