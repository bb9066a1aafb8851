"""Labels of support by a model server that misbehaves: one odd reply is one failed label."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("openai")

from grading.generation import models
from grading.graders import openai_client
from grading.support import JudgedCitations, Support
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from rubricweb.support import actions
from rubricweb.support.models import SupportLabel
from tests.grading.odd_replies import ODD, Body, reply
from tests.grading.servers.http import Reply, Server, serving

SHAPES = {odd.name: odd.body for odd in ODD}


class Judge:
    """Says full of all but bread, of which it says what a test wants."""

    of_bread: Body = None

    def __call__(self, body: Body, _: int) -> Reply:
        is_bread = "Statement: Bread" in body["messages"][0]["content"]
        return Reply(200, json.dumps(self.of_bread if is_bread else reply("full_support")).encode())


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.fixture
def server(judge: Judge, settings, monkeypatch) -> Iterator[Server]:
    monkeypatch.setattr(openai_client, "FIRST_WAIT", 0.0)
    with serving(judge) as running:
        settings.OPENAI_BASE_URL = running.url
        models._client.cache_clear()
        yield running
        models._client.cache_clear()


def labelled(job):
    for chunk in job.chunks.all():
        work_on("support", chunk.pk)
    job.refresh_from_db()
    return job


def labels_of(collection, owner, llm="m"):
    asking = actions.Asking("openai_compatible", llm, JudgedCitations.ALL)
    return labelled(actions.start(collection, asking, limits=Limits(99), by=owner))


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("refusal", "the model refused: I will not rate 2."),
        ("content null", "the server returned no text"),
        ("choices '4'", "the server's reply holds no message"),
        ("thoughts cut off", "raise max_new_tokens"),
    ],
)
def test_one_odd_reply_is_one_failed_label(sea, owner, server, judge, name, problem):
    judge.of_bread = SHAPES[name]
    job = labels_of(sea, owner)
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert sorted(SupportLabel.objects.values_list("label", flat=True), key=str) == [Support.FULL] * 3 + [
        None
    ]
    failed = SupportLabel.objects.get(label=None)
    assert problem in failed.problem

    judge.of_bread = reply("<think>no_support?</think>partial_support")
    labelled(actions.retry_failed(job, limits=Limits(9), by=owner))
    failed.refresh_from_db()
    assert (failed.label, failed.reply, failed.problem) == (Support.PARTIAL, "partial_support", "")
    assert [message["role"] for message in server.asked[-1]["messages"]] == ["user"]


def test_the_page_of_the_job_says_why_there_is_no_label(sea, owner, server, judge, client):
    judge.of_bread = SHAPES["refusal"]
    job = labels_of(sea, owner)
    client.force_login(owner)
    assert "the model refused: I will not rate 2." in client.get(job.get_absolute_url()).text


def test_a_server_that_answers_nobody_ends_the_attempt(sea, owner, server, judge, settings):
    judge.of_bread = {"error": {"message": "no such key", "code": 401}}
    job = labels_of(sea, owner)
    assert SupportLabel.objects.filter(label=None).count() == 0
    assert job.state != Job.State.DONE


def test_a_models_thinking_is_as_the_settings_have_it(sea, owner, server, judge):
    judge.of_bread = reply("no_support")
    sea.grader_backend, sea.grader_llm = "openai_compatible", "m"
    sea.grader_options = {"thinking": "off", "max_new_tokens": 900, "top_logprobs": 5}
    sea.save()
    labels_of(sea, owner)
    assert {body["max_tokens"] for body in server.asked} == {900}
    assert {json.dumps(body["chat_template_kwargs"]) for body in server.asked} == {
        '{"enable_thinking": false, "thinking": false}'
    }
    before = len(server.asked)
    labels_of(sea, owner, llm="another")
    assert {body["max_tokens"] for body in server.asked[before:]} == {32}
