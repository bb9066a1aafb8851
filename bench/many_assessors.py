"""Twenty assessors rating for a minute over real HTTP: nothing lost, and how long a save takes.

    python bench/many_assessors.py [--assessors N] [--seconds S] [--pause P] [--processes N]
        [--streams N] [--regrade] [--database sqlite|postgres]

A uvicorn of its own, with two processes as in the image unless told otherwise, over a database and a Redis
of its own. With `--streams` so many pages are open beside, which are told of each event; with `--regrade` a
worker grades the collection meanwhile, 200 cells a second, by a model that costs it no processor time.

Each assessor pauses P seconds between two ratings (1 unless told otherwise) and sends every fifth rating
twice; they begin one after the other within 4 P seconds, and saves are timed once all have begun. At the end,
what each believes to have rated is compared with what is kept. Processor time is printed too, which other
processes on the machine disturb less.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricweb.campaigns.models import Campaign
    from tests.rubricweb.campaigns.assessors import Assessor

ROOT = Path(__file__).resolve().parents[1]
GRADED_A_SECOND = 200
"""By the grader of `tests/rubricweb/grades/counting.py`."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--assessors", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--regrade", action="store_true")
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests import servers

    redis = servers.RedisServer()
    folder = tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True)
    with folder as var, servers.stack:
        servers.stack.callback(redis.stop)
        redis.start()
        is_sqlite = options.database == "sqlite"
        os.environ |= {
            "RUBRIC_DATA_DIR": var,
            "DATABASE_URL": f"sqlite:///{var}/bench.sqlite3" if is_sqlite else servers.start_postgres(),
            "REDIS_URL": redis.url,
            "COUNTED_CALLS": f"{var}/calls.txt",
            "RUBRIC_LOG_LEVEL": "ERROR",
            "RUBRIC_DEBUG": "false",
            "RUBRIC_SECRET_KEY": "a key of this bench alone, and of nothing else",
            "RUBRIC_ALLOWED_HOSTS": "127.0.0.1",
            "RUBRIC_SSL_REDIRECT": "false",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        import django

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        each = int((options.seconds + 5 * options.pause) / max(options.pause, 0.1) + 12)
        beside = int(GRADED_A_SECOND * options.seconds) if options.regrade else 0
        campaign = campaign_of(options.assessors * each, gradable_cells=beside)
        with Served(options.processes) as url:
            people = assessors_of(campaign, url, options.assessors)
            with streams(url, people, options.streams), regraded(campaign, is_wanted=options.regrade):
                begun = work(people, seconds=options.seconds, pause=options.pause)
        return report(campaign, people, begun)


def campaign_of(cells: int, *, gradable_cells: int = 0) -> Campaign:
    """Two assessors a cell, so that the same cells are asked for at once. The collection may have more."""
    from django.core.management import call_command

    from rubricweb.accounts.models import User
    from rubricweb.campaigns.actions import CampaignPlan, open_campaign
    from rubricweb.campaigns.models import Campaign
    from rubricweb.campaigns.population import Choice
    from rubricweb.grades.raters import KINDS, raters
    from tests.factories import CollectionFactory, gradable

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    collection = CollectionFactory(slug="bench")
    bank = gradable(collection, topics=2, passages=max(cells, gradable_cells) // 20 + 1, items=10)
    choice = Choice(bank, tuple(collection.topics.all()), frozenset(KINDS), raters(bank)[0], size=cells)
    by = User.objects.create_superuser("bench")
    return open_campaign(choice, CampaignPlan("bench", Campaign.Mode.ASSISTED, 2), by=by, seed=1)


@contextmanager
def streams(url: str, people: dict[int, Assessor], count: int) -> Iterator[None]:
    """So many streams of events, held open by the people in turn."""
    path = "/collections/bench/events/"
    cookies = ["; ".join(f"{name}={value}" for name, value in one.cookies.items()) for one in people.values()]
    port, heard = int(url.rpartition(":")[2]), [0] * count

    async def listen(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        cookie = cookies[number % len(cookies)]
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode())
        async for line in reader:
            heard[number] += line.startswith(b"event:")

    async def listen_all() -> None:
        await asyncio.gather(*(listen(number) for number in range(count)), return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(listen_all(),), daemon=True)
    thread.start()
    yield
    if count:
        print(f"{count} streams: {sum(map(bool, heard))} told of events, {sum(heard):,} events in all")


@contextmanager
def regraded(campaign: Campaign, *, is_wanted: bool) -> Iterator[None]:
    """A worker grades the campaign's collection meanwhile."""
    if not is_wanted:
        yield
        return
    from grading.graders import registry
    from rubricweb.grades import actions
    from rubricweb.grades.configs import config_for
    from rubricweb.grades.models import Grade
    from tests.rubricweb.grades.counting import BACKEND

    registry.BACKENDS[BACKEND.name] = BACKEND
    config = config_for(BACKEND.name, "counted", "LexicalBaseline")
    (job,) = actions.start_grading(campaign.collection, by=None, configs=[config])
    worker = subprocess.Popen([sys.executable, "-m", "tests.rubricweb.grades.counting"], cwd=ROOT)
    try:
        yield
        print(f"a re-grade beside: {Grade.objects.filter(job=job).count():,} of {job.total:,} cells")
    finally:
        worker.terminate()
        worker.wait(timeout=60)


class Served:
    """A uvicorn on a free port."""

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def __enter__(self) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "uvicorn", "rubricweb.asgi:application", "--log-level", "warning"]
        command += ["--port", str(port), "--workers", str(self.processes), "--timeout-graceful-shutdown", "1"]
        self.process = subprocess.Popen(command, cwd=ROOT, env=os.environ)
        url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{url}/accounts/sign-in/", timeout=5).close()
                return url
            except OSError:
                time.sleep(0.1)
        raise SystemExit("uvicorn did not start")

    def __exit__(self, *_: object) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.process.terminate()
        self.process.wait(timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"processor time of the web processes, their start included: {seconds:.1f} s")


def assessors_of(campaign: Campaign, url: str, count: int) -> dict[int, Assessor]:
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse
    from django.utils.crypto import get_random_string

    from tests.factories import MembershipFactory
    from tests.rubricweb.campaigns.assessors import Assessor

    queue = reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk])
    people = {}
    for _ in range(count):
        person = MembershipFactory(collection=campaign.collection, role="assessor").user
        client = Client()
        client.force_login(person, "django.contrib.auth.backends.ModelBackend")
        name = settings.SESSION_COOKIE_NAME
        cookies = {name: client.cookies[name].value, settings.CSRF_COOKIE_NAME: get_random_string(32)}
        people[person.pk] = Assessor(url, queue, cookies)
    return people


def work(people: dict[int, Assessor], *, seconds: float, pause: float) -> float:
    """Returns when all had begun."""
    begun = time.perf_counter() + 5 * pause
    until = begun + seconds

    def take_part(number: int, one: Assessor) -> None:
        time.sleep(4 * pause * number / len(people))
        one.work(wanted=lambda _: time.perf_counter() < until, pause=pause)

    with ThreadPoolExecutor(len(people)) as threads:
        list(threads.map(take_part, range(len(people)), people.values()))
    return begun


def report(campaign: Campaign, people: dict[int, Assessor], begun: float) -> int:
    from rubricweb.campaigns.models import Turn

    believed = {(pk, cell): rating for pk, one in people.items() for cell, rating in one.sent.items()}
    turns = campaign.turns.filter(state=Turn.State.SUBMITTED)
    kept = {(turn.person_id, turn.cell_id): turn.rating for turn in turns}
    lost = sum(kept.get(place) != rating for place, rating in believed.items())
    took = [1000 * seconds for one in people.values() for began, seconds in one.saves if began > begun]
    p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
    print(
        f"{len(people)} assessors, {len(believed)} ratings, {len(took)} saves timed; lost or changed: {lost}"
    )
    print(f"a save over HTTP, with the next cells: p50 {p50:.0f} ms, p95 {p95:.0f} ms")
    return 1 if lost or len(kept) != len(believed) else 0


if __name__ == "__main__":
    sys.exit(main())
