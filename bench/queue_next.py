"""How long after the key the next item, and the next passage, show in the queue, in Chromium.

    python bench/queue_next.py [--keys 60]

A uvicorn of its own over passages of 12 items. `performance.now()` is read when the key goes down, when the
page has the next item, and when the frame that shows it begins. The target is for the page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from rubricweb.campaigns.models import Campaign

ROOT = Path(__file__).resolve().parents[1]
TARGET_MS = 25
SHOWN = "#queue-card li[aria-current]"
LISTEN = """() => {
  window.took = [];
  const shown = () => document.querySelector("#queue-card li[aria-current]");
  const passage = () => document.querySelector("#queue-card > article");
  addEventListener("keydown", () => {
    const [begun, item, read] = [performance.now(), shown(), passage()];
    const watch = new MutationObserver(() => {
      if (shown() === item || document.activeElement !== shown()) return;
      watch.disconnect();
      const there = performance.now() - begun;
      requestAnimationFrame(() =>
        took.push([passage() !== read, there, performance.now() - begun]));
    });
    watch.observe(document.getElementById("queue"), { subtree: true, childList: true, attributes: true });
  }, { capture: true });
}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--keys", type=int, default=60)
    keys: int = parser.parse_args().keys
    with tempfile.TemporaryDirectory(prefix="rubric-bench-", ignore_cleanup_errors=True) as var:
        os.environ |= {
            "RUBRIC_DATA_DIR": var,
            "DATABASE_URL": f"sqlite:///{var}/bench.sqlite3",
            "RUBRIC_LOG_LEVEL": "ERROR",
            "RUBRIC_DEBUG": "false",
            "RUBRIC_SECRET_KEY": "a key of this bench alone, and of nothing else",
            "RUBRIC_ALLOWED_HOSTS": "127.0.0.1",
            "RUBRIC_SSL_REDIRECT": "false",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        sys.path[:0] = [str(ROOT), str(ROOT / "bench")]
        import django

        django.setup()
        from rubricweb.core.reader import see_everything

        see_everything()
        from many_assessors import Served

        campaign = campaign_of()
        with Served(1) as url:
            return report(timed(campaign, url, keys))


def campaign_of() -> Campaign:
    from django.core.management import call_command

    from rubricweb.campaigns.actions import CampaignPlan, open_campaign
    from rubricweb.campaigns.models import Campaign
    from rubricweb.campaigns.population import Choice
    from rubricweb.grades.raters import KINDS, raters
    from tests.factories import CollectionFactory, gradable

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    collection = CollectionFactory(slug="bench")
    bank = gradable(collection, topics=2, passages=40, items=12)
    choice = Choice(bank, tuple(collection.topics.all()), frozenset(KINDS), raters(bank)[0])
    return open_campaign(choice, CampaignPlan("bench", Campaign.Mode.BLIND), by=None, seed=1)


def timed(campaign: Campaign, url: str, keys: int) -> list[tuple[bool, float, float]]:
    """By key: whether another passage came, and the milliseconds until the page had it and a frame began."""
    from many_assessors import assessors_of
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import launch_args

    (assessor,) = assessors_of(campaign, url, 1).values()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_args())
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.context.add_cookies(
            [{"name": name, "value": value, "url": url} for name, value in assessor.cookies.items()]
        )
        page.goto(f"{url}{assessor.queue}")
        page.wait_for_selector(SHOWN)
        page.evaluate(LISTEN)
        for number in range(keys):
            press(page, str(number % 6), number + 1)
        took: list[Any] = page.evaluate("took")
        browser.close()
    return [(bool(other), there, frame) for other, there, frame in took]


def press(page: Page, key: str, count: int) -> None:
    """People read for a moment: the answer to the key before may come in."""
    page.keyboard.press(key)
    page.wait_for_function("count => took.length >= count", arg=count)
    page.wait_for_timeout(200)


def report(took: list[tuple[bool, float, float]]) -> int:
    worst = 0.0
    for other, name in ((False, "next item"), (True, "next passage")):
        there = [ms for is_other, ms, _ in took if is_other == other]
        frame = [ms for is_other, _, ms in took if is_other == other]
        if not there:
            continue
        worst = max(worst, statistics.median(there))
        print(
            f"{name:13} in the page: median {statistics.median(there):5.1f} ms, worst {max(there):5.1f} ms; "
            f"a frame with it: median {statistics.median(frame):5.1f} ms ({len(there)} keys)"
        )
    print(f"target: {TARGET_MS} ms in the page; the higher median is {worst:.1f} ms")
    return 0 if worst <= TARGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
