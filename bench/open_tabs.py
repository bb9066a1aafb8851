"""One event while many have the leaderboard open: how long each waits, and how many boards are computed.

    python bench/open_tabs.py [--tabs N] [--events N] [--processes N]

A uvicorn of two processes unless told otherwise, over a database of its own (DATABASE_URL chooses another
one, which must be empty), with 227,720 grades of 60 runs. Each tab is a viewer's with a stream of events. On
an event it fetches the board again, when the server tells it, which it does one tab after the other. Measured
twice: with a parameter of its own in each tab's address, so that nobody can share an answer, and as it is.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from many_assessors import Served

if TYPE_CHECKING:
    import httpx

ROOT = Path(__file__).resolve().parents[1]
BOARD = "/leaderboards/track/"
FIELD = re.compile(r'<input type="hidden" name="(seen|before|digest)" value="([^"]*)">')
COMPUTED = "computed a shared answer"
TIMEOUT = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tabs", type=int, default=200)
    parser.add_argument("--events", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True) as var:
        set_up(var)
        from tests.servers import RedisServer

        redis_server = RedisServer()
        redis_server.start()
        os.environ["REDIS_URL"] = redis_server.url
        try:
            cookies = viewers(options.tabs)
            measure(options, cookies, Path(var) / "log")
        finally:
            redis_server.stop()


def set_up(var: str) -> None:
    os.environ |= {
        "RUBRIC_DATA_DIR": var,
        "DATABASE_URL": os.environ.get("DATABASE_URL", f"sqlite:///{var}/bench.sqlite3"),
        "RUBRIC_LOG_LEVEL": "DEBUG",
        "RUBRIC_DEBUG": "false",
        "RUBRIC_SECRET_KEY": "a key of this bench alone, and of nothing else",
        "RUBRIC_ALLOWED_HOSTS": "127.0.0.1",
        "RUBRIC_SSL_REDIRECT": "false",
        "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
    }
    sys.path[:0] = [str(ROOT), str(ROOT / "bench")]


def viewers(count: int) -> list[dict[str, str]]:
    """The cookies of each; the collection is made before."""
    import django

    django.setup()
    from rubricweb.core.reader import see_everything

    see_everything()
    import _collection
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from rubricweb.corpus import pools
    from rubricweb.grades import matrices
    from tests.factories import MembershipFactory

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    collection = _collection.make()
    pools.keep_snapshots()
    pools.keep_snapshots()
    while matrices.out_of_date():
        matrices.keep_snapshots()
    cookies = []
    for _ in range(count):
        client, member = Client(), MembershipFactory(collection=collection, role="viewer")
        client.force_login(member.user, "django.contrib.auth.backends.ModelBackend")
        cookies.append({settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value})
    return cookies


def measure(options: argparse.Namespace, cookies: list[dict[str, str]], log: Path) -> None:
    with log.open("w") as errors:
        stderr, sys.stderr = os.dup(2), sys.stderr
        os.dup2(errors.fileno(), 2)  # the server inherits it
        try:
            with Served(options.processes) as url:
                for shares in (False, True):
                    before = log.read_text().count(COMPUTED)
                    tabs = asyncio.run(rounds(options, cookies, url, shares=shares))
                    report(tabs, log.read_text().count(COMPUTED) - before, options, shares=shares)
        finally:
            os.dup2(stderr, 2)


async def rounds(
    options: argparse.Namespace, cookies: list[dict[str, str]], url: str, *, shares: bool
) -> list[Tab]:
    import httpx

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT, limits=limits) as client:
        tabs = [Tab(client, own, number, shares=shares) for number, own in enumerate(cookies)]
        tabs[0].fields = await tabs[0].opened()
        for tab in tabs:
            tab.fields = tabs[0].fields
        tasks = [asyncio.create_task(tab.listen(options.events)) for tab in tabs]
        for tab in tabs:
            await tab.listens.wait()
        for _ in range(options.events):
            for tab in tabs:
                tab.changed_at = time.perf_counter()
            await asyncio.to_thread(change)
            for tab in tabs:
                await tab.refetched.wait()
                tab.refetched.clear()
        await asyncio.gather(*tasks)
    return tabs


def report(tabs: list[Tab], computed: int, options: argparse.Namespace, *, shares: bool) -> None:
    print(
        f"{'shared' if shares else 'each for itself':<16} {options.tabs} tabs, {options.events} events, "
        f"{computed / options.events:.0f} computations an event"
    )
    for what, seconds in (
        ("a fetch", [seconds for tab in tabs for seconds in tab.took]),
        ("event to board", [seconds for tab in tabs for seconds in tab.after]),
    ):
        p50, p95 = statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1]
        print(f"  {what:<16} p50 {p50:.2f} s, p95 {p95:.2f} s, longest {max(seconds):.2f} s", flush=True)


def change() -> None:
    """Another rating of one cell, and its event, as a worker does."""
    from rubricweb.core import events
    from rubricweb.corpus.models import Collection
    from rubricweb.grades.models import Grade
    from rubricweb.grades.store import recount

    collection = Collection.objects.get()
    grade = random.choice(Grade.objects.select_related("config")[:1_000])
    Grade.objects.filter(pk=grade.pk).update(rating=random.choice(range(6)))
    recount(grade.config, grade.topic_id)
    events.publish(collection.channel, "grades")


class Tab:
    """The stream of an open page, and its refetches."""

    def __init__(self, client: httpx.AsyncClient, cookies: dict[str, str], number: int, *, shares: bool):
        self.client, self.listens, self.refetched = client, asyncio.Event(), asyncio.Event()
        self.headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        self.own = {} if shares else {"tab": str(number)}
        self.fields: dict[str, str] = {}
        self.took: list[float] = []
        self.after: list[float] = []
        self.changed_at = 0.0

    async def opened(self) -> dict[str, str]:
        page = await self.client.get(BOARD, headers=self.headers)
        page.raise_for_status()
        return dict(FIELD.findall(page.text))

    async def listen(self, events: int) -> None:
        address = f"/collections/track/events/?since={time.time():.3f}"
        async with self.client.stream("GET", address, headers=self.headers) as stream:
            async for line in stream.aiter_lines():
                if line == ": listening":
                    self.listens.set()
                if line == "event: grades":
                    await self.refetch()
                if len(self.took) == events:
                    return

    async def refetch(self) -> None:
        started = time.perf_counter()
        headers = {**self.headers, "HX-Request": "true"}
        answer: Any = await self.client.get(BOARD, params={**self.fields, **self.own}, headers=headers)
        answer.raise_for_status()
        now = time.perf_counter()
        self.took.append(now - started)
        self.after.append(now - self.changed_at)
        self.fields |= dict(FIELD.findall(answer.text))
        self.refetched.set()


if __name__ == "__main__":
    main()
