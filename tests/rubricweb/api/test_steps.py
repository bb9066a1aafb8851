"""Steps of a system that ask a language model, and runs that are made, by REST."""

from __future__ import annotations

import json

import pytest

from grading.generation import models
from grading.graders import openai_client
from rubricweb.arena.models import FreshAnswer, Question
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Run
from rubricweb.jobs import limits
from rubricweb.jobs.worker import work_on
from rubricweb.systems.models import SystemChunk
from tests.factories import PassageFactory, TopicFactory
from tests.grading.odd_replies import reply
from tests.grading.servers.http import Reply, serving
from tests.rubricweb.api.conftest import AT

pytestmark = [pytest.mark.django_db, pytest.mark.portable]
MODEL = {"backend": "openai_compatible", "llm": "m"}
QUERY = {"qid": "7", "text": "What lifts the tides?"}
TEXTS = {"d1": "The moon lifts the tides.", "d2": "The sun lifts the tides a little.", "d3": "Bread browns."}


class Writer:
    """Puts the second passage first, and cites it, one that is not there, and it once more."""

    replies = ()

    def complete(self, messages):
        if self.replies:
            return self.replies[0]
        is_ranking = "[2] > [1]" in messages[-1][1] or "rank" in messages[-1][1].lower()
        return "[2] > [1]" if is_ranking else "The moon lifts the tides [2][9][2]. Nobody knows why."


@pytest.fixture
def sea(collection, settings, tmp_path):
    settings.DATA_DIR, settings.PRICES = tmp_path, {"m": 1.0}
    for doc_id, text in TEXTS.items():
        PassageFactory(collection=collection, doc_id=doc_id, text=text, url=f"https://{doc_id}")
    return collection


@pytest.fixture
def script(sea, owner, script_of, monkeypatch):
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: Writer())
    client = script_of(owner)

    def post(path, body, **headers):
        return client.post(f"{AT}{path}", body, format="json", headers=headers)

    client.ask = post
    return client


def worked(client, accepted):
    """The step once workers have done it."""
    assert accepted.status_code == 202, accepted.json()
    for chunk in FreshAnswer.objects.filter(state="queued"):
        work_on("fresh-answer", chunk.pk)
    return client.get(accepted["Location"]).json()


def test_each_step_takes_what_the_one_before_gives(script):
    retrieved = script.ask("retrieve/", {"query": QUERY, "hits": 2}).json()
    first, second = (one["docid"] for one in retrieved["candidates"])
    accepted = script.ask("rerank/", {**retrieved, **MODEL, "rerank_passes": 1})
    assert (accepted.json()["reranked"], accepted.json()["most_calls"]) == (None, 2)
    reranked = worked(script, accepted)
    assert (reranked["state"], reranked["calls"], reranked["generated"]) == ("done", 1, None)
    assert [one["docid"] for one in reranked["reranked"]["candidates"]] == [second, first]
    kept = {one["docid"]: one["doc"] for one in retrieved["candidates"]}
    assert {one["docid"]: one["doc"] for one in reranked["reranked"]["candidates"]} == kept
    generated = worked(script, script.ask("generate/", {**reranked["reranked"], **MODEL}))
    assert generated["method"].endswith("by m")
    answer = generated["generated"]
    texts = ["The moon lifts the tides.", "Nobody knows why."]
    assert answer == {
        "topic_id": "7",
        "topic": QUERY["text"],
        "references": [second, first],
        "answer": [{"text": texts[0], "citations": [1]}, {"text": texts[1], "citations": []}],
        "response_length": sum(map(len, texts)),
    }
    assert AuditEntry.objects.filter(verb="answer requested by a program").count() == 2


def test_a_whole_pipeline_in_one_request_with_the_collections_model(script, sea):
    sea.grader_backend, sea.grader_llm = MODEL["backend"], MODEL["llm"]
    sea.save()
    sent = {"query": QUERY["text"], "method": "ragnarok", "rerank_passes": 1, "topk": 1}
    accepted = script.ask("generate/", sent, **{"Idempotency-Key": "once"})
    assert script.ask("generate/", sent, **{"Idempotency-Key": "once"}).json() == accepted.json()
    step = worked(script, accepted)
    assert step["method"].startswith("BM25, reranked 1 times, Ragnarök over the first 1")
    assert len(step["generated"]["references"]) == 1
    assert Question.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "sent", "status", "named"),
    [
        ("rerank/", {"query": "tides"}, 400, "rerank_passes"),
        ("rerank/", {"query": "tides", "rerank_passes": 1}, 422, "say its backend and llm"),
        ("rerank/", {"query": "tides", "rerank_passes": 1, "rating_prompt": "Sun", **MODEL}, 422, "in lists"),
        ("generate/", {"query": "tides", "method": "rifer"}, 422, "needs a model"),
        ("generate/", {"query": "tides", **MODEL, "llm": "unpriced"}, 400, "most_calls"),
        ("generate/", {"query": "tides", **MODEL, "backend": "oracle"}, 400, "oracle"),
        ("generate/", {"query": "tides", **MODEL, "corpus": "none"}, 400, "corpus"),
        ("generate/", {"query": "t\0", **MODEL}, 400, "NUL"),
        ("generate/", {"query": "t", "candidates": [{"docid": "x", "doc": "\0"}], **MODEL}, 400, "NUL"),
        ("generate/", {"query": "t", "candidates": [{"docid": "x"}], **MODEL}, 422, "candidate 1"),
        ("made-runs/", {"run_tag": "two words"}, 400, "run_tag"),
        ("made-runs/", {"run_tag": "r", "runs": ["none"]}, 400, "There is no run none"),
        ("made-runs/", {"run_tag": "r", "topics": ["t9"]}, 400, "There is no topic t9"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_starts(script, path, sent, status, named):
    refused = script.ask(path, sent)
    assert refused.status_code == status, refused.json()
    assert named in json.dumps(refused.json())
    assert not Question.objects.exists()
    assert not Run.objects.exists()


def test_a_step_is_for_organizers_and_needs_the_scope(script, script_of, owner, developer):
    sent = {"query": QUERY, **MODEL}
    reading = script_of(owner, scopes=["read"])
    assert reading.post(f"{AT}generate/", sent, format="json").status_code == 403
    accepted = script.ask("generate/", sent)
    assert script_of(developer).get(accepted["Location"]).status_code == 403
    steered = script.post(f"{accepted['Location']}cancel/")
    assert (steered.json()["state"], steered.json()["generated"]) == ("cancelled", None)


def test_a_limit_pauses_the_step(script):
    sent = {"query": QUERY, **MODEL, "rerank_passes": 1, "most_calls": 1}
    step = worked(script, script.ask("generate/", sent))
    assert (step["state"], step["calls"], step["generated"]) == ("paused", 1, None)
    assert "as often as it may" in step["pause_reason"]


def test_a_run_is_made_with_its_price_before(script, sea):
    for number in (1, 2):
        TopicFactory(collection=sea, query_id=f"s{number}", text=QUERY["text"])
    system = {**MODEL, "method": "ragnarok", "rerank_passes": 1, "topk": 2}
    plan = script.ask("made-runs/plan/", system).json()
    assert (plan["topics"], plan["calls"], plan["needs_limit_on_calls"]) == (2, 4, False)
    assert plan["price"]["dollars"] > 0
    assert not Run.objects.exists()
    accepted = script.ask("made-runs/", {**system, "run_tag": "own", "topics": ["s2"]})
    assert (accepted.status_code, accepted.json()["total"]) == (202, 1)
    assert script.ask("made-runs/", {**system, "run_tag": "own"}).status_code == 409
    for chunk in SystemChunk.objects.filter(state="queued"):
        work_on("system", chunk.pk)
    made = script.get(accepted["Location"]).json()
    assert (made["state"], made["calls"], made["progress"]["done"]) == ("done", 2, 1)
    run = sea.runs.accepted().get()
    assert (run.run_tag, run.responses.get().topic.query_id) == ("own", "s2")
    [listed] = script.get(f"{AT}made-runs/").json()["items"]
    assert (listed["run"], listed["system"]["rerank_passes"]) == ("own", 1)
    assert script.post(f"{accepted['Location']}rest/").json()["state"] == "done"


ODD_REPLIES = {
    "a page": b"<html>login</html>",
    "refused": reply(None, refusal="No."),
    "filtered": reply("x", "content_filter"),
    "no text": reply(None),
}


@pytest.mark.parametrize("name", ODD_REPLIES)
def test_a_server_that_misbehaves_fails_the_step_and_says_why(
    name, sea, owner, script_of, settings, monkeypatch
):
    pytest.importorskip("openai")
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)
    client, body = script_of(owner), ODD_REPLIES[name]
    with serving(
        lambda *_: Reply(200, body if isinstance(body, bytes) else json.dumps(body).encode())
    ) as server:
        settings.OPENAI_BASE_URL = server.url
        models._client.cache_clear()
        accepted = client.post(f"{AT}generate/", {"query": QUERY, **MODEL, "most_calls": 20}, format="json")
        for _ in range(4):
            step = worked(client, accepted)
        models._client.cache_clear()
    assert (step["state"], step["generated"]) == ("failed", None)
    assert step["error"]
