"""What tests of the queue do on its page."""

from __future__ import annotations

from django.urls import reverse
from playwright.sync_api import Page, expect

from rubricweb.campaigns.models import Campaign, Turn
from rubricweb.grades.human_models import HumanGrade

SHOWN = "#queue-card li[aria-current]"
"""The item that the keys are for."""


def open_queue(page: Page, campaign: Campaign) -> None:
    page.goto(reverse("campaigns:queue", args=[campaign.collection.slug, campaign.pk]))
    expect(page.locator(SHOWN)).to_be_visible()


def order_shown(page: Page, campaign: Campaign) -> int:
    return campaign.cells.get(pk=page.locator(SHOWN).get_attribute("data-cell")).order


def expect_cell(page: Page, campaign: Campaign, order: int) -> None:
    cell = campaign.cells.get(order=order)
    expect(page.locator(f'{SHOWN}[data-cell="{cell.pk}"]')).to_be_visible()


def rated(campaign: Campaign) -> list[tuple[int, int]]:
    """(order, rating) of what was handed in."""
    turns = campaign.turns.filter(state=Turn.State.SUBMITTED).select_related("cell")
    return [
        (
            turn.order,
            HumanGrade.objects.filter(revision=turn.cell.revision_id, passage=turn.cell.passage_id)
            .order_by("pk")
            .last()
            .rating,
        )
        for turn in turns.order_by("order")
    ]


def expect_saved(page: Page) -> None:
    expect(page.locator("#outbox")).to_contain_text("Saved")
