"""What `rubricweb doctor` says of a machine."""

import json
import time

import pytest
from django.core.management import call_command

from rubricweb import __version__
from rubricweb.jobs import probes, queue
from rubricweb.jobs.management.commands import doctor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_workers(redis_server):
    redis_server.start()
    redis_server.flush()


def test_machine_with_everything_passes(capsys):
    queue.beat(queue.WorkerBeat("w1", time.time(), "idle", "cpu"))
    call_command("doctor")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert all(line.startswith("ok ") for line in lines)
    assert f"RubricWeb {__version__}" in lines[0]


def test_missing_worker_fails_with_what_to_do(capsys):
    with pytest.raises(SystemExit) as stopped:
        call_command("doctor", "--json")
    assert stopped.value.code == 1
    failed = [each for each in json.loads(capsys.readouterr().out)["findings"] if not each["is_ok"]]
    assert [each["part"] for each in failed] == ["workers"]
    assert "`rubricweb worker`" in failed[0]["advice"]


def test_stopped_redis_fails_with_what_to_do(redis_server):
    redis_server.stop()
    findings = {each.part: each for each in doctor.examine()}
    redis_server.start()
    assert not findings["redis"].is_ok
    assert "redis_server" in findings["redis"].advice
    assert "workers" not in findings


@pytest.mark.parametrize(
    ("check", "part", "advice"),
    [
        ("has_migrations", "migrations", "rubricweb migrate"),
        ("has_static_files", "static files", "collectstatic"),
        ("has_database", "database", "DATABASE_URL"),
    ],
)
def test_whatever_is_missing_is_named(monkeypatch, check, part, advice):
    monkeypatch.setattr(probes, check, lambda: False)
    [finding] = [each for each in doctor.examine() if each.part == part]
    assert not finding.is_ok
    assert advice in finding.advice


def test_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(doctor, "LOW_BYTES", 10**18)
    [finding] = [each for each in doctor.examine() if each.part == "disk"]
    assert not finding.is_ok
    assert "RUBRIC_DATA_DIR" in finding.advice
