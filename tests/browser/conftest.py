"""A real uvicorn, a real worker and Chromium, over the test database."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Response, expect

from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks.actions import revise_item
from rubricweb.banks.models import Bank, Item
from rubricweb.campaigns.actions import CampaignPlan, open_campaign
from rubricweb.campaigns.models import Campaign
from rubricweb.campaigns.population import CellChoice
from rubricweb.corpus.models import Collection, Topic
from rubricweb.demo import SLUG
from rubricweb.demo.loading import load_demo
from rubricweb.grades.raters import raters
from tests.browser import FORGET, WORKED_ON, chromium
from tests.browser.inspector import Inspector
from tests.browser.slowness import slowed_down
from tests.browser.waiting import PAUSE_MS, WAIT_MS
from tests.five_topics import write_five_topics
from tests.rubricweb.jobs.workers import WorkerProcess, workers
from tests.servers import url_of_test_database
from tests.sessions import session_of
from tests.states import SqliteState

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120
IDLE_SECONDS = 60
HARMLESS = (
    # Browsers log refusals that our pages show in words: a 404, a 409 on a conflict, a 422 on a bad form.
    "Failed to load resource: the server responded with a status of 4",
    # htmx logs every request that gives way to a newer one, which is what `hx-sync="...:replace"` asks for.
    "htmx:sendAbort",
    "htmx:afterRequest",  # also logged beside htmx:sendError and htmx:timeout, which are not harmless
)

SHOWN_ONCE_LOADED = """
const unseen = new CSSStyleSheet();
unseen.replaceSync(":root { visibility: hidden !important }");
document.adoptedStyleSheets.push(unseen);
addEventListener("load", () => {
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== unseen);
});
"""
"""Nothing can be seen, clicked or expected to be visible before the scripts of its page hear of it: a test is
quicker than people are."""

expect.set_options(timeout=WAIT_MS)

# Playwright keeps an event loop in this thread, which Django would take for asynchronous code.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that fails here runs once more; `tests/conftest.py` lists as unstable what then passes."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, object]) -> dict[str, object]:
    return {**browser_type_launch_args, **chromium.launch_args()}


@pytest.fixture(scope="session")
def _environment(django_db_setup: None, django_db_blocker) -> dict[str, str]:
    with django_db_blocker.unblock():
        url = url_of_test_database()
    return {**os.environ, "DATABASE_URL": url, "RUBRIC_LEASE_SECONDS": "5"}


@pytest.fixture(scope="session")
def server_url(_environment: dict[str, str]) -> Iterator[str]:
    """A uvicorn for all tests of this process; every test has its own rows."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        "uvicorn",
        "tests.browser.server:application",
        "--port",
        str(port),
        "--timeout-graceful-shutdown",
        "1",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--log-level", "warning"], cwd=ROOT, env=_environment
    )
    url = f"http://127.0.0.1:{port}"
    _wait_for(url + "/accounts/sign-in/", process)
    yield url
    process.terminate()
    process.wait(timeout=60)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"uvicorn did not answer at {url}")


@pytest.fixture
def worker(
    _environment: dict[str, str], demo: Collection, redis_server, tmp_path: Path
) -> Iterator[WorkerProcess]:
    """A living worker, gone before the database is emptied."""
    with workers(_environment["DATABASE_URL"], redis_server.url, tmp_path) as start:
        yield start(lease_seconds=5)


@pytest.fixture
def demo(transactional_db: None, redis_server, five_topics: Path, loaded: LoadedOnce) -> Collection:
    """Five topics of the demo collection, imported and graded by the lexical baseline."""
    collection = loaded.collection(five_topics)
    redis_server.flush()  # as it is where nothing was loaded
    return collection


class LoadedOnce:
    """The five topics: SQLite has them back in no time, PostgreSQL loads them for every test."""

    def __init__(self) -> None:
        self._state: SqliteState | None = None

    def collection(self, folder: Path) -> Collection:
        if self._state is None:
            collection = load_demo(folder)
            if connection.vendor == "sqlite":
                self._state = SqliteState()
            return collection
        self._state.put_back()
        return Collection.objects.get(slug=SLUG)


@pytest.fixture(scope="session")
def loaded() -> LoadedOnce:
    return LoadedOnce()


@pytest.fixture(scope="session")
def five_topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_five_topics(tmp_path_factory.mktemp("demo") / "five")


@dataclass(frozen=True)
class Places:
    """Addresses of the demo, and the rows behind them."""

    collection: Collection

    @cached_property
    def topic(self) -> Topic:
        return self.collection.topics.get(query_id="t1")

    @cached_property
    def bank(self) -> Bank:
        return self.collection.banks.get()

    @cached_property
    def item(self) -> Item:
        """The topic's first question."""
        return self.bank.items.filter(topic=self.topic, kind="question").order_by("position").first()

    @property
    def editor(self) -> str:
        return reverse("review:topic", args=[self.bank.pk, self.topic.pk])

    @property
    def grid(self) -> str:
        return reverse("review:topic", args=[self.bank.pk, self.topic.pk], query={"view": "grid"})

    @property
    def board(self) -> str:
        return reverse("leaderboards:board", args=[self.collection.slug])

    def cell(self, doc_id: str) -> str:
        passage = self.collection.passages.get(doc_id=doc_id)
        return reverse("review:cell", args=[self.bank.pk, self.topic.pk, passage.pk, self.item.pk])

    def reword(self, text: str) -> None:
        """The developer's change to the item, as if from another browser."""
        developer = User.objects.get(username="developer")
        revise_item(self.item, text=text, seen=self.item.version, by=developer)

    def of_collection(self, name: str) -> str:
        return reverse(name, args=[self.collection.slug])


@pytest.fixture
def places(demo: Collection) -> Places:
    return Places(demo)


def wait_until_idle(url: str) -> None:
    """Wait until the server has ended what it still does for pages that are closed.

    Meanwhile PostgreSQL cannot empty its tables, and what a view saves would stay for the next test.
    """
    deadline = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < deadline:
        with urllib.request.urlopen(url + WORKED_ON, timeout=WAIT_MS / 1_000) as reply:
            requests = reply.read().decode()
        if not requests:
            return
        time.sleep(PAUSE_MS / 1_000)
    raise RuntimeError(f"the server still works for pages that are closed: {requests}")


class People:
    """Browser contexts of members of the demo, and what their browsers complained of."""

    def __init__(self, browser: Browser, url: str) -> None:
        self.browser, self.url = browser, url
        self.contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.leaves = False
        """Whether they leave a page that warns that something is unsent."""

    def visit(self, **options: object) -> Page:
        """A page in a context of its own, not signed in."""
        context = self.browser.new_context(base_url=self.url, **options)
        context.set_default_timeout(WAIT_MS)
        if options.get("java_script_enabled", True):
            context.add_init_script(SHOWN_ONCE_LOADED)
        context.on("weberror", lambda found: self.complaints.append(str(found.error)))
        context.on("console", self._on_console)
        context.on("response", self._on_response)
        context.on("dialog", self._on_dialog)
        self.contexts.append(context)
        return slowed_down(context.new_page())

    def sign_in(self, username: str, **options: object) -> Page:
        """A page of a member's own context; `test_without_javascript` signs in by the form."""
        page = self.visit(**options)
        session = session_of(User.objects.get(username=username))
        page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": self.url}])
        return page

    def sign_in_routed(self, username: str, **options: object) -> Page:
        """Likewise, for tests that come between page and server with `route`. Chromium lets requests pass
        that a page sends while interception is being turned on, so here it is on before the page is opened.
        """
        page = self.sign_in(username, **options)
        page.context.route("https://nowhere.invalid/", lambda route: route.abort())
        return page

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(HARMLESS):
            self.complaints.append(message.text)

    def _on_response(self, response: Response) -> None:
        if response.status >= 500:
            self.complaints.append(f"{response.status} {response.url}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialog: {dialog.type} {dialog.message}")
        if dialog.type == "beforeunload" and self.leaves:
            dialog.accept()
        else:
            dialog.dismiss()

    def leave(self) -> None:
        for context in self.contexts:
            context.close()
        wait_until_idle(self.url)


@pytest.fixture
def people(browser: Browser, server_url: str, demo: Collection) -> Iterator[People]:
    """`people.sign_in("developer")`: a page of one's own; no browser may complain of anything.

    They leave before the database is emptied.
    """
    urllib.request.urlopen(server_url + FORGET, timeout=WAIT_MS / 1_000).close()
    cast = People(browser, server_url)
    yield cast
    cast.leave()
    assert cast.complaints == []


@pytest.fixture
def streams_break_off(people: People) -> Iterator[None]:
    """For tests in which sessions end, and streams of events with them; htmx logs the broken stream."""
    yield
    people.complaints[:] = [one for one in people.complaints if one != "[object Event]"]


@pytest.fixture
def inspector_of(people: People) -> Iterator[Callable[[str | None], Inspector]]:
    """`inspector_of("developer")` looks at a member's pages, `inspector_of(None)` at a stranger's."""
    inspectors: list[Inspector] = []

    def inspector(username: str | None) -> Inspector:
        inspectors.append(Inspector(people.sign_in(username) if username else people.visit()))
        return inspectors[-1]

    yield inspector
    problems = [problem for one in inspectors for problem in one.problems]
    assert not problems, "\n".join(problems)


@pytest.fixture
def campaign_of(places):
    def made(mode: str = "assisted", *, size: int | None = 6, assessors: int = 1) -> Campaign:
        kinds = frozenset({ItemKind.QUESTION, ItemKind.NUGGET})
        choice = CellChoice(places.bank, (places.topic,), kinds, raters(places.bank)[0], size=size)
        plan = CampaignPlan(f"Second look {uuid4().hex[:4]}", Campaign.Mode(mode), assessors)
        return open_campaign(choice, plan, by=User.objects.get(username="organizer"), seed=5)

    return made
