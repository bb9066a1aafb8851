"""Every page for everybody: axe, keyboard, wide and narrow, light and dark; nothing wider than a phone."""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.accounts.invitations import Joining, invite
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Response
from tests.browser.inspector import Inspector
from tests.factories import responded


@pytest.fixture
def inspector(inspector_of) -> Inspector:
    return inspector_of("organizer")


def settled(page: Page) -> None:
    """The parts that a page fetches are there."""
    expect(page.locator("#missing")).to_be_empty()


def test_pages(inspector, places):
    run = places.collection.runs.get(run_tag="bm25")
    for name, address in {
        "home": "/",
        "collection": places.of_collection("home:collection"),
        "cell page": places.cell("d101"),
        "board": places.board,
        "two runs": places.of_collection("leaderboards:compare"),
        "one run": places.of_collection("leaderboards:compare") + f"?a={run.pk}",
        "problems": places.of_collection("review:problems"),
        "jobs": places.of_collection("grades:jobs"),
        "exports": places.of_collection("releases:share"),
        "bank export": reverse("exports:bank", args=[places.collection.slug, places.item.bank_id]),
        "settings": places.of_collection("corpus:settings"),
        "runs": places.of_collection("corpus:runs"),
        "run's description": places.of_collection("corpus:runs") + f"?edit={run.pk}",
        "pool": places.of_collection("grades:pool") + "?depth=3",
        "graders": places.of_collection("graders:graders"),
        "another grader": places.of_collection("graders:graders") + "?card=server",
        "write a prompt": places.of_collection("graders:write") + "?like=UmbrelaStyle",
        "patterns": reverse("core:patterns"),
        "keys": reverse("accounts:account"),
    }.items():
        inspector.open(address)
        if name != "missing" and inspector.page.locator("#missing").count():
            settled(inspector.page)
        inspector.inspect(name)
        inspector.operate(name)


def test_answers_of_a_run(inspector, places):
    answer = responded(places.item.topic, "generator", "## Colours", "Anthocyanins make maple leaves red.")
    cited = [{"text": one["text"], "citations": [["shard_00459_61697" * 4, 0.9]]} for one in answer.sentences]
    documents = {"doc" * 40: "A text.", "shard_00459_61697" * 4: "A text that is cited."}
    Response.objects.filter(pk=answer.pk).update(sentences=cited, documents=documents)
    for name, address in {
        "answers": places.of_collection("leaderboards:compare") + f"?a={answer.run_id}",
        "answer": reverse("review:response", args=[places.item.bank_id, answer.topic_id, answer.run_id]),
        "support": places.of_collection("support:board"),
        "asking about support": places.of_collection("support:ask"),
        "a citation to label": places.of_collection("support:label"),
    }.items():
        inspector.open(address)
        inspector.inspect(name)


def test_sheet_of_keys(inspector, places):
    inspector.open(places.of_collection("home:collection"))
    inspector.page.keyboard.press("?")
    expect(inspector.page.get_by_role("dialog", name="Keys on this page")).to_be_visible()
    inspector.inspect("sheet of keys")
    inspector.operate("sheet of keys")


def test_bank_editor(inspector, places):
    page, item = inspector.page, f"#item-{places.item.pk}"
    inspector.open(places.editor)
    settled(page)
    inspector.inspect("bank editor")
    inspector.operate("bank editor")
    page.locator(f"{item} .item-open").click()
    panel = page.locator("#item-panel")
    expect(panel.locator(".preview")).to_contain_text("The impact shows here")
    inspector.inspect("edit form")
    places.reword("Which pigment turns maples red?")
    panel.locator("textarea").fill("What makes maples red?")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_role("alert")).to_contain_text("Yours was not saved")
    inspector.inspect("conflict")
    panel.get_by_role("link", name="Keep theirs").click()
    expect(panel.get_by_role("alert")).to_have_count(0)
    page.locator(f"{item} .item-open").click()
    panel.get_by_role("link", name="History").click()
    expect(panel).to_contain_text("Use this wording again")
    inspector.inspect("history")
    panel.get_by_role("link", name="Close").click()
    expect(page.locator("#missing")).to_contain_text("29 grades missing")
    page.locator(f"{item} summary").click()
    inspector.inspect("menu of an item")
    page.locator(item).get_by_role("link", name="Retire…").click()
    expect(panel).to_contain_text("If it is retired")
    inspector.inspect("what-if")
    inspector.open(f"{places.editor}?beside=first")
    expect(page.locator("#missing")).to_contain_text("29 grades missing")
    page.locator(".item-tick").first.check()
    inspector.inspect("a passage beside chosen items")


def test_grid(inspector, places):
    page = inspector.page
    inspector.open(places.grid)
    settled(page)
    inspector.inspect("grid")
    page.locator("#grid td a").first.click()
    expect(page.locator("#panel #cell-title")).to_be_visible()
    inspector.inspect("grid with its panel")
    inspector.operate("grid with its panel")


def test_sign_in_and_refusals(inspector_of, places):
    stranger = inspector_of(None)
    stranger.open("/accounts/sign-in/")
    stranger.inspect("sign-in")
    stranger.operate("sign-in")
    stranger.page.get_by_label("Username").fill("viewer")
    stranger.page.get_by_label("Password").fill("not the password")
    stranger.page.get_by_role("button", name="Sign in").click()
    expect(stranger.page.get_by_role("alert")).to_be_visible()
    stranger.inspect("refused sign-in")
    viewer = inspector_of("viewer")
    viewer.open(places.of_collection("corpus:settings"))
    expect(viewer.page.get_by_role("heading", name="Not open to you")).to_be_visible()
    viewer.inspect("403")


def test_a_refused_form_has_the_focus_in_its_wrong_field_and_not_in_the_first(inspector_of, places):
    """Also where its script comes after the browser has put it in the first."""
    _, link = invite(places.collection, Joining(Role.VIEWER, "", days=1, max_uses=1), by=None)
    stranger = inspector_of(None)
    stranger.open(link)
    stranger.page.get_by_label("Username").fill("newcomer")
    stranger.page.get_by_label("Username").press("Enter")
    expect(stranger.page.get_by_text("This field is required.")).to_be_visible()
    stranger.page.get_by_label("Username").focus()
    stranger.page.evaluate("import('/static/js/focus.js?late')")
    expect(stranger.page.get_by_label("Password", exact=True)).to_be_focused()


def test_not_found(inspector, client_of):
    """The server under test runs with DEBUG, which has a page of its own for this: lay ours in its place."""
    address = "/collections/nowhere/"
    html = client_of(User.objects.get(username="organizer")).get(address).content
    answer = {"status": 404, "content_type": "text/html", "body": html}
    inspector.page.route(f"**{address}", lambda route: route.fulfill(**answer))
    inspector.open(address)
    expect(inspector.page.get_by_role("heading", name="Not found")).to_be_visible()
    inspector.inspect("404")
