"""Who uses the web process while it is killed: somebody who downloads, and somebody who rates."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx
from django.conf import settings
from django.test import Client
from django.urls import reverse

from rubricweb.accounts.models import User
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.campaigns.population import CellChoice
from rubricweb.grades.raters import KINDS, raters
from tests import factories
from tests.rubricweb.campaigns.assessors import Assessor

PATIENCE = 900.0
"""Seconds for which a browser sends again what was not answered."""
PAUSE = 0.05
RANKED = 20_000
"""Lines of the file."""


def cookies_of(user: User) -> dict[str, str]:
    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    return {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value}


class Downloads:
    """A file that is fetched again and again: what is answered with 200 to its end has every byte."""

    def __init__(self, url: str, slug: str) -> None:
        collection = factories.CollectionFactory(slug=slug)
        person = factories.MembershipFactory(collection=collection, role="organizer").user
        topic = factories.TopicFactory(collection=collection)
        (run,) = factories.ranked(topic, {"long": [f"d{n}" for n in range(RANKED)]})
        self.address = f"{url}{reverse('exports:run-file', args=[slug, run.pk])}"
        self.cookies = cookies_of(person)
        self.whole = self.broken_off = 0
        self.contents: set[bytes] = set()

    def go_on(self, wanted: Callable[[], bool]) -> None:
        with httpx.Client(cookies=self.cookies, timeout=PATIENCE) as browser:
            while wanted():
                try:
                    answer = browser.get(self.address)
                except httpx.TransportError:
                    self.broken_off += 1
                else:
                    if answer.status_code == 200:
                        self.whole += 1
                        self.contents.add(answer.content)
                time.sleep(PAUSE)

    @property
    def has_succeeded(self) -> bool:
        return self.whole > 0

    def faults(self) -> list[str]:
        found = [] if self.whole else ["no download was whole"]
        return found if len(self.contents) <= 1 else [*found, "a download that looked whole was not"]


class Ratings:
    """Somebody in an assessor's queue: what was answered is kept, and what was not is sent again."""

    def __init__(self, url: str, slug: str, *, cells: int) -> None:
        collection = factories.CollectionFactory(slug=slug)
        bank = factories.gradable(collection, topics=1, passages=cells // 10 + 1, items=10)
        choice = CellChoice(
            bank, tuple(collection.topics.all()), frozenset(KINDS), raters(bank)[0], size=cells
        )
        by = factories.UserFactory(is_superuser=True)
        self.campaign = open_campaign(choice, CampaignPlan(slug, Campaign.Mode.ASSISTED, 1), by=by, seed=1)
        person = factories.MembershipFactory(collection=collection, role="assessor").user
        queue = reverse("campaigns:queue", args=[slug, self.campaign.pk])
        self.assessor = Assessor(url, queue, cookies_of(person), patience=PATIENCE)

    def go_on(self, wanted: Callable[[], bool]) -> None:
        self.assessor.work(wanted=lambda _: wanted(), pause=PAUSE)

    @property
    def has_succeeded(self) -> bool:
        return bool(self.assessor.sent)

    def faults(self) -> list[str]:
        turns = self.campaign.turns.filter(state=Turn.State.SUBMITTED)
        kept, sent = dict(turns.values_list("cell_id", "rating")), self.assessor.sent
        found = [] if sent else ["nothing was rated"]
        return (
            found
            if kept == sent
            else [*found, f"ratings sent and kept differ: {set(sent.items()) ^ set(kept.items())}"]
        )
