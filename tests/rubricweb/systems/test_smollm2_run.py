"""Ragnarök by a real, very small language model, in the worker's own process and behind a server."""

import pytest

from grading.graders.connection import Connection
from grading.systems import pipeline
from grading.systems.pipeline import Answering
from rubricweb.jobs import limits
from rubricweb.jobs.models import Job
from tests.grading import smollm2
from tests.rubricweb.systems.conftest import start, work

pytestmark = pytest.mark.models

TOKENS = 32
"""Of a reply: the model is slow here, and its answers are poor."""


@pytest.fixture
def folder(monkeypatch):
    monkeypatch.setitem(pipeline.LONGEST_REPLIES, Answering.RAGNAROK, TOKENS)
    return str(smollm2.folder())


def made_of(sea, owner, backend, folder):
    """The run's topics with their steps and sentences, made as by a worker."""
    job = work(start(sea, owner, answering=Answering.RAGNAROK, sources=2, backend=backend, llm=folder))
    assert (job.state, job.error) == (Job.State.DONE, "")
    assert (job.calls, job.run.llm, job.run.responses.count()) == (2, folder, 2)
    return [(chunk.result["steps"], chunk.result["sentences"]) for chunk in job.chunks.all()]


def test_it_answers_two_topics_by_transformers(sea, owner, folder):
    for steps, sentences in made_of(sea, owner, "hf_causal", folder):
        [step] = steps
        assert (step["stage"], step["prompt_id"]) == ("answer", "ChatQa@1")
        assert "[2]" in step["prompt"]
        assert step["reply"].strip()
        assert sentences
        assert sentences[0][0] in " ".join(step["reply"].split())


def test_it_answers_two_topics_behind_a_server(sea, owner, folder, monkeypatch, tmp_path):
    from tests.grading.servers.transformers_serve import served

    with served(smollm2.folder(), tmp_path / "serve.log") as url:
        monkeypatch.setattr(limits, "model_server", lambda: Connection(url))
        for steps, sentences in made_of(sea, owner, "openai_compatible", folder):
            assert steps[0]["reply"].strip()
            assert sentences
