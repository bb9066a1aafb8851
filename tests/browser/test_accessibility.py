"""Every page for everybody: axe, wide and narrow, light and dark; nothing wider than a telephone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.accounts.models import User

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
MAX_HTML_BYTES = 300_000
ONLY_CONTRAST = {"runOnly": ["color-contrast"], "resultTypes": ["violations"]}


class Inspector:
    """Looks at the page as it stands and writes down what is wrong with it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []

    def open(self, address: str) -> None:
        response = self.page.goto(address)
        size = len(response.body())
        if size >= MAX_HTML_BYTES:
            self.problems.append(f"{address}: {size} bytes of HTML")

    def inspect(self, name: str) -> None:
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self._axe(f"{name}, light")
        self.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        self._axe(f"{name}, dark", ONLY_CONTRAST)
        if excess := self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        ):
            self.problems.append(f"{name}: {excess} pixels too wide")

    def _axe(self, name: str, options: dict[str, object] | None = None) -> None:
        found = Axe().run(self.page, options=options or {"resultTypes": ["violations"]})
        for violation in found.response["violations"]:
            nodes = "; ".join(node["html"][:160] for node in violation["nodes"][:3])
            self.problems.append(f"{name}: {violation['id']} ({violation['help']}): {nodes}")


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def inspector(request, people) -> Iterator[Inspector]:
    found = Inspector(people.sign_in("organizer", viewport=request.param))
    yield found
    assert not found.problems, "\n".join(found.problems)


def settled(page: Page) -> None:
    """The parts that a page fetches are there."""
    expect(page.locator("#missing")).to_contain_text("No grade is missing")


def test_pages(inspector, places):
    run = places.collection.runs.get(run_tag="bm25")
    for name, address in {
        "home": "/",
        "collection": places.of_collection("review:collection"),
        "cell page": places.cell("d101"),
        "board": places.board,
        "run page": reverse("leaderboards:run", args=[places.collection.slug, run.pk]),
        "jobs": places.of_collection("grades:jobs"),
        "missing": places.of_collection("grades:missing"),
        "exports": places.of_collection("exports:exports"),
        "settings": places.of_collection("corpus:settings"),
        "prompts": places.of_collection("grades:prompts"),
        "write a prompt": places.of_collection("grades:prompt-write") + "?like=UmbrelaStyle",
        "patterns": reverse("core:patterns"),
        "keys": reverse("accounts:keys"),
    }.items():
        inspector.open(address)
        if inspector.page.locator("#missing").count():
            settled(inspector.page)
        if name == "board":
            inspector.page.locator(".plotly .main-svg").first.wait_for()
        inspector.inspect(name)


def test_sheet_of_keys(inspector, places):
    inspector.open(places.of_collection("review:collection"))
    inspector.page.keyboard.press("?")
    expect(inspector.page.get_by_role("dialog", name="Keys of this page")).to_be_visible()
    inspector.inspect("sheet of keys")


def test_bank_editor(inspector, places):
    page, item = inspector.page, f"#item-{places.item.pk}"
    inspector.open(places.editor)
    settled(page)
    inspector.inspect("bank editor")
    page.locator(item).get_by_role("link", name="Reword").click()
    expect(page.locator(f"{item} [role=status]")).to_contain_text("Nothing to grade")
    inspector.inspect("edit form")
    places.reword("Which pigment turns maples red?")
    page.locator(f"{item} textarea").fill("What makes maples red?")
    page.locator(item).get_by_role("button", name="Save").click()
    expect(page.locator(f"{item} [role=alert]")).to_contain_text("Nothing was saved over it")
    inspector.inspect("conflict")
    page.locator(item).get_by_role("link", name="Keep theirs").click()
    page.locator(item).get_by_role("link", name="History").click()
    expect(page.locator(item)).to_contain_text("Use these words again")
    inspector.inspect("history")
    page.locator(item).get_by_role("link", name="Close").click()
    page.locator(item).get_by_role("link", name="Retire…").click()
    expect(page.locator(item)).to_contain_text("If it is retired")
    inspector.inspect("what-if")


def test_grid(inspector, places):
    page = inspector.page
    inspector.open(places.grid)
    settled(page)
    inspector.inspect("grid")
    page.locator("#grid td a").first.click()
    expect(page.locator("#panel #cell-title")).to_be_visible()
    inspector.inspect("grid with its panel")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_sign_in_and_refusals(people, places, viewport):
    stranger = Inspector(people.visit(viewport=viewport))
    stranger.open("/accounts/sign-in/")
    stranger.inspect("sign-in")
    stranger.page.get_by_label("Username").fill("viewer")
    stranger.page.get_by_label("Password").fill("not the password")
    stranger.page.get_by_role("button", name="Sign in").click()
    expect(stranger.page.get_by_role("alert")).to_be_visible()
    stranger.inspect("refused sign-in")
    viewer = Inspector(people.sign_in("viewer", viewport=viewport))
    viewer.open(places.of_collection("corpus:settings"))
    expect(viewer.page.get_by_role("heading", name="Not for your role")).to_be_visible()
    viewer.inspect("403")
    assert not stranger.problems + viewer.problems, "\n".join(stranger.problems + viewer.problems)


def test_not_found(inspector, client_of):
    """The server under test runs with DEBUG, which has a page of its own for this: lay ours in its place."""
    address = "/collections/nowhere/"
    html = client_of(User.objects.get(username="organizer")).get(address).content
    answer = {"status": 404, "content_type": "text/html", "body": html}
    inspector.page.route(f"**{address}", lambda route: route.fulfill(**answer))
    inspector.open(address)
    expect(inspector.page.get_by_role("heading", name="Not found")).to_be_visible()
    inspector.inspect("404")
