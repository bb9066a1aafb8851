"""Say what is missing or wrong on this machine."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import redis
from django.conf import settings
from django.core.checks import run_checks
from django.core.management.base import CommandParser
from django.db import connection
from django.template.defaultfilters import filesizeformat

from grading import plugins
from rubricweb import __version__
from rubricweb.core.reader import OperatorCommand
from rubricweb.jobs import probes, queue

LOW_BYTES = 1_000_000_000
EXTRAS = {
    "models": "torch",
    "pandas": "pandas",
    "autojudge": "autojudge_base",
    "sso": "allauth",
    "tracing": "opentelemetry",
}
"""Extra of the package: a module that comes with it."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was looked at, what was found, and whether the product works so; `advice` says what to do."""

    part: str
    text: str
    is_ok: bool = True
    advice: str = ""


class Command(OperatorCommand):
    requires_system_checks = ()  # they are among the findings
    help = (
        "Say what is missing or wrong on this machine: settings, disk, database, migrations, Redis, workers, "
        "static files. The exit status is 1 where something is."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:  # Any: what argparse parsed, by name
        findings = list(examine())
        if options["json"]:
            self.stdout.write(json.dumps({"findings": [asdict(finding) for finding in findings]}))
        else:
            for finding in findings:
                mark = "ok  " if finding.is_ok else "FAIL"
                self.stdout.write(f"{mark}  {finding.part:<12}  {finding.text}")
                if finding.advice:
                    self.stdout.write(f"{'':18}  {finding.advice}")
        if not all(finding.is_ok for finding in findings):
            raise SystemExit(1)


def examine() -> Iterator[Diagnosis]:
    """Yield what the product needs to serve and to grade, in the order in which each needs those before."""
    extras = ", ".join(name for name, module in EXTRAS.items() if find_spec(module)) or "none"
    yield Diagnosis(
        "version", f"RubricWeb {__version__}, Python {platform.python_version()}, extras: {extras}"
    )
    yield from _plugins()
    messages = run_checks()
    for message in messages:
        yield Diagnosis("settings", message.msg, not message.is_serious(), message.hint or "")
    if not messages:
        yield Diagnosis("settings", "no objection")
    yield _disk()
    yield from _database()
    yield from _redis()
    yield Diagnosis(
        "static files",
        "there" if (is_there := probes.has_static_files()) else "not collected",
        is_there,
        "" if is_there else "Run `rubricweb manage collectstatic --no-input`.",
    )


def _plugins() -> Iterator[Diagnosis]:
    for each in plugins.loaded():
        names = f"{each.distribution}, {each.name}"
        if each.problem:
            text = f"{names} is left out: {each.problem}"
            yield Diagnosis("plug-in", text, False, "Upgrade or uninstall it.")
        else:
            yield Diagnosis("plug-in", f"{names}: {', '.join(each.objects)}")


def _disk() -> Diagnosis:
    free = shutil.disk_usage(settings.DATA_DIR).free
    advice = "" if free >= LOW_BYTES else "Free some space, or set RUBRIC_DATA_DIR to another disk."
    return Diagnosis(
        "disk", f"{filesizeformat(free)} free for {settings.DATA_DIR}", free >= LOW_BYTES, advice
    )


def _database() -> Iterator[Diagnosis]:
    if not probes.has_database():
        yield Diagnosis("database", f"{connection.vendor} does not answer", False, "Look at DATABASE_URL.")
        return
    yield Diagnosis("database", f"{connection.vendor} answers")
    is_migrated = probes.has_migrations()
    yield Diagnosis(
        "migrations",
        "all applied" if is_migrated else "not all applied",
        is_migrated,
        "" if is_migrated else "Run `rubricweb migrate`.",
    )


def _redis() -> Iterator[Diagnosis]:
    try:
        workers = queue.living_workers()
        waiting = sum(queue.lengths().values())
    except redis.RedisError:
        advice = "Start one with `python -m rubricweb.core.redis_server`, or look at REDIS_URL."
        yield Diagnosis("redis", "does not answer", False, advice)
        return
    yield Diagnosis("redis", f"answers; {waiting} pieces of work wait")
    names = ", ".join(worker.name for worker in workers)
    advice = "" if workers else "Start one with `rubricweb worker`: pages are served, and nothing is graded."
    yield Diagnosis(
        "workers", f"{len(workers)} at work: {names}" if workers else "none", bool(workers), advice
    )
