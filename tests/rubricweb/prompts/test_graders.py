"""The graders in plain words, and one of them asked about one passage."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from grading.graders import registry
from grading.types import Grade as Graded
from grading.types import Outcome, Trace
from rubricweb.grades.engine import loaded
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.jobs.run import work_on
from rubricweb.prompts import grader_guide
from rubricweb.prompts.grader_guide import GUIDES, example_of
from rubricweb.prompts.models import DryRun
from tests.factories import gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

PROMPT = "QuestionSelfRatedPromptWithReminder"


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, passages=4, items=2)


@pytest.fixture
def client(client_of, owner, bank):
    return client_of(owner)


@pytest.fixture
def scripts(monkeypatch):
    """The model server's place is taken by a script."""
    target = f"{scripted.__name__}:ScriptedGrader"
    server = replace(registry.BACKENDS["openai_compatible"], target=target, needs_server=False)
    monkeypatch.setitem(registry.BACKENDS, "openai_compatible", server)
    monkeypatch.setattr(scripted, "SCRIPT", [replied])
    loaded.close_until(0)


def replied(number, pair):
    trace = Trace("the very prompt", "Rating: 3", 40)
    yield Graded(pair.item.item_id, pair.passage.passage_id, 3, Outcome.NUMERIC, trace=trace)


def test_every_back_end_is_described():
    assert [guide.backend_name for guide in GUIDES] == list(registry.BACKENDS)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.backend_name)
def test_each_grader_has_a_page_with_an_example_that_is_read_as_it_says(client, guide):
    page = markup(client.get(reverse("prompts:graders", args=["autumn"]), {"grader": guide.backend_name}))
    for text in (guide.name, guide.does, guide.avoid, guide.backend.label):
        assert text.replace("'", "&#x27;") in page
    assert example_of(guide).rating == {"lexical": 3, "hf_extractive": 1}.get(guide.backend_name, 4)


def test_an_example_without_words_of_the_question_gets_nothing_from_the_baseline(monkeypatch):
    monkeypatch.setattr(grader_guide, "PASSAGE", "Nothing about it.")
    assert example_of(GUIDES[0]).rating == 0


def test_one_passage_is_asked_about_with_the_time_and_the_price_of_all(
    client, bank, scripts, settings, redis_server
):
    settings.PRICES = {"big-model": 1000}
    topic = bank.collection.topics.last()
    sent = {"grader": "openai_compatible", "prompt": PROMPT, "llm": "big-model", "topic": topic.pk}
    answer = client.post(reverse("prompts:ask", args=["autumn"]), sent)
    dry_run = DryRun.objects.get()
    assert answer["Location"] == reverse("prompts:asked", args=["autumn", dry_run.pk])
    assert (dry_run.topic, len(dry_run.doc_ids), dry_run.prompt.prompt_class) == (topic, 1, PROMPT)
    assert "All 16 cells" not in markup(client.get(answer["Location"]))
    work_on("dry-run", dry_run.pk)
    page = markup(client.get(answer["Location"]))
    for text in ("Rating: 3", "the very prompt", "Under a second", "All 16 cells", "one after the other"):
        assert text in page
    assert "input tokens, $" in page
    assert (Grade.objects.count(), GraderConfig.objects.count()) == (0, 0)


def test_without_a_price_the_page_says_so(client, bank, scripts, redis_server):
    client.post(reverse("prompts:ask", args=["autumn"]), {"grader": "openai_compatible", "prompt": PROMPT})
    dry_run = DryRun.objects.get()
    work_on("dry-run", dry_run.pk)
    part = client.get(reverse("prompts:asked", args=["autumn", dry_run.pk]), headers={"HX-Request": "true"})
    assert "no price is set for this model" in markup(part)
    assert "<html" not in markup(part)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ({"grader": "openai_compatible", "prompt": "LexicalBaseline"}, "LexicalBaseline is not one of the"),
        (
            {"grader": "openai_compatible", "prompt": PROMPT, "passage_1": "elsewhere"},
            "has no passage elsewhere",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_beside_the_form(client, sent, reason):
    refused = client.post(reverse("prompts:ask", args=["autumn"]), sent, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    assert markup(refused).count(reason) == 2, "shown and announced"
    assert 'id="ask"' not in markup(refused)
    assert not DryRun.objects.exists()


def test_only_the_outcome_is_announced(client, bank, scripts, redis_server):
    def announced(answer):
        return re.findall(r'data-announced="(.*?)"', markup(answer))

    htmx = {"HX-Request": "true"}
    sent = {"grader": "openai_compatible", "prompt": PROMPT, "llm": "big-model"}
    asked = client.post(reverse("prompts:ask", args=["autumn"]), sent, headers=htmx)
    assert announced(asked) == ["Asking big-model…"]
    assert "aria-live" not in markup(asked)
    dry_run = DryRun.objects.get()
    address = reverse("prompts:asked", args=["autumn", dry_run.pk])
    assert announced(client.get(address, headers=htmx)) == ["Asking big-model…"]
    work_on("dry-run", dry_run.pk)
    assert announced(client.get(address, headers=htmx)) == ["big-model replied: rating 3."]


def test_only_organizers_ask(client_of, developer, outsider, bank):
    address = reverse("prompts:graders", args=["autumn"])
    assert client_of(developer).get(address).status_code == 403
    assert client_of(outsider).get(address).status_code == 404
    assert client_of(developer).post(reverse("prompts:ask", args=["autumn"])).status_code == 403
