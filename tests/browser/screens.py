"""Screens with an outbox, and what people do there by keys."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import pytest
from django.urls import reverse
from playwright.sync_api import Error, Page, expect

from grading.support import Support
from rubricweb.accounts.models import User
from rubricweb.arena.models import Vote
from rubricweb.campaigns.models import Decision, Turn
from rubricweb.grades.human_models import AnswerVerdict, HumanGrade
from rubricweb.review.models import Flag
from rubricweb.support import labelling
from rubricweb.support.actions import label_citation
from rubricweb.support.models import SupportEvent
from tests.browser.queue import open_queue, rated
from tests.browser.test_adjudication import inbox  # noqa: F401
from tests.browser.test_arena import answers  # noqa: F401
from tests.browser.test_support import cited  # noqa: F401
from tests.browser.test_verify_answers import verified  # noqa: F401
from tests.browser.waiting import holds


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen with an outbox."""

    open: Callable[[Page], None]
    keys: tuple[str, ...]
    saved: Callable[[], object]
    """What the database has after the keys."""
    expected: object
    username: str = "assessor"


@pytest.fixture
def queue(places, campaign_of) -> Screen:
    campaign = campaign_of()

    def saved() -> tuple[list[tuple[int, int]], int]:
        return rated(campaign), campaign.turns.filter(state=Turn.State.SKIPPED).count()

    keys = ("3", "x", "Enter", "4", "z")
    return Screen(lambda page: open_queue(page, campaign), keys, saved, ([(1, 3)], 1))


@pytest.fixture
def grid(places) -> Screen:
    def opened(page: Page) -> None:
        page.goto(places.grid)
        page.locator("#grid[data-ready]").wait_for()
        page.locator('#grid td [tabindex="0"]').focus()

    def saved() -> list[int | None]:
        return list(HumanGrade.objects.order_by("pk").values_list("rating", flat=True))

    return Screen(opened, ("4", "ArrowDown", "1", "z"), saved, [4, 1, None])


@pytest.fixture
def labels(cited) -> Screen:  # noqa: F811
    def opened(page: Page) -> None:
        page.goto(reverse("support:label", args=[cited.slug]))

    def saved() -> list[int | None]:
        return list(SupportEvent.objects.order_by("pk").values_list("label", flat=True))

    assessor = User.objects.get(username="assessor")
    label_citation(labelling.to_label(cited)[0], label=Support.NONE, by=assessor)
    return Screen(opened, ("2", "z"), saved, [0, 2, None])


@pytest.fixture
def verify(places) -> Screen:
    def saved() -> list[str]:
        return list(HumanGrade.objects.order_by("pk").values_list("verdict", flat=True))

    address = reverse("review:verify", args=[places.collection.slug, places.bank.pk])
    return Screen(
        lambda page: page.goto(address), ("r", "w", "Enter", "r"), saved, ["right", "wrong", "right"]
    )


@pytest.fixture
def verdicts(places, verified) -> Screen:  # noqa: F811
    def saved() -> list[bool | None]:
        return list(AnswerVerdict.objects.order_by("pk").values_list("is_right", flat=True))

    return Screen(lambda page: page.goto(verified), ("w", "r"), saved, [True, False], "developer")


@pytest.fixture
def battle(places, answers) -> Screen:  # noqa: F811
    def opened(page: Page) -> None:
        page.goto(places.of_collection("arena:vote"))
        page.locator("#ballot").wait_for()

    def saved() -> list[tuple[str, str]]:
        return list(Vote.objects.values_list("answer", "evidence"))

    return Screen(opened, ("1", "4", "Enter"), saved, [("left", "both_bad")])


@pytest.fixture
def case(inbox) -> Screen:  # noqa: F811
    def opened(page: Page) -> None:
        page.goto(inbox)

    def saved() -> list[int]:
        return list(Decision.objects.values_list("rating", flat=True))

    return Screen(opened, ("4",), saved, [4], username="developer")


@pytest.fixture
def flag(places) -> Screen:
    cell = places.cell(places.topic.pool.order_by("position").first().passage.doc_id)

    def opened(page: Page) -> None:
        page.goto(cell)
        page.get_by_role("radio", name="misleading").focus()

    def saved() -> list[str]:
        return list(Flag.objects.values_list("kind", flat=True))

    return Screen(opened, ("s", "Control+Enter"), saved, ["spurious"])


NAMES = ("queue", "grid", "labels", "verify", "verdicts", "battle", "case", "flag")


@pytest.fixture(params=NAMES)
def screen(request: pytest.FixtureRequest) -> Screen:
    return request.getfixturevalue(request.param)


def expect_saved(page: Page, screen: Screen) -> None:
    """Expect what the keys save, once all is sent: before, the database may look the same for a moment."""
    assert holds(page, lambda: is_sent(page))
    assert holds(page, lambda: screen.saved() == screen.expected), screen.saved()
    page.wait_for_load_state()
    expect(page.locator("#outbox")).not_to_contain_text("unsent")
    expect(page.locator("#refused > *")).to_have_count(0)


def is_sent(page: Page) -> bool:
    """Return whether nothing waits in the outbox."""
    with suppress(Error):  # the page may just be left for another
        return page.evaluate("localStorage['rubricweb-outbox'] === '[]'")
    return False
