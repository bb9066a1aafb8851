"""What screens cost whoever works with them, measured in Chromium and printed as a table.

    python bench/screens.py

Rows and columns of the grid above the fold, requests and bytes of a first visit, keys until the grid has the
focus, frames that scrolling and moving miss, controls of the bank, layout shift of each page, and how long
a decision takes in queue, grid and verify: from the key until the next card, or the digit, is there. The demo
and a topic of 1,000 passages, with 16 items and with 30, are loaded into a folder that is removed.
"""

from __future__ import annotations

import gzip
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "bench")]
ITEMS = 16
TIMES = 12
PAUSE_MS = 150
"""Nobody decides faster."""
WITHIN_MS = 10_000
SETTLES_MS = 1_500
FEW_TABS = 60
FOLD = """() => {
  const frame = document.querySelector(".grid-frame").getBoundingClientRect();
  const end = { x: Math.min(frame.right, innerWidth), y: Math.min(frame.bottom, innerHeight) };
  const inside = (selector) => [...document.querySelectorAll(selector)]
    .map((one) => one.getBoundingClientRect())
    .filter(({ bottom, right }) => bottom <= end.y + 1 && right <= end.x + 1).length;
  return [inside("#grid tbody tr > th"), inside("#grid .column-head")];
}"""
CONTROLS = """() => {
  const seen = { visibilityProperty: true, opacityProperty: true };
  return [...document.querySelectorAll("main :is(a[href], button, input, select, textarea, summary)")]
    .filter((one) => one.type !== "hidden" && one.checkVisibility(seen)).length;
}"""
SHIFT = """() => new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 100);
})"""
FRAMES = """(milliseconds) => new Promise((resolve) => {
  const frames = [performance.now()];
  const next = (now) => {
    frames.push(now);
    now - frames[0] < milliseconds ? requestAnimationFrame(next) : resolve(frames);
  };
  requestAnimationFrame(next);
})"""
SCROLL = """() => {
  const frame = document.querySelector(".grid-frame");
  const step = () => { frame.scrollTop += 24; frame.scrollLeft += 6; requestAnimationFrame(step); };
  requestAnimationFrame(step);
}"""
OTHER_DIGIT = "document.activeElement.dataset.grade === '2' ? '3' : '2'"
"""One that the grader did not give: the same digit is not shown twice."""
FRAME_MS = 1000 / 60


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="rubric-bench-") as folder:
        os.environ |= {"RUBRIC_DATA_DIR": folder, "RUBRIC_LOG_LEVEL": "ERROR"}
        os.environ |= {"DJANGO_SETTINGS_MODULE": "rubricweb.settings"}
        import django

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        banks = load()
        from screenshots import demo

        from tests.browser import chromium

        with demo(folder) as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(**chromium.launch_args())
            for name, value in figures(browser, url, banks):
                print(f"{name:<64} {value}", flush=True)
            browser.close()
    return 0


def load() -> tuple[int, int, int, int]:
    """Ids of the bank of 16 items, of that of 30, of their topic, and of the demo's bank."""
    from grid_page import made

    from rubricweb.accounts.actions import set_role
    from rubricweb.accounts.models import User
    from rubricweb.accounts.roles import Role
    from rubricweb.banks.models import Bank, Item
    from rubricweb.demo.loading import load_demo
    from rubricweb.demo.reviewing import begin_review

    large = made()
    topic = large.collection.topics.get()
    small = Bank.objects.create(collection=large.collection, name="sixteen")
    for item in large.items.order_by("position")[:ITEMS]:
        Item.objects.create(
            bank=small, topic=topic, kind=item.kind, revision=item.revision, position=item.position
        )
    collection = load_demo()
    begin_review(collection)
    set_role(User.objects.get(username="organizer"), large.collection, role=Role.ORGANIZER, by=None)
    return small.pk, large.pk, topic.pk, collection.banks.get().pk


def figures(browser: Browser, url: str, banks: tuple[int, int, int, int]) -> Iterator[tuple[str, str]]:
    from screenshots import sign_in

    small, large, topic, of_demo = banks
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script("localStorage.setItem('rubricweb-tour', 'ended')")
    sign_in(page, url)
    page.wait_for_url(f"{url}/")
    grid = f"{url}/banks/{{}}/topics/{topic}/?view=grid"
    yield from fold(page, grid.format(small))
    yield from first_visit(page, grid.format(small))
    yield "Keys until the grid has the focus", keys_to_grid(page, grid.format(small))
    yield from frames(page, grid.format(large))
    page.goto(f"{url}/banks/{small}/topics/{topic}/")
    yield f"Controls seen on the bank of {ITEMS} items", str(page.evaluate(CONTROLS))
    yield from shifts(page, url, of_demo)
    yield from decisions(page, url, grid.format(small), of_demo)


def fold(page: Page, address: str) -> Iterator[tuple[str, str]]:
    for width, height in ((1440, 900), (1280, 720)):
        page.set_viewport_size({"width": width, "height": height})
        page.goto(address)
        rows, columns = page.evaluate(FOLD)
        yield f"Grid above the fold at {width} x {height}", f"{rows} rows, {columns} columns"
    page.set_viewport_size({"width": 1440, "height": 900})


def first_visit(signed_in: Page, address: str) -> Iterator[tuple[str, str]]:
    """Of a browser with an empty cache. The demo also sends htmx's script for debugging, and the icon of the
    tab is that of the page; the stream of events has no end and is not counted as bytes.
    """
    browser = signed_in.context.browser
    assert browser is not None
    page = browser.new_page(storage_state=signed_in.context.storage_state())
    sent: dict[str, Request] = {}
    page.on("request", lambda request: sent.setdefault(request.url, request))
    page.goto(address)
    page.locator("#grid[data-ready]").wait_for()
    page.wait_for_timeout(SETTLES_MS)
    wanted = [request for url, request in sent.items() if "django-htmx.js" not in url]
    size = sum(compressed(request) for request in wanted if "/events/" not in request.url)
    yield "Requests of a first visit to the grid (at most 8)", str(len(wanted))
    yield "Compressed bytes of it (under 200 KB)", f"{size / 1000:.0f} KB"
    page.close()


def compressed(request: Request) -> int:
    """Bytes of the answer as a server sends it: the demo leaves out the compression of static files."""
    response = request.response()
    assert response is not None
    plain = "content-encoding" not in response.headers and not request.url.endswith(".woff2")
    return len(gzip.compress(response.body())) if plain else request.sizes()["responseBodySize"]


def keys_to_grid(page: Page, address: str) -> str:
    page.goto(address)
    page.locator("#grid[data-ready]").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    if page.evaluate("document.activeElement.closest('#grid') !== null"):
        return "2: Tab, and Enter on the link that skips to it"
    for pressed in range(3, FEW_TABS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#grid') !== null"):
            return str(pressed)
    return f"over {FEW_TABS}"


def frames(page: Page, address: str) -> Iterator[tuple[str, str]]:
    """The share of frames, of 60 a second, that the page did not draw."""
    page.goto(address)
    page.wait_for_timeout(1_000)
    yield "Frames missed at rest, 1,000 x 30", missed(page.evaluate(FRAMES, 2_000))
    page.evaluate(SCROLL)
    yield "Frames missed while the grid scrolls", missed(page.evaluate(FRAMES, 2_000))
    page.reload()
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid [tabindex="0"]').focus()
    page.evaluate("""() => { globalThis.timer = setInterval(() => document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key: "ArrowDown", code: "ArrowDown", bubbles: true })), 33); }""")
    yield "Frames missed while an arrow key is held", missed(page.evaluate(FRAMES, 1_500))


def missed(moments: list[float]) -> str:
    drawn, due = len(moments) - 1, (moments[-1] - moments[0]) / FRAME_MS
    gaps = [after - before for before, after in pairwise(moments)]
    return f"{max(0, 1 - drawn / due):.0%} of {due:.0f}, longest gap {max(gaps):.0f} ms"


def shifts(page: Page, url: str, bank: int) -> Iterator[tuple[str, str]]:
    """The three pages that shift most, and how many there are."""
    from django.urls import reverse

    from rubricweb.home import screens

    addresses = [reverse(one.route, args=["demo"]) for one in screens.OF_COLLECTIONS]
    addresses += [
        reverse(one.route, args=["demo", bank] if one.takes_slug else [bank]) for one in screens.OF_BANKS
    ]
    addresses += [f"/banks/{bank}/topics/1/", f"/banks/{bank}/topics/1/?view=grid", "/"]
    page.goto(url + "/collections/demo/")
    topic = (
        str(page.locator('main a[href*="view=grid"]').first.get_attribute("href"))
        .split("/topics/")[1]
        .split("/")[0]
    )
    found = []
    for address in addresses:
        page.goto(url + address.replace("/topics/1/", f"/topics/{topic}/"))
        page.wait_for_timeout(600)
        found.append((page.evaluate(SHIFT), address))
    found.sort(reverse=True)
    yield (
        f"Layout shift of {len(found)} pages (under 0.02), median",
        f"{statistics.median(x for x, _ in found):.4f}",
    )
    for shift, address in found[:3]:
        yield f"  {address}", f"{shift:.4f}"


def decisions(page: Page, url: str, grid: str, bank: int) -> Iterator[tuple[str, str]]:
    page.goto(url + "/review/demo/queue/")
    page.goto(url + str(page.locator('main table a[href*="/queue/"]').first.get_attribute("href")))
    page.locator("#queue-card li[aria-current]").wait_for()
    shown = "document.querySelector('#queue-card li[aria-current]')?.dataset.cell"
    yield "Queue: one key a decision", timed(page, "3", shown)
    page.goto(grid)
    page.locator("#grid[data-ready]").wait_for()
    page.locator('#grid [tabindex="0"]').focus()
    said = "document.activeElement.querySelector('b')?.textContent"
    yield "Grid: one key a decision", timed(page, "", said, then="ArrowDown")
    page.goto(f"{url}/review/demo/banks/{bank}/verify/")
    page.locator("#check-cell").wait_for()
    yield (
        "Verify: one key a decision",
        timed(page, "r", "document.querySelector('#check-cell')?.dataset.cell"),
    )


def timed(page: Page, key: str, state: str, *, then: str = "") -> str:
    """Median and longest milliseconds from the key until the state is another; "" is a digit that shows."""
    took = []
    watch = f"""() => {{
      const before = {state}; const start = performance.now();
      globalThis.took = new Promise((resolve) => {{
        const look = () => {state} !== before ? resolve(performance.now() - start)
          : performance.now() - start > {WITHIN_MS} ? resolve(NaN) : setTimeout(look, 1);
        look();
      }});
    }}"""
    for _ in range(TIMES):
        page.evaluate(watch)
        page.keyboard.press(key or page.evaluate(OTHER_DIGIT))
        took.append(float(page.evaluate("globalThis.took")))
        if then:
            page.keyboard.press(then)
        page.wait_for_timeout(PAUSE_MS)
    return f"{statistics.median(took):.0f} ms, longest {max(took):.0f} ms"


if __name__ == "__main__":
    sys.exit(main())
