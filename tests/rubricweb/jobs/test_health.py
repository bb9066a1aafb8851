"""What machines are told: alive, ready, and how database, Redis and workers are."""

import shutil
import time
from functools import partial

import pytest
from django.contrib.staticfiles.finders import get_finder
from django.core.management import call_command
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from rubricweb.jobs import probes, queue
from rubricweb.jobs.queue import WorkerBeat


@pytest.fixture(autouse=True)
def _no_workers(redis_server, monkeypatch):
    monkeypatch.setattr(probes._Known, "migrations_are_applied", False)
    redis_server.start()
    redis_server.flush()


@pytest.mark.django_db
def test_without_a_worker_pages_are_served_but_health_is_degraded(client: Client):
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "degraded", "database": True, "redis": True, "workers": 0}


@pytest.mark.django_db
def test_a_beating_worker_makes_it_ok(client: Client):
    queue.beat(WorkerBeat("w1", time.time(), "idle", "cpu"))
    assert client.get("/healthz").json() == {"status": "ok", "database": True, "redis": True, "workers": 1}


@pytest.mark.django_db
def test_without_redis_it_is_down_yet_ready_to_serve_pages(client: Client, redis_server):
    redis_server.stop()
    health_answer, ready = client.get("/healthz"), client.get("/readyz")
    redis_server.start()
    assert health_answer.status_code == 503
    assert health_answer.json()["status"] == "down"
    assert ready.status_code == 200


@pytest.mark.django_db
def test_it_is_not_ready_before_its_migrations_are_applied(client: Client):
    """Those that only a newer version knows do not matter."""
    recorder = MigrationRecorder.Migration.objects
    recorder.create(app="grades", name="9999_of_the_next_version")
    assert client.get("/readyz").json() == {"database": True, "migrations": True, "static_files": True}
    probes._Known.migrations_are_applied = False
    recorder.filter(app="releases").delete()
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["migrations"]) == (503, False)


@pytest.fixture
def begun(settings, tmp_path, monkeypatch):
    """A process with the files of two style sheets, which serves what was collected before it began."""
    own = tmp_path / "own"
    (own / "bundles").mkdir(parents=True)
    for name in (probes.BASE, "new.css"):
        (own / name).write_text("p { color: red }")
    settings.STATIC_ROOT, settings.STATICFILES_DIRS = tmp_path / "collected", [own]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    kind = "django.contrib.staticfiles.storage.ManifestStaticFilesStorage"
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": kind}}
    get_finder.cache_clear()

    def begin() -> None:
        """A new process reads anew what was collected."""
        probes._Known.files_are_collected = False
        settings.STORAGES = dict(settings.STORAGES)

    yield begin
    get_finder.cache_clear()
    probes._Known.files_are_collected = False


@pytest.mark.django_db
def test_it_is_not_ready_before_its_static_files_are_collected(client: Client, begun, settings):
    """None, those of an earlier version, or files that somebody removed since."""
    collect, ready = partial(call_command, "collectstatic", interactive=False, verbosity=0), "/readyz"
    assert client.get(ready).json()["static_files"] is False
    newest = settings.STATICFILES_DIRS[0] / "new.css"
    newest.rename(newest.with_suffix(".later"))
    collect()
    newest.with_suffix(".later").rename(newest)
    begun()
    assert client.get(ready).status_code == 503, "the style sheet of this version is missing"
    collect()
    begun()
    assert client.get(ready).status_code == 200
    shutil.rmtree(settings.STATIC_ROOT)
    assert client.get(ready).json()["static_files"] is False


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/readyz", "/healthz"])
def test_probes_call_a_bare_address_without_https(client: Client, settings, path):
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = ["rubric.example.org"], True
    assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_it_needs_no_sign_in_and_refuses_post(client: Client):
    assert client.post("/healthz").status_code == 405


def test_livez_needs_no_database(client: Client):
    assert client.get("/livez", headers={"host": "10.1.2.3"}).content == b"ok\n"
