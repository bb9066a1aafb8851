"""The bank as a ledger: name, change, compare, restore; try items on the board; merge duplicates."""

from __future__ import annotations

import re

from django.urls import reverse
from playwright.sync_api import expect

from rubricweb.banks import actions
from rubricweb.banks.models import Item

WORDS = "Which pigment makes maples red?"


def test_name_change_compare_and_restore(people, places):
    page, words = people.sign_in("developer"), str(places.item)
    page.goto(places.of_collection("editor:history"))
    page.get_by_text("Name the current state as a version").click()
    page.get_by_label("Name", exact=True).fill("Before the pilot")
    page.get_by_role("button", name="Name this version").click()
    expect(page.locator(".version")).to_contain_text("Before the pilot")
    places.reword(WORDS)
    page.get_by_role("link", name="Compare or restore").click()
    expect(page.get_by_role("heading", name="Before the pilot → now")).to_be_visible()
    expect(page.locator("#diff ins").first).to_contain_text("pigment")
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.get_by_text("Restored version 1: 1 item changed.")).to_be_visible()
    assert str(places.bank.items.get(pk=places.item.pk)) == words
    expect(page.locator(".timeline > li").nth(0)).to_contain_text("Reworded")
    expect(page.locator(".timeline > li").nth(1)).to_contain_text(WORDS)
    page.wait_for_load_state()  # the script that submits the form is there
    page.get_by_label("What happened").select_option("imported")
    expect(page.locator(".timeline > li").nth(0)).to_contain_text("Imported")


def test_somebody_edits_while_one_restores(people, places):
    page = people.sign_in("developer")
    page.goto(places.of_collection("editor:history"))
    page.get_by_text("Name the current state as a version").click()
    page.get_by_label("Name", exact=True).fill("Before the pilot")
    with page.expect_navigation():
        page.get_by_role("button", name="Name this version").click()
    places.reword(WORDS)
    page.get_by_role("link", name="Compare or restore").click()
    expect(page.get_by_role("button", name="Restore version 1")).to_be_visible()
    actions.revise_item(Item.objects.get(pk=places.item.pk), text="Is it red?", seen=2, by=None)
    page.get_by_role("button", name="Restore version 1").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody else changed this rubric")
    assert str(Item.objects.get(pk=places.item.pk)) == "Is it red?"


def test_the_board_moves_while_one_tries(people, places):
    page = people.sign_in("developer")
    page.goto(reverse("editor:trial", args=[places.bank.pk, places.topic.pk]))
    board = page.locator("#board")
    expect(board).to_contain_text("No run moves")
    left_out = page.get_by_label("Include", exact=True).all()[:8]
    for included in left_out:
        included.uncheck()
    expect(board.locator("tr[data-moved]")).not_to_have_count(0)
    expect(board).to_contain_text(re.compile(r"[1-9] of\s+\d+ runs\s+move"))
    page.get_by_label("Solo", exact=True).nth(1).check()
    expect(board.locator("tr[data-moved]")).not_to_have_count(0)
    page.get_by_label("All active items").check()
    for included in left_out:
        included.check()
    expect(board).to_contain_text("No run moves")
    page.get_by_label("Measure").select_option("weighted_cover")
    page.locator("input[type=range]").first.fill("-2")
    expect(page.locator("input[type=number][name^=weight-]").first).to_have_value("-2")
    expect(board).to_contain_text("Weighted cover@20")
    expect(board.locator("tr[data-moved]")).not_to_have_count(0)
    assert places.bank.items.get(pk=places.item.pk).version == 1
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved: 1 item changed.")).to_be_visible()
    assert places.bank.items.get(pk=places.item.pk).weight == -2


def test_importance_in_the_panel(people, places):
    page = people.sign_in("developer")
    page.goto(places.editor)
    row, panel = page.locator(f"#item-{places.item.pk}"), page.locator("#item-panel")
    row.locator("summary").click()
    row.get_by_role("link", name="Vital, weight 1.0").click()
    expect(panel.get_by_label("Importance")).to_be_focused()
    panel.get_by_label("Importance").select_option("okay")
    panel.get_by_label("Weight slider").fill("0.3")
    expect(panel.get_by_label("Weight", exact=True)).to_have_value("0.3")
    panel.get_by_role("button", name="Save").click()
    expect(row.locator(".item-importance")).to_have_text("okay")
    expect(row).to_contain_text("weight 0.3")


def test_merging_duplicates(people, places):
    first = actions.add_item(places.bank, places.topic, kind="question", text="Do oak leaves brown?", by=None)
    second = actions.add_item(
        places.bank, places.topic, kind="question", text="Do the oak leaves brown?", by=None
    )
    page = people.sign_in("developer")
    page.goto(places.of_collection("review:problems") + f"?problem=pair-{first.pk}-{second.pk}")
    expect(page.get_by_text("If it is retired,")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Merged: the second is retired.")).to_be_visible()
    second.refresh_from_db()
    assert second.merged_into == first


def test_accessible(inspector_of, places):
    inspector, bank, topic = inspector_of("developer"), places.bank, places.topic
    page = inspector.page
    inspector.open(places.of_collection("editor:history"))
    page.get_by_text("Name the current state as a version").click()
    page.get_by_label("Name", exact=True).fill("Before the pilot")
    page.get_by_role("button", name="Name this version").click()
    expect(page.locator(".version")).to_contain_text("Before the pilot")
    inspector.inspect("versions")
    places.reword(WORDS)
    for name, address in {
        "history": places.of_collection("editor:history"),
        "difference": places.of_collection("editor:history") + "?of=1",
        "trial": reverse("editor:trial", args=[bank.pk, topic.pk]),
        "weighing": reverse("editor:item-weigh", args=[bank.pk, places.item.pk]),
    }.items():
        inspector.open(address)
        inspector.inspect(name)
