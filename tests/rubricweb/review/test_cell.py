"""One cell in full, as a page and as the grid's side panel."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from grading.types import Purpose
from rubricweb.grades.configs import config_for, imported_config
from rubricweb.grades.models import Grade, ReplyBlock
from rubricweb.grades.replies import content_of, pack_some
from rubricweb.grades.store import save_grades
from rubricweb.grades.verification import highlighted
from tests.factories import ItemFactory, PassageFactory, PooledFactory, TopicFactory, grade
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

LLM = "google/flan-t5-large"
RATES = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTS = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def page(client, address, **headers):
    response = client.get(address, headers=headers)
    assert response.status_code == 200
    return markup(response)


def text_of(html):
    """The words of a page, one space between them."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


@pytest.mark.parametrize(
    ("text", "answer", "pieces"),
    [
        ("Red leaves fall.", "", ["Red leaves fall."]),
        ("Red leaves fall.", "green", ["Red leaves fall."]),
        ("Red leaves fall.", "red  LEAVES", ["[Red leaves]", " fall."]),
        ("Red\n leaves fall.", "red leaves", ["[Red\n leaves]", " fall."]),
        ("A red redwood.", "red", ["A ", "[red]", " redwood."]),
        ("In C++ (1998).", "c++ (1998)", ["In ", "[C++ (1998)]", "."]),
        ("", "red", []),
    ],
)
def test_answers_are_found_as_whole_words(text, answer, pieces):
    marked = [
        f"[{segment.text}]" if segment.is_answer else segment.text for segment in highlighted(text, answer)
    ]
    assert marked == pieces
    assert "".join(segment.text for segment in highlighted(text, answer)) == text


@pytest.mark.parametrize(
    ("url", "is_link"), [("https://example.org/a?b=1", True), ("javascript:alert(1)", False)]
)
def test_a_passage_has_its_title_and_address(autumn, viewer, client_of, url, is_link):
    autumn.passages["d1"].title, autumn.passages["d1"].url = "Leaves & colours", url
    autumn.passages["d1"].save()
    html = page(client_of(viewer), autumn.cell("d1", 0))
    assert "<strong>Leaves &amp; colours</strong>" in html
    assert (f'href="{url}"' in html) == is_link
    assert url in html


def test_the_page_tells_everything_about_a_cell(autumn, viewer, client_of):
    html = page(client_of(viewer), autumn.cell("d1", 0))
    text = text_of(html)
    assert TEXT in text
    assert "Which pigment makes leaves red?" in text
    assert "the grader&#x27;s own rating" in html
    assert "Human judgment 3" in text
    assert "bm25 at rank 1 dense at rank 2" in text
    assert f'href="{autumn.cell("d1", 0)}"' in html


def test_a_reply_is_shown_wherever_it_lies_and_when_it_was_dropped(autumn, viewer, client_of):
    reply = "4: the passage says that anthocyanins make maple leaves red"
    Grade.objects.update(reply=reply)
    address = autumn.cell("d1", 0)
    assert reply in page(client_of(viewer), address)
    pack_some(autumn.bank.collection, before=timezone.now())
    assert not Grade.objects.filter(reply=reply).exclude(outcome="failed").exists()
    assert reply in page(client_of(viewer), address)
    ReplyBlock.objects.update(content=content_of({}), dropped_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    text = text_of(page(client_of(viewer), address))
    assert reply not in text
    assert "Dropped on 1 March 2026, as the settings of this collection say. The grade stays." in text


TEXT = "Anthocyanins make maple leaves red in autumn."


def test_failed_and_missing_are_said_in_words(autumn, viewer, client_of):
    client = client_of(viewer)
    Grade.objects.filter(outcome="failed").update(reply="the model timed out")
    failed = text_of(page(client, autumn.cell("d2", 2)))
    assert "this is not a 0" in failed
    assert "Why it failed: the model timed out" in failed
    assert "not graded yet" in text_of(page(client, autumn.cell("d6", 0)))
    assert "the default stands in" in text_of(page(client, autumn.cell("d4", 1)))


def test_the_answer_of_the_same_model_is_shown_in_its_place(autumn, viewer, client_of):
    rates, extracts = (
        imported_config(LLM, RATES, Purpose.RATE),
        imported_config(LLM, EXTRACTS, Purpose.EXTRACT),
    )
    grade(rates, autumn.items[0], autumn.passages["d1"], 4)
    answer = Grade(
        config=extracts,
        topic=autumn.topic,
        revision=autumn.items[0].revision,
        passage=autumn.passages["d1"],
        outcome="extracted",
        answer="maple LEAVES",
        reply="maple LEAVES",
    )
    save_grades(extracts, [answer])
    html = page(client_of(viewer), f"{autumn.cell('d1', 0)}?grader={rates.pk}")
    assert "<mark>maple leaves</mark>" in html
    assert "Question: Which pigment makes leaves red?" in text_of(html)
    assert "Can the question be answered based on the available context?" in html
    assert "The model may have seen another text" in html
    # The lexical grade of the same cell is another grader's, and the other way round.
    assert "lexical · LexicalBaseline" in html
    lexical = page(client_of(viewer), autumn.cell("d1", 0))
    assert "<mark>" not in lexical
    assert f"{LLM} · {RATES}" in lexical


def test_an_answer_in_other_words_is_said_to_be_absent(autumn, viewer, client_of):
    Grade.objects.filter(passage=autumn.passages["d1"], rating=5).update(answer="crimson foliage")
    assert "not found word for word in the passage" in page(client_of(viewer), autumn.cell("d1", 0))


def test_the_prompt_holds_what_the_model_saw(autumn, viewer, client_of):
    config = config_for("hf_seq2seq", LLM, RATES)
    grade(config, autumn.items[0], autumn.passages["d1"], 4)
    Grade.objects.filter(config=config).update(context_chars=12, reply="4", confidence=0.75)
    html = page(client_of(viewer), f"{autumn.cell('d1', 0)}?grader={config.pk}")
    assert "Context: Anthocyanins</pre>" in html
    assert "confidence 75 %" in text_of(html)


def test_unknown_prompts_and_unknown_texts_are_said(autumn, viewer, client_of):
    config = imported_config("gpt-4", "HouseSelfRatedPrompt", Purpose.RATE)
    grade(config, autumn.items[0], autumn.passages["d1"], 4)
    address = f"{autumn.cell('d1', 0)}?grader={config.pk}"
    assert "whose text is unknown here" in page(client_of(viewer), address)
    revision = autumn.items[0].revision
    revision.text = ""
    revision.save()
    html = page(client_of(viewer), autumn.cell("d1", 0))
    assert revision.uid in html
    assert "The text of this item is unknown" in html


def test_words_of_others_are_escaped(autumn, viewer, client_of):
    Grade.objects.filter(passage=autumn.passages["d4"]).update(
        reply="<script>x</script>", answer="<script>alert"
    )
    html = page(client_of(viewer), autumn.cell("d4", 1))
    assert "<mark>&lt;script&gt;alert</mark>" in html
    assert "Leaves &amp; colours." in html
    assert not re.search(r'<script(?! id="texts")(?![^>]*\bsrc=)', html)


def test_htmx_gets_the_panel(autumn, viewer, client_of):
    html = page(client_of(viewer), autumn.cell("d1", 0), **{"HX-Request": "true"})
    assert html.strip().startswith("<article")
    assert "<html" not in html


def test_more_graders_and_runs_take_no_more_queries(autumn, viewer, client_of):
    client = client_of(viewer)
    grade(imported_config("phi", RATES, Purpose.RATE), autumn.items[0], autumn.passages["d1"], 2)
    client.get(autumn.cell("d1", 0))
    with CaptureQueriesContext(connection) as few:
        client.get(autumn.cell("d1", 0))
    for llm in ("gpt-4", "mistral", "llama"):
        grade(imported_config(llm, RATES, Purpose.RATE), autumn.items[0], autumn.passages["d1"], 2)
    with CaptureQueriesContext(connection) as many:
        response = client.get(autumn.cell("d1", 0))
    assert len(response.context["cell"].others) == 4
    assert len(many) == len(few) <= 24


def test_access(autumn, viewer, outsider, client_of, client):
    address = autumn.cell("d1", 0)
    assert client_of(outsider).get(address).status_code == 404
    assert client_of(viewer).post(address).status_code == 405
    assert client.get(address).status_code == 302


def test_what_does_not_belong_together_is_not_found(autumn, viewer, client_of):
    client = client_of(viewer)
    base = f"/review/banks/{autumn.bank.pk}/topics/{autumn.topic.pk}/cells"
    outside = PassageFactory(collection=autumn.collection)
    other = ItemFactory(bank=autumn.bank, topic=TopicFactory(collection=autumn.collection))
    assert client.get(f"{base}/{outside.pk}/{autumn.items[0].pk}/").status_code == 404
    assert client.get(f"{base}/{autumn.passages['d1'].pk}/{other.pk}/").status_code == 404
    assert client.get(f"{base}/{autumn.passages['d1'].pk}/999999/").status_code == 404
    PooledFactory(topic=other.topic, passage=outside)
    assert client.get(f"{base}/{outside.pk}/{other.pk}/").status_code == 404  # a cell, but of another topic
