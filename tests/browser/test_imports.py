"""From nothing to a graded collection in the browser: create it, upload, check, leave out, import, see it."""

from __future__ import annotations

import gzip
import json

import pytest
from playwright.sync_api import Page, expect

from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection
from tests.browser.waiting import WAIT_MS
from tests.rubricweb.import_files import FALL, RED, bank_line, passage, rated, uid

GRADED = json.dumps(["t1", [passage("d1", rated({uid(RED): 5})), passage("d2", rated({uid(RED): 0}))]])
FILES = {
    "queries.json": b'{"t1": "why leaves turn red"}',
    "graded.jsonl.gz": gzip.compress(GRADED.encode()),
    "questions.jsonl": json.dumps(bank_line(RED, FALL)).encode(),
    "bm25.run": b"t1 Q0 d1 1 2.5 bm25\nt1 Q0 d2 2 1.5\n",
}


def payload(name: str) -> dict[str, object]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": FILES[name]}


@pytest.fixture
def staff(demo: Collection) -> User:
    User.objects.filter(username="organizer").update(is_staff=True)
    return User.objects.get(username="organizer")


def create(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="New collection").click()
    page.get_by_label("Name", exact=True).fill("Leaves 2026")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Import", exact=True)).to_be_visible()


def test_the_whole_way(people, staff, worker, inspector_of):
    page = people.sign_in("organizer")
    create(page)
    page.get_by_label("Files").set_input_files([payload(name) for name in FILES])
    page.get_by_role("button", name="Upload and check").click()
    refused = page.locator(".import-file[data-state=refused]")
    expect(refused).to_contain_text("line 2:", timeout=4 * WAIT_MS)
    expect(refused).to_contain_text("5 columns, expected 6")
    expect(page.locator("#import-state")).to_contain_text("1 file refused")
    expect(page.locator("#announced")).to_contain_text("Nothing is imported yet.")
    address = page.url
    inspector = inspector_of("organizer")
    inspector.open(address)
    inspector.inspect("import with a refused file")
    page.get_by_role("button", name="Exclude bm25.run").press("Enter")
    expect(page.locator("#import-state")).to_contain_text("3 files read", timeout=4 * WAIT_MS)
    expect(page.get_by_role("row", name="grades")).to_contain_text("2")
    page.get_by_text("Paste instead").click()
    page.get_by_label("Text", exact=True).fill("t1 0 d1 3\nt1 0 d2 0\n")
    page.get_by_role("button", name="Add and check").click()
    expect(page.locator("#import-state")).to_contain_text("4 files read", timeout=4 * WAIT_MS)
    page.get_by_role("button", name="Import 4 files").press("Enter")
    expect(page.locator("#import-state")).to_contain_text("Imported.", timeout=4 * WAIT_MS)
    inspector.open(address)
    inspector.inspect("an import that was made")
    page.get_by_role("link", name="See the collection").click()
    expect(page.get_by_role("heading", name="Leaves 2026")).to_be_visible()
    expect(page.locator("main")).to_contain_text("why leaves turn red")
    collection = Collection.objects.get(slug="leaves-2026")
    assert (collection.runs.count(), collection.passages.count()) == (0, 2)
    inspector.open(f"/collections/{collection.slug}/imports/")
    inspector.inspect("history of imports")


def test_without_javascript(people, staff, worker):
    page = people.visit(java_script_enabled=False)
    page.goto("/")
    page.get_by_label("Username").fill("organizer")
    page.get_by_label("Password").fill("rubric-demo")
    page.get_by_role("button", name="Sign in").click()
    create(page)
    page.get_by_label("Files").set_input_files([payload("queries.json")])
    page.get_by_role("button", name="Upload and check").click()
    look_until(page, "1 file read")
    page.get_by_role("button", name="Import 1 file").click()
    look_until(page, "Imported.")
    assert Collection.objects.get(slug="leaves-2026").topics.count() == 1


def look_until(page: Page, words: str) -> None:
    """A page without scripts shows what there is when somebody looks again."""
    for _ in range(600):
        if words in page.locator("#import-state").inner_text():
            return
        page.wait_for_timeout(100)
        page.reload()
    raise AssertionError(f"{words} never came: {page.get_by_role('status').inner_text()}")
