"""What every view of a topic's page shows around its own part: the topic's head with its switch."""

from __future__ import annotations

from functools import partial

from rubricweb.banks.models import Bank
from rubricweb.banks.selectors import banks_for, neighbours
from rubricweb.corpus.models import Topic

PAGE = "editor/topic.html"
VIEWS = (("grid", "Grid"), ("bank", "Rubric"), ("both", "Both"))
"""The views that every topic offers, as its address names them."""
PLACES = {"try": "editor:trial", "drafts": "editor:drafts"}
"""Routes of the views with an address of their own; the switch names them while they are open."""


def topic_frame(bank: Bank, topic: Topic, view: str) -> dict[str, object]:
    """Return the context of the page around one of its views."""
    return {
        "bank": bank,
        "topic": topic,
        "collection": bank.collection,
        "view": view,
        "views_of_topic": VIEWS,
        "place": PLACES.get(view, "editor:topic"),
        "neighbours": partial(neighbours, topic),
        "banks": partial(banks_for, bank.collection, topic),
    }
