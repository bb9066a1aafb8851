"""The inbox of drafts in a browser: accept, edit, reject, all together, and a request that failed."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Dialog, Locator, Page, Route, expect

from grading.generation import Drafts
from grading.types import ItemKind
from rubricweb.accounts.models import User
from rubricweb.banks import drafting
from rubricweb.banks.draft_models import Draft, DraftRequest
from rubricweb.banks.drafting import DraftOptions
from rubricweb.jobs import leases
from tests.rubricweb.jobs.working import claim

TEXTS = (
    "When do maples turn red?",
    "Which sugar builds anthocyanins?",
    "Does drought dull autumn colours?",
    "Who paints leaves?",
)


@pytest.fixture
def asked(places) -> DraftRequest:
    developer = User.objects.get(username="developer")
    wanted = DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny")
    return drafting.request_drafts(places.bank, places.topic, wanted, by=developer)


@pytest.fixture
def drafts(asked) -> list[Draft]:
    """Written by a model."""
    lease = claim(asked)
    drafting.keep_drafts(lease, Drafts(TEXTS, "reply", asked.prompt_id, 1))
    return list(Draft.objects.order_by("pk"))


@pytest.fixture
def page(people, places) -> Page:
    page = people.sign_in_routed("developer")
    with page.expect_response("**/events/**"):
        page.goto(places.editor)
    expect(page.locator(".htmx-request")).to_have_count(0)
    page.evaluate("window.isTheSame = true")
    return page


def of(page: Page, draft: Draft) -> Locator:
    return page.locator(f"#draft-{draft.pk}")


def test_accept_edit_and_reject_one_by_one(drafts, page, places):
    accepted, edited, rejected, _ = drafts
    items = page.locator("#items")
    page.locator(f"#draft-{accepted.pk}-accept").click()
    expect(of(page, accepted)).to_have_count(0)
    expect(items).to_contain_text(accepted.text)
    row = of(page, edited)
    row.get_by_text("Edit").first.click()
    row.get_by_role("textbox").fill("Which sugars build anthocyanins?")
    page.locator(f"#draft-{rejected.pk}-reject").click()
    expect(of(page, rejected)).to_have_count(0)
    expect(row.get_by_role("textbox")).to_have_value("Which sugars build anthocyanins?")
    row.get_by_role("button", name="Accept as edited").click()
    expect(row).to_have_count(0)
    expect(items).to_contain_text("Which sugars build anthocyanins?")
    assert page.evaluate("window.isTheSame")
    states = dict(Draft.objects.values_list("text", "state"))
    assert [states[text] for text in TEXTS] == ["accepted", "accepted", "rejected", "waiting"]
    assert places.bank.items.filter(draft=edited).get().revision.text == "Which sugars build anthocyanins?"


def test_a_row_opened_while_the_list_is_fetched_stays_open(drafts, page):
    """What the list was asked for is out of date when the answer comes: it is asked for again instead."""
    row, answers = of(page, drafts[0]), []

    def open_meanwhile(route):
        if not answers:
            row.get_by_text("Edit").first.click()
            row.get_by_role("textbox").fill("Which sugars build anthocyanins?")
        answers.append(route.request.url)
        route.continue_()

    page.route("**/drafts/?*", open_meanwhile)
    with page.expect_response(f"**/drafts/?*editing={drafts[0].pk}*"):
        page.evaluate("htmx.trigger('#drafts-live > span', 'again')")
    expect(page.locator(".htmx-request")).to_have_count(0)
    expect(row.get_by_role("textbox")).to_have_value("Which sugars build anthocyanins?")
    first, *again = [f"editing={drafts[0].pk}" in address for address in answers]
    assert not first
    assert all(again)


def test_a_click_counts_while_the_list_is_replaced(drafts, page):
    button = page.locator(f"#draft-{drafts[0].pk}-accept")
    button.hover()
    page.mouse.down()
    with page.expect_response("**/drafts/?*"):
        page.evaluate("htmx.trigger('#drafts-live > span', 'again')")
    expect(page.locator("#drafts-live .htmx-request")).to_have_count(0)
    page.mouse.up()
    expect(of(page, drafts[0])).to_have_count(0)


def test_a_release_that_nobody_hears_of_holds_no_list_back(drafts, page):
    """An open menu keeps it for itself."""
    page.evaluate("document.dispatchEvent(new PointerEvent('pointerdown', { buttons: 1 }))")
    page.mouse.move(1, 1)
    page.locator("#drafts").evaluate("(part) => (part.dataset.old = '')")
    page.evaluate("htmx.trigger('#drafts-live > span', 'again')")
    expect(page.locator("#drafts[data-old]")).to_have_count(0)


def test_an_open_row_survives_a_list_that_comes_after_a_newer_one(drafts, page):
    """The list is replaced by the answer to a decision while it is being fetched."""
    row, late = of(page, drafts[0]), []
    page.route("**/drafts/?*", lambda route: route.continue_() if late else late.append(route))
    row.get_by_text("Edit").first.click()
    row.get_by_role("textbox").fill("Which sugars build anthocyanins?")
    page.evaluate("htmx.trigger('#drafts-live > span', 'again')")
    while not late:  # it may be asked for by an event that the page missed, and then not by this
        page.wait_for_timeout(20)
    page.locator(f"#draft-{drafts[2].pk}-reject").click()
    expect(of(page, drafts[2])).to_have_count(0)
    with page.expect_response("**/drafts/?*"):
        late[0].continue_()
    expect(page.locator(".htmx-request")).to_have_count(0)
    expect(row.get_by_role("textbox")).to_have_value("Which sugars build anthocyanins?")


def test_words_that_are_asked_already_are_refused_beside_the_field(drafts, page, places):
    row = of(page, drafts[0])
    row.get_by_text("Edit").first.click()
    row.get_by_role("textbox").fill(str(places.item))
    row.get_by_role("button", name="Accept as edited").click()
    expect(row.locator(".field-error")).to_be_visible()
    expect(row.get_by_role("textbox")).to_have_value(str(places.item))
    assert Draft.objects.get(pk=drafts[0].pk).state == Draft.State.WAITING


def test_accept_all(drafts, page):
    page.locator("#drafts-accept").click()
    expect(page.locator(".draft")).to_have_count(0)
    for text in TEXTS:
        expect(page.locator("#items")).to_contain_text(text)
    assert set(Draft.objects.values_list("state", flat=True)) == {"accepted"}


def test_an_answer_finds_its_place_though_the_part_is_refreshed_meanwhile(drafts, page):
    """The event of a change may be there before the answer to the request that made it."""

    def late(route: Route) -> None:
        response = route.fetch()
        page.wait_for_timeout(2_500)
        route.fulfill(response=response)

    page.route("**/drafts/reject/*", late)
    page.evaluate("window.confirm = () => true")
    page.locator("#drafts-reject").click()
    expect(page.locator(".toast")).to_contain_text(f"{len(TEXTS)} drafts rejected")
    expect(page.locator(".draft")).to_have_count(0)


def test_review_by_keys_goes_from_topic_to_topic(drafts, people, places):
    """In the view of drafts, without leaving the topic's page."""
    other = places.collection.topics.exclude(pk=places.topic.pk).first()
    more = drafting.request_drafts(
        places.bank, other, DraftOptions(ItemKind.QUESTION, "hf_seq2seq", "tiny"), by=None
    )
    drafting.keep_drafts(claim(more), Drafts(("Who eats leaves?",), "reply", more.prompt_id, 1))
    page = people.sign_in("developer")
    page.goto(places.of_collection("editor:review-drafts"))
    switch = page.get_by_role("navigation", name="View")
    expect(switch.get_by_role("link", name="Drafts")).to_have_attribute("aria-current", "page")
    page.wait_for_load_state()
    first, second, *_ = map(
        int, Draft.objects.filter(request__topic=places.topic).values_list("pk", flat=True)
    )
    page.keyboard.press("a")
    expect(page.locator(f"#draft-{first}")).to_have_count(0)
    page.keyboard.press("r")
    expect(page.locator(f"#draft-{second}")).to_have_count(0)
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile(rf"/topics/{other.pk}/drafts/$"))
    expect(page.locator(".draft")).to_have_count(1)
    switch.get_by_role("link", name="Rubric").click()
    expect(page).to_have_url(re.compile(rf"/topics/{other.pk}/\?view=bank$"))


def test_reject_all_asks_first(drafts, people, page):
    asks: list[str] = []

    def agree(dialog: Dialog) -> None:
        asks.append(dialog.message)
        dialog.accept()

    page.context.remove_listener("dialog", people._on_dialog)
    page.context.on("dialog", agree)
    page.locator("#drafts-reject").click()
    expect(page.locator(".draft")).to_have_count(0)
    expect(page.locator(".toast")).to_have_text(re.compile(f"{len(TEXTS)} drafts rejected"))
    assert asks == [f"Reject all {len(TEXTS)} drafts?"]
    assert set(Draft.objects.values_list("state", flat=True)) == {"rejected"}


def test_a_worker_that_cannot_says_so_in_the_open_inbox(places, page, request):
    """The page was there before the worker."""
    nowhere = DraftOptions(ItemKind.QUESTION, "openai_compatible", "none")
    drafting.request_drafts(places.bank, places.topic, nowhere, by=None)
    expect(page.locator(".draft-request")).to_contain_text("queued")
    request.getfixturevalue("worker")
    expect(page.locator(".draft-request")).to_contain_text("No drafts:", timeout=60_000)
    expect(page.locator(".draft-request")).to_contain_text("no model server is configured", ignore_case=True)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".draft-request")).to_have_count(0)
    assert page.evaluate("window.isTheSame")


def test_everybody_can_use_the_inbox(drafts, inspector_of, places):
    failed = drafting.request_drafts(
        places.bank, places.topic, DraftOptions(ItemKind.NUGGET, "hf_seq2seq", "tiny"), by=None
    )
    leases.fail(claim(failed), error="no nugget in 3 replies", reply="I cannot.")
    inspector = inspector_of("developer")
    inspector.open(reverse("editor:drafts", args=[places.bank.pk, places.topic.pk]))
    expect(inspector.page.locator(".draft")).to_have_count(len(TEXTS))
    inspector.page.locator(".draft").first.get_by_text(re.compile(r"^\s*Edit")).first.click()
    inspector.page.get_by_text("Its last reply").click()
    inspector.inspect("drafts")
