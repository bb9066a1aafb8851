"""Verified answers by keys: the verdict is right or wrong, the answer joins the key; the list; accessible."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.banks.models import AnswerKey
from rubricweb.grades.configs import config_for
from rubricweb.grades.human_models import AnswerVerdict
from rubricweb.grades.models import Grade
from rubricweb.grades.store import save_grades
from rubricweb.grades.verification import change_answer_key
from tests.browser.inspector import WIDE

BY_RULE = "QuestionCompleteConcisePromptWithAnswerKey2"
ANSWERS = (
    "Anthocyanins",
    "anthocyanin pigments",
    "anthocyanin and carotene",
    "carotene",
    "unanswerable",
    "xanthophyll",
)


@pytest.fixture
def verified(places) -> str:
    """The address of Verify grading by a grader that compared answers to the first question with its key."""
    config = config_for("openai_compatible", "a-model", BY_RULE)
    passages = [pooled.passage for pooled in places.topic.pool.all()[: len(ANSWERS)]]
    fields = {
        "config": config,
        "topic": places.topic,
        "revision": places.item.revision,
        "outcome": "extracted",
    }
    save_grades(
        config,
        [Grade(**fields, passage=p, answer=text) for p, text in zip(passages, ANSWERS, strict=True)],
    )
    change_answer_key(places.item, texts=["anthocyanins"], seen=places.item.version, by=None)
    at = reverse("review:verify", args=[places.collection.slug, places.bank.pk])
    return f"{at}?order=worst&grader={config.pk}"


@pytest.fixture
def page(people, verified) -> Page:
    page = people.sign_in_routed("developer", viewport=WIDE)
    page.goto(verified)
    return page


def shown(page: Page) -> str:
    return page.locator("#check-cell dd mark").inner_text()


def press_and_go_on(page: Page, key: str) -> None:
    before = page.locator("#check-cell").get_attribute("data-cell")
    page.keyboard.press(key)
    expect(page.locator(f'#check-cell[data-cell="{before}"]')).to_have_count(0)


def verdicts() -> list[tuple[str, bool | None]]:
    return list(AnswerVerdict.objects.order_by("pk").values_list("answer", "is_right"))


def test_verdicts_are_one_key_each(page):
    assert shown(page) == "anthocyanin pigments"
    press_and_go_on(page, "w")
    expect(page.locator("#check-saving")).to_contain_text("Saved: the answer is right.")
    expect(page.locator("#check-cell")).to_be_focused()
    assert shown(page) == "anthocyanin and carotene"
    press_and_go_on(page, "r")
    expect(page.locator("#check-saving")).to_contain_text("Saved: the answer is wrong.")
    assert verdicts() == [("anthocyanin pigments", True), ("anthocyanin and carotene", False)]
    press_and_go_on(page, "z")
    expect(page.locator("#announced")).to_have_text("Taken back.")
    assert shown(page) == "anthocyanin and carotene"


def test_answer_joins_the_key_by_a_key_and_leaves_it_by_undo(page):
    press_and_go_on(page, "y")
    toast = page.locator("#toasts .toast")
    expect(toast).to_contain_text("“anthocyanin pigments” is an accepted answer now. 1 verdict changed.")
    expect(page.locator("#check-cell .facts").first).to_contain_text("anthocyanins · anthocyanin pigments")
    toast.get_by_role("button", name=re.compile("Undo")).click()
    expect(page.locator("#check-cell dd mark")).to_have_text("anthocyanin pigments")
    expect(page.locator("#check-cell .facts").first).not_to_contain_text("·")
    assert list(AnswerKey.objects.values_list("text", flat=True)) == ["anthocyanins"]


def test_list_is_filtered_and_accepts_in_place(page, verified):
    page.get_by_label("Show").select_option("as a list")
    rows = page.locator(".answers tbody tr")
    expect(rows).to_have_count(5)
    page.get_by_label("Verdict").select_option("wrong, but near the key")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Add to the key: anthocyanin pigments").click()
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Check the answer").click()
    expect(page.locator("#check-cell dd mark")).to_have_text("anthocyanin and carotene")


def test_verified_answers_work_without_javascript(people, verified):
    page = people.sign_in("developer", java_script_enabled=False)
    page.goto(verified)
    page.get_by_role("button", name="Verdict is wrong").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert shown(page) == "anthocyanin and carotene"
    page.get_by_role("button", name="Add the answer to the key").click()
    expect(page.get_by_text("is an accepted answer now")).to_be_visible()
    assert AnswerKey.objects.count() == 2


def test_verified_answers_are_accessible(inspector_of, places, verified):
    inspector = inspector_of("organizer")
    inspector.open(verified)
    inspector.inspect("verified answers")
    inspector.operate("verified answers")
    inspector.open(f"{verified}&view=list")
    inspector.inspect("list of verified answers")
    inspector.operate("list of verified answers")
    inspector.open(f"{places.grid}&{verified.rpartition('&')[2]}")
    inspector.page.locator("#grid td a").first.click()
    expect(inspector.page.locator("#cell-title")).to_be_visible()
    inspector.inspect("grid of verified answers")
