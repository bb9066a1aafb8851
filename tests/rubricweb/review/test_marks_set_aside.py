"""A problem of an item that a person set aside is marked nowhere, until the item is reworded."""

from __future__ import annotations

import re

import pytest

from rubricweb.banks.actions import revise_item
from tests.factories import ItemFactory
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
PROBLEMS = "/collections/autumn/review/problems/"
MARK = re.compile(r"⚠ compound|⚠ misleading\?|is-spurious|⚠ Misleading\?")


def test_what_is_set_aside_is_marked_nowhere(client_of, developer, autumn):
    client, suspect = client_of(developer), autumn.items[0]
    weak = ItemFactory(bank=autumn.bank, topic=autumn.topic, text="Why do leaves turn red, and when?")
    topic = f"/review/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/"
    queries = (
        "view=bank",
        "view=grid",
        "view=both",
        f"view=grid&card={suspect.pk}",
        "view=grid&items=spurious",
    )

    def marks() -> list[str]:
        rows = [f"/editor/banks/{autumn.bank.pk}/items/{item.pk}/" for item in (weak, suspect)]
        answers = {query: client.get(f"{topic}?{query}") for query in queries}
        answers |= {row: client.get(row, headers={"HX-Request": "true"}) for row in rows}
        return [address for address, answer in answers.items() if MARK.search(markup(answer))]

    assert len(marks()) == len(queries) + 2
    for key in (f"item-{suspect.pk}", f"weak-{weak.pk}"):
        client.post(PROBLEMS, {"problem": key, "deed": "aside", "reason": "It is fine."})
    assert marks() == []
    revise_item(weak, text="Why do leaves turn red, and how?", seen=weak.version, by=developer)
    assert len(marks()) == 2, "the rubric and the item's row"
