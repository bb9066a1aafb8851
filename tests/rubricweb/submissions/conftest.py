"""Two teams, a call by the rules of RAG'25 with two topics, and files as their browsers send them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from grading.submissions import rules_as_json, rules_of
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection
from rubricweb.submissions.models import Call, Submission
from tests.factories import CallFactory, MembershipFactory, TopicFactory, UserFactory
from tests.rubricweb.import_files import response

SENTENCE = "Anthocyanins make maple leaves red."


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path) -> Path:
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return settings.DATA_DIR


@pytest.fixture
def call(collection: Collection) -> Call:
    for query_id in ("t1", "t2"):
        TopicFactory(collection=collection, query_id=query_id, text=f"about {query_id}")
    return CallFactory(collection=collection, rules=rules_as_json(rules_of("rag25")), runs_per_team=2)


@pytest.fixture
def rival(collection: Collection) -> User:
    """A participant of another team."""
    person, held = UserFactory(username="rival"), {"role": Role.PARTICIPANT, "team": "oak"}
    return MembershipFactory(user=person, collection=collection, **held).user


def lines(*responses: dict[str, object]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in responses).encode()


def answers(run_id: str, *texts: str, team: str = "maple") -> bytes:
    """A whole run: the same sentences for both topics."""
    sentences = [(text, [0, 1]) for text in texts or (SENTENCE,)]
    return lines(*(response(run_id, topic, *sentences, team_id=team) for topic in ("t1", "t2")))


Send = Callable[..., Submission]


@pytest.fixture
def send(client_of, call: Call, participant: User) -> Send:
    """`send(content)` submits a file in the browser and returns what became of it."""

    def sent(
        content: bytes, *, by: User = participant, name: str = "run.jsonl", **fields: object
    ) -> Submission:
        answer = post(client_of(by), call, content, name=name, **fields)
        assert answer.status_code == 302, answer.context["form"].errors
        return Submission.objects.latest("pk")

    return sent


def post(client: Client, call: Call, content: bytes, *, name: str = "run.jsonl", **fields: object):
    address = f"/collections/autumn/submissions/submit/?call={call.pk}"
    return client.post(address, {"file": SimpleUploadedFile(name, content)} | fields)


def groups(sent: Submission) -> dict[str, tuple[str, int]]:
    """By category: severity and number of findings."""
    return {group["category"]: (group["severity"], group["number"]) for group in sent.findings}
