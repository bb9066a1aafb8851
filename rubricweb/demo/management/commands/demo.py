"""`rubricweb demo`: everything on the embedded default, with a collection to look at; and its processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import redis
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import transaction
from environs import Env
from honcho.environ import parse_procfile

from grading.errors import GraderUnavailable
from grading.graders.hf_model import gguf_file
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core import database, reader, redaction, redis_server, servers
from rubricweb.corpus.models import Collection
from rubricweb.demo import MODELS, PASSWORD, SLUG
from rubricweb.jobs.probes import has_migrations

START_SECONDS = 10
STOP_SECONDS = 10
LOOK_SECONDS = 0.2
WORKERS = {"worker": "worker", "short": "worker for short work"}
"""Worker processes of the Procfile -> their label."""
RESTARTS, RESTART_SECONDS = 5, 60


class CannotStart(Exception):
    """A process of the demo cannot start; the text says why and what to do."""


def is_redis_up() -> bool:
    try:
        with servers.redis_client() as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


@contextmanager
def running_redis() -> Iterator[None]:
    """Provide Redis for the block: the one at REDIS_URL if it answers, else the embedded one."""
    if is_redis_up():
        yield
        return
    server = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "rubricweb.core.redis_server", redis_server.ALLOW_STAND_IN],
        stdout=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C would end it before the worker
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not is_redis_up():
            if server.poll() is not None:
                raise CannotStart("Redis did not start; its own message is above.")
            if time.monotonic() > deadline:
                where = redaction.redacted(settings.REDIS_URL)
                raise CannotStart(f"Redis did not answer at {where} within {START_SECONDS} seconds.")
            time.sleep(0.05)
        yield
    finally:
        server.terminate()
        server.wait()


def check_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise CannotStart(f"Port {port} is taken; choose another: make demo PORT={port + 1}") from error


@contextmanager
def web_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start the web process, which gets ready beside the block, and stop it after it."""
    web = _start("web", port)
    try:
        yield web
    finally:
        _stop([web])


def serve(web: subprocess.Popen[bytes], port: int) -> int:
    """Run workers beside the web process in the foreground until Ctrl-C, or until web ends.

    A worker that ends is restarted. All processes have sessions of their own, so that Ctrl-C reaches only
    this one, which stops the workers first. Return the exit status.
    """
    processes = {"web": web}
    try:
        processes |= {name: _start(name, port) for name in WORKERS}
        return _watch(processes, port)
    except KeyboardInterrupt:
        return 0
    finally:
        _stop([process for name, process in processes.items() if name in WORKERS])


def _watch(processes: dict[str, subprocess.Popen[bytes]], port: int) -> int:
    """Wait until web ends, or workers have ended five times within a minute."""
    ends: deque[float] = deque(maxlen=RESTARTS)
    while (status := processes["web"].poll()) is None:
        for name, kinds in WORKERS.items():
            ended = processes[name].poll()
            if ended is None:
                continue
            _say(f"The {kinds} {how_it_ended(ended)}.")
            ends.append(time.monotonic())
            if len(ends) == RESTARTS and ends[-1] - ends[0] < RESTART_SECONDS:
                _say(f"That was the {RESTARTS}th time within {RESTART_SECONDS} seconds: giving up.")
                return ended or 1
            processes[name] = _start(name, port)
            _say("A new one takes its work over.")
        time.sleep(LOOK_SECONDS)
    _say(f"The web process {how_it_ended(status)}.")
    return status


def how_it_ended(status: int) -> str:
    """Return how a process ended: "was killed by SIGKILL", "ended with status 1"."""
    if status >= 0:
        return f"ended with status {status}"
    return f"was killed by {signal.Signals(-status).name}"


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.stderr.flush()


def _start(name: str, port: int) -> subprocess.Popen[bytes]:
    """Start a process of the Procfile, whose errors have the product's own pages; web logs no request."""
    line = parse_procfile((settings.FILES_DIR / "Procfile").read_text()).processes[name]
    binaries = str(Path(sys.executable).parent)
    path = binaries + os.pathsep + os.environ.get("PATH", "")
    usual = {"RUBRIC_DEBUG_PAGES": "false", "UVICORN_LOG_LEVEL": "warning"}
    env = usual | os.environ | {"PORT": str(port), "PATH": path}
    command = ["/bin/sh", "-c", f"exec {line}"]
    return subprocess.Popen(command, env=env, cwd=settings.BASE_DIR, start_new_session=True)  # noqa: S603


def _stop(processes: list[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()


def further_steps() -> dict[str, Callable[[Collection], None]]:
    """Return what is said, and what is done then; all on the collection as it was loaded."""
    from rubricweb.demo import loading, reviewing

    return {
        "Two teams send in four runs of answers ...": loading.submit_runs,
        "Making a run of the best sentences ...": loading.make_run,
        "Rewording the rubric, and grading what is new ...": reviewing.revise_bank,
        "Two assessors rate 150 pairs, and disagree on some ...": reviewing.begin_review,
        "They vote on 60 pairs of answers, and label 100 citations ...": reviewing.vote_and_label,
        "Publishing a leaderboard and a release ...": loading.publish,
    }


class Command(reader.OperatorCommand):
    help = "Migrate, load the demo collection once, and run Redis, web and a worker until Ctrl-C."
    requires_system_checks = ()  # they load every page, which the web process does anyway

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=Env().int("PORT", 8000))
        parser.add_argument(
            "--model", choices=sorted(MODELS), help="grade it also with this very small language model"
        )
        parser.add_argument("--load-only", action="store_true", help="load the collection and stop")

    def handle(self, *, port: int, load_only: bool, model: str | None, **options: object) -> None:
        for ending in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(ending) is not signal.SIG_IGN:  # as nohup wants it
                signal.signal(ending, signal.default_int_handler)
        try:
            if not load_only:
                check_port(port)
            if model:
                from rubricweb.demo.loading import unpacked_meanwhile

                gguf_file(MODELS[model])
            with running_redis():
                self._migrate()
                with nullcontext() if load_only else web_server(port) as web:
                    with unpacked_meanwhile(model) if model else nullcontext():
                        self._load()
                    if model:
                        self._grade(model)
                    if web:
                        self._say_where(port)
                        sys.exit(serve(web, port))
        except (CannotStart, GraderUnavailable) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")

    def _migrate(self) -> None:
        for refusal in database.database_of_this_version(["default"]):
            raise CommandError(f"{refusal.msg} {refusal.hint}")
        if not has_migrations():
            self._say("Bringing the database up to date ...")
            call_command("migrate", verbosity=0)

    def _load(self) -> None:
        if Collection.objects.filter(slug=SLUG).exists():
            return
        from rubricweb.demo.loading import load_demo  # half of what this command imports

        with transaction.atomic():
            self._say("Loading 18 topics with their passages, questions and runs, and grading them ...")
            collection = load_demo()
            for line, step in further_steps().items():
                self._say(line)
                step(collection)

    def _say(self, step: str) -> None:
        self.stdout.write(step)
        self.stdout.flush()

    def _grade(self, model: str) -> None:
        from rubricweb.demo.loading import grade_with_model

        jobs = grade_with_model(Collection.objects.get(slug=SLUG), model)
        if jobs:
            self.stdout.write(
                f"{MODELS[model]} grades {sum(job.total for job in jobs)} pairs in the background. It is a "
                "very small model: it shows the way from prompt to board, and its ratings mean little."
            )

    def _say_where(self, port: int) -> None:
        self.stdout.write(
            f"\nRubricWeb runs at http://127.0.0.1:{port}/  (Ctrl-C stops it)\n"
            f"\nDemo accounts, all with the password {PASSWORD}:"
        )
        members = Membership.objects.filter(collection__slug=SLUG).select_related("user").order_by("pk")
        for member in members:
            of_team = f" of team {member.team}" if member.team else ""
            self.stdout.write(f"  {member.user.username:<10} {Role(member.role).label}{of_team}")
        self.stdout.write("")
        self.stdout.flush()
