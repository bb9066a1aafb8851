"""Every step of the tutorials, as it is written, on the demo as `make demo` starts it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error

from rubricweb.corpus.models import Collection
from rubricweb.demo.loading import load_demo
from rubricweb.demo.management.commands.demo import further_steps
from tests.browser.tutorials import FOLDER, steps

pytestmark = pytest.mark.usefixtures("streams_break_off")  # of whoever signs in as somebody else


@pytest.fixture
def demo(transactional_db: None, redis_server) -> Collection:
    """All of it, where other tests have five topics."""
    collection = load_demo()
    for step in further_steps().values():
        step(collection)
    return collection


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.md")), ids=lambda path: path.stem)
def test_the_tutorial_can_be_followed(people, demo, worker, path):
    people.leaves = True
    page = people.visit(viewport={"width": 1440, "height": 900})
    for step in steps(path):
        try:
            step.carry_out(page)
        except (Error, AssertionError) as error:
            pytest.fail(f"{path.stem}, {step.heading}: {step.sentence}\n{page.url}\n{error}", pytrace=False)
    # Whoever leaves the queue before the last rating is sent is asked whether to; a reader is slower.
    people.complaints = [each for each in people.complaints if not each.startswith("dialog: beforeunload")]
