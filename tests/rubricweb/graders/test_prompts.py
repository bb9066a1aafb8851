"""A collection's own prompts in the browser: the form, what a model is told, dry runs, saving for good."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from grading.errors import GraderUnavailable
from grading.graders import registry
from grading.types import Grade as Graded, GradeFailure, Outcome, Trace
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import OwnPrompt
from rubricweb.corpus.prompts import save_prompt
from rubricweb.graders import dry_runs
from rubricweb.graders.models import DryRun
from rubricweb.grades.engine import chunks
from rubricweb.grades.models import Grade
from rubricweb.jobs import queue
from rubricweb.jobs.worker import work_on
from tests.factories import STRICT, JudgmentFactory, gradable
from tests.rubricweb.grades import scripted
from tests.rubricweb.jobs.workers import wait_until, workers
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}
WRITTEN = {
    "name": "StrictPrompt",
    "asks": "questions",
    "template": STRICT.template,
    "system": "",
    "read_as": "rating",
    "lowest": "0",
    "highest": "3",
    "labels": "",
    "unreadable": "default",
}


@pytest.fixture
def bank(collection):
    return gradable(collection, topics=2, passages=4, items=2)


@pytest.fixture
def topic(bank):
    return bank.collection.topics.first()


@pytest.fixture
def client(client_of, owner, bank):
    return client_of(owner)


@pytest.fixture
def scripts(monkeypatch, collection):
    backend = registry.BACKENDS["hf_seq2seq"]
    target = f"{scripted.__name__}:ScriptedGrader"
    monkeypatch.setitem(registry.BACKENDS, "scripted", replace(backend, name="scripted", target=target))
    monkeypatch.setattr(scripted, "SCRIPT", [])
    chunks.close_until(0)
    collection.grader_backend, collection.grader_llm = "scripted", "paper"
    collection.save()
    return scripted.SCRIPT


def at(name=""):
    return f"/collections/autumn/graders/prompts/{name}"


GRADERS = "/collections/autumn/graders/"


def words(answer):
    return re.sub(r"\s+", " ", markup(answer))


# Writing and saving


def test_saving_makes_an_immutable_prompt(client, collection, owner):
    answer = client.post(at("save/"), WRITTEN)
    assert (answer.status_code, answer["Location"]) == (302, GRADERS)
    row = OwnPrompt.objects.get()
    assert (row.prompt, row.by) == (STRICT, owner)
    assert f"Saved as {STRICT.prompt_id}." in words(client.get(GRADERS))
    client.post(at("save/"), WRITTEN)
    assert OwnPrompt.objects.count() == 1
    assert "This text was already saved as" in words(client.get(GRADERS))
    client.post(at("save/"), WRITTEN | {"unreadable": "fail"})
    assert len(set(OwnPrompt.objects.values_list("version", flat=True))) == 2
    assert AuditEntry.objects.filter(verb="prompt saved", by=owner).count() == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"template": "{question}"}, "Prompt text: The prompt needs {context}, the text of the passage"),
        (
            {"template": "{passage} and {topic}"},
            "{passage} and {topic} are no placeholders of this prompt; it can have {question}, {query}",
        ),
        ({"template": "{question} {context} {answer}"}, "{answer} stands in prompts that verify"),
        ({"asks": "verifies"}, "To verify an extracted answer the prompt needs {answer}"),
        ({"asks": "passages"}, "{question} is no placeholder of this prompt"),
        ({"asks": "poems"}, "Select a valid choice"),
        ({"name": "FagB"}, "FagB is the class of a published prompt"),
        ({"name": "two words"}, "A prompt class is a letter and then"),
        ({"name": ""}, "This field is required"),
        ({"lowest": "4"}, "The scale 4 to 3 must lie within 0 to 5 and rise"),
        ({"lowest": ""}, "needs a scale"),
        ({"highest": "9"}, "less than or equal to 5"),
        ({"labels": "good"}, "Line 1: write a rating, a colon and its labels"),
        ({"labels": "3: good\n2: good"}, "Line 2: good appears twice"),
        ({"labels": "5: good"}, "the rating 5, out of the scale 0 to 3"),
        ({"read_as": "label"}, "needs two or more"),
        ({"read_as": "label", "labels": "1: yes!\n0: no"}, "must be words of letters"),
    ],
)
@pytest.mark.portable
def test_what_cannot_be_asked_is_said_at_its_field_and_saves_nothing(client, wrong, said):
    answer = client.post(at("save/"), WRITTEN | wrong)
    assert answer.status_code == 422
    page = words(answer).replace("&#x27;", "'")
    assert said.lower() in page.lower()
    assert not OwnPrompt.objects.exists()


@pytest.mark.parametrize(
    ("changed", "meaning"),
    [
        ({}, ("rate", "rating", (0, 3), ())),
        (
            {"read_as": "label", "labels": "2: support, supported\n0: none"},
            ("rate", "label", (0, 2), (("support", 2), ("supported", 2), ("none", 0))),
        ),
        ({"labels": "3: perfect"}, ("rate", "rating", (0, 3), (("perfect", 3),))),
        ({"read_as": "yes_no", "highest": "5", "lowest": "0"}, ("rate", "yes_no", (0, 1), ())),
        ({"asks": "answers"}, ("extract", "text", None, ())),
        ({"asks": "nuggets", "template": "{nugget} {context}"}, ("rate", "rating", (0, 3), ())),
        ({"asks": "passages", "template": "{query} {context}"}, ("direct", "rating", (0, 3), ())),
        (
            {"asks": "verifies", "template": "{question} {answer_key} {answer}", "read_as": "yes_no"},
            ("verify", "yes_no", (0, 1), ()),
        ),
    ],
)
@pytest.mark.portable
def test_every_purpose_can_be_written(client, changed, meaning):
    assert client.post(at("save/"), WRITTEN | changed).status_code == 302
    prompt = OwnPrompt.objects.get().prompt
    assert (prompt.purpose, prompt.rule, prompt.scale, prompt.labels) == meaning
    again = words(client.get(at("write/") + f"?from={OwnPrompt.objects.get().pk}"))
    assert f'<option value="{(WRITTEN | changed)["asks"]}" selected>' in again
    assert 'value="StrictPrompt"' in again


def test_a_published_prompt_is_a_start_under_another_name(client):
    page = words(client.get(at("write/?like=UmbrelaStyle")))
    assert 'value="MyUmbrelaStyle"' in page
    assert "##final score: n</textarea>" in page
    assert "3: perfectly relevant" in page
    assert client.get(at("write/?like=Nothing&from=x")).status_code == 200


def test_putting_away_and_bringing_back(client, collection, owner):
    row, _ = save_prompt(collection, STRICT, by=owner)
    assert client.post(at(f"{row.pk}/put-away/"), **HTMX).status_code == 200
    assert "Retired (1)" in words(client.get(GRADERS))
    assert client.post(at(f"{row.pk}/bring-back/")).status_code == 302
    assert "Retired (" not in words(client.get(GRADERS))


# What the model reads


def test_the_prompt_is_shown_without_any_model(client, topic):
    answer = client.post(at("preview/"), WRITTEN | {"topic": topic.pk}, **HTMX, HTTP_HX_TARGET="shown")
    page = words(answer)
    assert answer.status_code == 200
    assert page.strip().startswith('<div id="shown"')
    item = topic.items.first()
    passage = topic.pool.first().passage
    assert f"from 0 to 3? {item} {passage.text} Rating:" in page
    assert not DryRun.objects.exists()


def test_the_sample_starts_with_passages_judged_high_and_low(client, topic):
    docs = [pooled.passage.doc_id for pooled in topic.pool.all()]
    for doc_id, relevance in zip(docs, (1, 3, 0), strict=False):
        JudgmentFactory(topic=topic, doc_id=doc_id, relevance=relevance)
    page = words(client.get(at("write/")))
    assert re.findall(r'name="passage_\d"[^>]* value="(\w*)"', page) == [docs[1], docs[2], ""]
    assert f'<option value="{docs[1]}">judged 3: ' in page


def test_another_topic_brings_its_own_items_and_passages(client, bank, topic):
    other = bank.collection.topics.last()
    mine = topic.pool.first().passage.doc_id
    sent = WRITTEN | {
        "topic": other.pk,
        "shown_topic": topic.pk,
        "passage_1": mine,
        "item": topic.items.first().pk,
    }
    page = words(client.post(at("preview/"), sent, **HTMX, HTTP_HX_TARGET="sample"))
    assert page.strip().startswith('<div id="sample"')
    assert str(other.items.first()) in page
    assert f'value="{mine}"' not in page


def test_a_passage_outside_the_pool_is_named(client, topic):
    sent = WRITTEN | {"topic": topic.pk, "shown_topic": topic.pk, "passage_1": "d-nowhere"}
    page = words(client.post(at("preview/"), sent, **HTMX, HTTP_HX_TARGET="shown"))
    assert f"The pool of topic {topic.query_id} has no passage d-nowhere." in page


def test_what_is_wrong_is_said_while_writing(client):
    sent = WRITTEN | {"template": "{question} {passage}"}
    page = words(client.post(at("preview/"), sent, **HTMX, HTTP_HX_TARGET="shown"))
    assert "The prompt is not complete yet." in page
    assert "Prompt text: {passage} is no placeholder" in page


def test_a_prompt_that_needs_a_key_says_so_of_an_item_without(client, topic):
    sent = WRITTEN | {"template": "{question} {answer_key} {context}", "topic": topic.pk}
    page = words(client.post(at("preview/"), sent, **HTMX, HTTP_HX_TARGET="shown"))
    assert "StrictPrompt compares with an answer key, and the item has none" in page


def test_without_topics_the_form_still_saves(client_of, owner):
    client = client_of(owner)
    assert "Import topics and passages first" in words(client.get(at("write/")))
    assert client.post(at("save/"), WRITTEN).status_code == 302
    assert "There is no topic" in words(client.post(at("try/"), WRITTEN | {"backend": "hf_seq2seq"}))


# Dry runs


def replied(number, pair):
    if number:
        trace = Trace("asked", "who knows")
        yield GradeFailure(pair.item.item_id, pair.passage.passage_id, "no rating", trace)
    else:
        trace = Trace("the very prompt", "Rating: 3", 40)
        yield Graded(
            pair.item.item_id, pair.passage.passage_id, 3, Outcome.NUMERIC, trace=trace, confidence=0.75
        )


def tried(client, topic, **changed):
    return client.post(
        at("try/"), WRITTEN | {"topic": topic.pk, "backend": "scripted", "llm": "paper"} | changed
    )


def test_a_dry_run_is_made_by_a_worker_and_fetched(
    client, topic, scripts, redis_server, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        answer = tried(client, topic, labels="3: perfect")
    dry_run = DryRun.objects.get()
    assert answer["Location"] == at(f"tries/{dry_run.pk}/")
    assert queue.get_queue(queue.queue_of(dry_run)).job_ids == [f"dry-run-{dry_run.pk}-0"]
    assert (dry_run.state, len(dry_run.doc_ids)) == ("queued", 2)
    waiting = words(client.get(answer["Location"], **HTMX))
    assert "No worker is running that can do this" in waiting
    assert 'hx-trigger="sse:progress, every 3s"' in waiting
    scripts.append(replied)
    work_on("dry-run", dry_run.pk)
    done = words(client.get(answer["Location"], **HTMX))
    assert "every 3s" not in done
    for said in (
        "Rating: 3",
        "the very prompt",
        "<strong>perfect</strong>",
        "confidence 75",
        "cut at 40",
        "who knows",
    ):
        assert said in done
    assert "no rating" in done
    assert not Grade.objects.exists()
    whole = words(client.get(answer["Location"]))
    assert 'value="StrictPrompt"' in whole
    work_on("dry-run", dry_run.pk)
    assert scripted.BUILT[-1].prompt.prompt_class == "StrictPrompt"


def test_a_model_that_cannot_be_run_is_said(client, topic, scripts, redis_server, monkeypatch):
    def refuse(spec):
        raise GraderUnavailable("transformers is not installed")

    monkeypatch.setattr(dry_runs.chunks, "loaded_grader", refuse)
    tried(client, topic)
    dry_run = DryRun.objects.get()
    work_on("dry-run", dry_run.pk)
    page = words(client.get(at(f"tries/{dry_run.pk}/")))
    assert "paper was not asked:</strong> transformers is not installed" in page


def test_without_a_model_only_the_prompt_is_shown(client, topic):
    page = words(client.get(at("write/")))
    assert '<option value="" selected>no model: only show the prompt' in page
    refused = tried(client, topic, backend="", llm="")
    assert refused.status_code == 422
    assert "Choose a model. Without one, only the prompt can be shown." in words(refused)
    assert "Correct the marked fields" in words(tried(client, topic, name=""))
    assert not DryRun.objects.exists()


def test_dry_runs_are_kept_for_a_day(client, topic, scripts, redis_server):
    tried(client, topic)
    DryRun.objects.update(at=timezone.now() - timedelta(days=2))
    tried(client, topic)
    assert DryRun.objects.count() == 1


@pytest.mark.models
def test_a_real_t5_replies_to_a_dry_run_through_a_real_worker(
    transactional_db, database_url, redis_server, tmp_path, client, topic
):
    pytest.importorskip("torch")
    from grading.types import ItemKind
    from rubricweb.grades.engine.chunks import pair
    from tests.grading import tiny_writers

    passages = [pooled.passage for pooled in topic.pool.select_related("passage")[:2]]
    revision = topic.items.first().revision
    pairs = [pair(topic, revision, passage, ItemKind.QUESTION) for passage in passages]
    folder = tmp_path / "t5"
    tiny_writers.build_t5_of(
        folder, {STRICT.render(pair): said for pair, said in zip(pairs, "31", strict=True)}
    )
    with workers(database_url, redis_server.url, tmp_path) as start:
        start().wait_until_heard()
        answer = tried(client, topic, backend="hf_seq2seq", llm=str(folder))
        wait_until(lambda: not DryRun.objects.get().is_live, what="the replies")
    dry_run = DryRun.objects.get()
    assert (dry_run.state, dry_run.error) == ("done", "")
    assert [(said["reply"], said["rating"]) for said in dry_run.results] == [("3", 3), ("1", 1)]
    assert [said["prompt"] for said in dry_run.results] == [STRICT.render(pair) for pair in pairs]
    assert 'data-grade="3"' in words(client.get(answer["Location"]))


# Who may


@pytest.mark.parametrize(
    ("role", "status"), [("developer", 403), ("assessor", 403), ("viewer", 403), ("outsider", 404)]
)
def test_only_organizers(request, client_of, collection, bank, role, status):
    client = client_of(request.getfixturevalue(role))
    row, _ = save_prompt(collection, STRICT, by=None)
    for name in ("write/", "tries/1/"):
        assert client.get(at(name)).status_code == status
    for name in ("save/", "preview/", "try/", f"{row.pk}/put-away/", f"{row.pk}/bring-back/"):
        assert client.post(at(name), WRITTEN).status_code == status
    row.refresh_from_db()
    assert (row.is_put_away, DryRun.objects.exists()) == (False, False)


def test_wrong_methods(client):
    assert {client.post(at(name)).status_code for name in ("write/", "tries/1/")} == {405}
    assert {client.get(at(name)).status_code for name in ("save/", "preview/", "try/", "1/put-away/")} == {
        405
    }


def test_the_pages_ask_few_queries(client, collection, django_assert_max_num_queries):
    for number in range(5):
        save_prompt(collection, replace_name(number), by=None)
    with django_assert_max_num_queries(38):
        client.get(GRADERS)
    with django_assert_max_num_queries(20):
        client.get(at("write/"))


def replace_name(number):
    from grading.prompts import from_template

    return from_template(f"Strict{number}", STRICT.template, STRICT.kinds, (0, 3))
