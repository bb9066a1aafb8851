"""The key `-` of the grid: a passage that contradicts an item."""

from __future__ import annotations

from pathlib import Path

from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import expect

from grading.types import CONTRADICTS
from rubricweb.corpus.models import Collection
from tests.browser.inspector import WIDE
from tests.browser.test_grid_rating import cell, events

FORMATS = Path(__file__).resolve().parents[2] / "fixtures" / "formats"


def test_minus_says_that_a_passage_contradicts(people):
    """DRAGUN's rubric with a judge's assessments, whose grader knows contradictions."""
    files = ("--bank", FORMATS / "banks" / "dragun.json", "--assignments", FORMATS / "assessments.csv")
    call_command("import_collection", "dragun", *map(str, files), "--by", "judge", verbosity=0)
    call_command("set_role", "dragun", "assessor", "assessor", verbosity=0)
    topic = Collection.objects.get(slug="dragun").topics.get()
    page = people.sign_in_routed("assessor", viewport=WIDE)
    bank = topic.collection.banks.get()
    page.goto(reverse("review:topic", args=[bank.pk, topic.pk], query={"view": "grid"}))
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid [tabindex="0"]').focus()
    first = cell(page, 1, 1)
    page.keyboard.press("-")
    expect(first.locator("b")).to_have_text("\N{MINUS SIGN}1")
    expect(first).to_have_attribute("data-seen", "1")
    assert events() == [(CONTRADICTS, False)]
    page.keyboard.press("z")
    expect(first.locator("b")).to_have_count(0)
    assert events()[1:] == [(None, True)]
