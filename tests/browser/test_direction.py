"""A collection in Arabic and Hebrew in Chromium: each text goes as its first letter does, in a page that goes
from left to right.
"""

from __future__ import annotations

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from rubricweb.banks.models import ItemRevision
from rubricweb.corpus.models import Passage, Topic
from rubricweb.grades.models import Grade
from tests.browser.inspector import WIDE
from tests.factories import responded

PHONE = {"width": 390, "height": 844}
QUERY = "كيف يصنع النحل العسل؟"
PASSAGES = (
    "يجمع النحل الرحيق من الزهور (nectar) ويجففه. Bees 12% ثم يخزنه في الخلية.\nيبقى العسل صالحا 3 سنوات.",
    "הדבורים אוספות צוף (nectar) ומייבשות אותו. הדבש נשמר 3 שנים.",
)
ITEMS = ("ما الذي يجمعه النحل من الزهور (nectar)؟", "כמה שנים נשמר דבש (honey)?")
ANSWER = "الرحيق (nectar)"
ASTRAY = """
() => {
  const letters = /[\\u0590-\\u06ff]/, strong = /[A-Za-z\\u0590-\\u06ff]/;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const astray = [];
  while (texts.nextNode()) {
    const text = texts.currentNode.data, parent = texts.currentNode.parentElement;
    if (!letters.test(text) || !parent.checkVisibility()) continue;
    if (parent.closest("option, textarea, .visually-hidden")) continue;
    const own = parent.closest("[dir=auto], bdi");
    const first = own && own.textContent.match(strong)[0];
    const expected = first && (letters.test(first) ? "rtl" : "ltr");
    if (!own || getComputedStyle(own).direction !== expected) astray.push(`${parent.tagName}: ${text}`);
  }
  return astray;
}
"""
"""The texts that stand in no element with a direction of its own, or in one that has another."""


@pytest.fixture
def written(places) -> None:
    """The demo's first topic in Arabic and Hebrew, with two answers that cite its passages."""
    topic = places.topic
    Topic.objects.filter(pk=topic.pk).update(text=QUERY, narrative=PASSAGES[0])
    for n, pooled in enumerate(topic.pool.all()):
        Passage.objects.filter(pk=pooled.passage_id).update(text=PASSAGES[n % 2])
    for n, revision in enumerate(topic.revisions.order_by("pk")):
        ItemRevision.objects.filter(pk=revision.pk).update(text=ITEMS[n % 2])
    Grade.objects.filter(topic=topic).exclude(answer="").update(answer=ANSWER)
    doc_id = topic.pool.first().passage.doc_id
    for run_tag, end in (("writer-one", ""), ("writer-two", " 2")):
        response = responded(topic, run_tag, *(text + end for text in PASSAGES))
        for sentence in response.sentences:
            sentence["citations"] = [[doc_id, None]]
        response.save()
    places.collection.stamp += 1
    places.collection.save()


@pytest.fixture
def pages(places, written, campaign_of) -> dict[str, str]:
    slug, topic = places.collection.slug, [places.bank.pk, places.topic.pk]
    campaign = campaign_of("assisted")
    return {
        "grid": places.grid,
        "cell": places.cell(places.topic.pool.first().passage.doc_id),
        "queue": reverse("campaigns:queue", args=[slug, campaign.pk]),
        "verify": f"{reverse('review:verify', args=[slug, places.bank.pk])}?topic={places.topic.pk}",
        "editor": reverse("review:topic", args=topic),
        "support": reverse("support:label", args=[slug]),
        "topics": reverse("home:collection", args=[slug]),
    }


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_each_text_has_the_direction_of_its_letters(viewport, pages, places, people):
    page = people.sign_in("assessor", viewport=viewport)
    for name, address in pages.items():
        page.goto(address)
        if name == "queue":
            page.keyboard.press("Enter")
            expect(page.get_by_role("group").first).to_be_visible()
        assert page.evaluate(ASTRAY) == [], name
    page.goto(reverse("arena:vote", args=[places.collection.slug]))
    expect(page.get_by_text("Names are hidden until you have voted", exact=True)).to_be_visible()
    assert page.evaluate(ASTRAY) == []
