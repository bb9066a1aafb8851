"""The files of docker/ name settings, addresses, queues and figures that the product has."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from honcho.environ import parse_procfile
from prometheus_client import generate_latest

from grading.graders.registry import BACKENDS
from rubricweb import __version__
from rubricweb.core import telemetry
from rubricweb.jobs import probes, queue
from rubricweb.jobs.models import Job
from rubricweb.leaderboards.models import PublicBoard
from tests.factories import gradable, grade, lexical_config, ranked

ROOT = Path(__file__).resolve().parents[1]
DOCKER = ROOT / "docker"
MANIFESTS = sorted((DOCKER / "kubernetes").glob("*.yaml"))
SETTING = re.compile(r"^#? ?((?:RUBRIC_|REDIS_|DATABASE_|OTEL_)[A-Z_]+)=", re.MULTILINE)
KNOWN = set(SETTING.findall((ROOT / ".env.example").read_text(encoding="utf-8")))


def _documents() -> list[dict[str, Any]]:
    return [each for path in MANIFESTS for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def _values(tree: Any, key: str) -> Iterator[Any]:
    """Every value of `key`, however deep."""
    if isinstance(tree, dict):
        yield from (value for name, value in tree.items() if name == key)
        yield from (found for value in tree.values() for found in _values(value, key))
    elif isinstance(tree, list):
        yield from (found for value in tree for found in _values(value, key))


def _compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_every_setting_is_one_that_is_explained():
    app = _compose()["services"]
    named = {name for service in ("web", "worker", "migrate") for name in app[service]["environment"]}
    for document in _documents():
        if document["kind"] in ("ConfigMap", "Secret"):
            named |= set(document.get("data", {})) | set(document.get("stringData", {}))
    assert len(named) > 10
    assert named <= KNOWN


def test_probes_ask_addresses_that_answer():
    asked = {probe["path"] for document in _documents() for probe in _values(document, "httpGet")}
    assert asked == {"/livez", "/readyz"}
    assert asked <= probes.VIEWS.keys()
    assert "http://127.0.0.1:8000/readyz" in str(_compose()["services"]["web"]["healthcheck"])


def test_images_are_of_this_version():
    images = {image for document in _documents() for image in _values(document, "image")}
    ours = {image for image in images if "/rubricweb:" in image}
    assert ours == {f"registry.example.org/rubricweb:{__version__}{suffix}" for suffix in ("", "-models")}


def test_workers_with_a_gpu_follow_the_queues_that_only_they_read():
    scaled = next(document for document in _documents() if document["kind"] == "ScaledObject")
    local = [name for name in BACKENDS if name.startswith("hf_")]
    assert len(local) == 3
    expected = {queue.get_queue(queue.name_for(p, b)).key for p in Job.Priority.values for b in local}
    assert set(_values(scaled, "listName")) == expected


def test_short_work_has_a_worker_of_its_own_everywhere():
    """In the demo and in the examples: nothing that needs no model waits behind one."""
    for command in (
        _compose()["services"]["short"]["command"],
        next(" ".join(args) for args in _values(_documents(), "args") if "--short" in args),
        parse_procfile((ROOT / "Procfile").read_text()).processes["short"],
    ):
        assert command.endswith("worker --short")


@pytest.mark.django_db
def test_alarms_watch_figures_that_there_are(redis_server):
    redis_server.start()
    text = (generate_latest(telemetry.registry()) + generate_latest(probes.WORK)).decode()
    given = set(re.findall(r"^# TYPE (\w+)", text, re.MULTILINE))
    alarms = (DOCKER / "prometheus" / "alerts.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(alarms)["groups"]
    watched = {name.removesuffix("_bucket") for name in re.findall(r"rubricweb_\w+", alarms)}
    assert len(watched) > 4
    assert watched <= given


@pytest.mark.django_db
def test_the_nightly_service_freezes_a_board_under_its_date(collection):
    bank = gradable(collection, topics=1, passages=2, items=1)
    passages = [row.passage for row in collection.topics.get().pool.all()]
    for passage in passages:
        grade(lexical_config(), bank.items.get(), passage, 4)
    ranked(collection.topics.get(), {"alpha": [passage.doc_id for passage in passages]})
    unit = (DOCKER / "systemd" / "rubricweb-nightly@.service").read_text(encoding="utf-8")
    commands = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    settings = {"PROMPT": "LexicalBaseline", "LLM": "lexical"}
    assert "PROMPT=LexicalBaseline, LLM=lexical" in unit
    for command in commands:
        text = command.replace("%i", collection.slug).replace("%%", "%")
        shell = shlex.split(text)[-1].removeprefix("exec ") if text.startswith("/bin/sh") else text
        shell = shell.replace("/srv/rubricweb/.venv/bin/rubricweb", "printf '%s\\n'")
        printed = subprocess.run(["/bin/sh", "-c", shell], env=settings, capture_output=True, check=True)
        call_command(*printed.stdout.decode().rstrip("\n").split("\n"))
    board = PublicBoard.objects.get()
    assert re.fullmatch(r"Board of \d{4}-\d\d-\d\d", board.title)
    assert "alpha" in str(board.frozen["rows"])
