"""A model scores topics within limits; people confirm and mend; samples go by either."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from grading.intrinsic_attributes import MEANINGS, question
from rubricweb.core.models import AuditEntry
from rubricweb.corpus import topic_attributes
from rubricweb.corpus.derived_models import AttributeChunk, AttributeJob
from rubricweb.corpus.writers import Writer
from rubricweb.jobs import limits
from rubricweb.jobs.limits import Limits, change_limits, digest_of
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from tests import factories
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

WRITER = Writer("openai_compatible", "m")


class Scorer:
    """Scores 7 everywhere for leaves, 1 for bread, and says nothing usable of snow."""

    def __init__(self):
        self.asked = []

    def complete(self, messages):
        ((_, text),) = messages
        self.asked.append(text)
        if "snow" in text:
            return "It depends."
        return json.dumps(dict.fromkeys(MEANINGS, 7 if "leaves" in text else 1))


@pytest.fixture
def scorer(monkeypatch):
    made = Scorer()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: made)
    return made


@pytest.fixture
def topics(collection):
    texts = {"t1": "why do leaves turn red", "t2": "how does bread rise", "t3": "how snow forms"}
    return {
        query_id: factories.TopicFactory(collection=collection, query_id=query_id, text=text, position=place)
        for place, (query_id, text) in enumerate(texts.items())
    }


def start(collection, owner=None, *, most_calls=9):
    return topic_attributes.start(collection, WRITER, limits=Limits(most_calls), by=owner)


def work(job):
    for chunk in job.chunks.filter(state=AttributeChunk.State.QUEUED):
        work_on("attributes", chunk.pk)
    job.refresh_from_db()
    return job


def fresh(topic):
    topic.refresh_from_db()
    return topic


def test_each_topic_is_asked_once_and_a_model_decides_nothing(collection, topics, scorer, owner):
    job = work(start(collection, owner))
    assert (job.state, job.calls, job.chunks.filter(failed=1).count()) == (Job.State.DONE, 3, 1)
    topic = fresh(topics["t1"])
    assert topic.attributes == {}
    assert topic.attribute_sources["ambiguity"] == {
        "model": 7,
        "llm": "m",
        "prompt_id": "IntrinsicAttributes@1",
    }
    again = start(collection)
    assert [chunk.topic.query_id for chunk in again.chunks.all()] == ["t3"], "only what has no scores"


def test_a_limit_pauses_and_a_paid_reply_is_not_asked_again(collection, topics, scorer, owner):
    job = work(start(collection, owner, most_calls=1))
    assert (job.state, job.calls) == (Job.State.PAUSED, 1)
    left = job.chunks.filter(state=AttributeChunk.State.QUEUED)
    digest = digest_of(question(topics["t2"].text))
    left.filter(topic=topics["t2"]).update(replies={digest: [json.dumps(dict.fromkeys(MEANINGS, 2))]})
    job = work(change_limits(job, Limits(2), by=owner))
    assert (job.state, job.calls, len(scorer.asked)) == (Job.State.DONE, 2, 2)
    assert topic_attributes.model_scores(fresh(topics["t2"]))["harmful"] == 2


def test_people_confirm_and_mend_and_the_source_stays(collection, topics, scorer, owner, client_of):
    topics["t1"].attributes = {"harmful": 0}
    topics["t1"].save()
    work(start(collection, owner))
    client, page = client_of(owner), reverse("corpus:topic-attributes", args=[collection.slug])
    shown = markup(client.get(page))
    assert shown.count(">Confirm<") == 2
    to = reverse("corpus:attributes-decide", args=[collection.slug, topics["t1"].pk])
    waiting = {name: 7 for name in MEANINGS if name != "harmful"}
    assert client.post(to, waiting | {"subjective": "2.5"}).status_code == 302
    topic = fresh(topics["t1"])
    assert topic.attributes == waiting | {"subjective": 2.5, "harmful": 0}
    assert topic.attribute_sources["subjective"] | {"prompt_id": ""} == {
        "model": 7, "llm": "m", "by": "person", "prompt_id": "",
    }  # fmt: skip
    assert "by" not in topic.attribute_sources["harmful"], "a file said so"
    assert AuditEntry.objects.filter(verb="attributes of a topic decided", by=owner).count() == 1
    client.post(to, {"category": "set", "subjective": ""})
    assert fresh(topic).attributes["category"] == "set"
    assert "subjective" not in topic.attributes
    opened = markup(client.get(page, {"topic": topic.pk}))
    assert "The model says 7." in opened
    assert 'value="set" selected' in opened
    assert client.post(to, {"ambiguity": "11"}).status_code == 422


def test_pages_hear_of_each_scored_topic(collection, owner, topics, scorer, monkeypatch):
    heard = []
    monkeypatch.setattr(limits.events, "publish_on_commit", lambda *event: heard.append(event))
    work(start(collection, owner))
    assert heard.count((collection.channel, "progress")) >= len(topics)


def test_the_page_prices_and_starts(collection, topics, scorer, owner, client_of, viewer):
    client, page = client_of(owner), reverse("corpus:topic-attributes", args=[collection.slug])
    asked = {"backend": WRITER.backend, "llm": WRITER.llm}
    assert "3, one per topic" in markup(client.get(page, asked))
    assert client.post(page, asked | {"most_calls": 0}).status_code == 422
    assert client.post(page, asked | {"most_calls": 2}).status_code == 302
    job = AttributeJob.objects.get()
    assert (job.most_calls, job.total) == (2, 3)
    limits = reverse("grades:limits", args=[collection.slug, "attributes", job.pk])
    assert "Change limits" in markup(client.get(page))
    client.post(limits, {"most_calls": 5})
    job.refresh_from_db()
    assert job.most_calls == 5
    assert client_of(viewer).get(page).status_code == 403


def test_commands_ask_and_samples_go_by_what_counts_or_also_by_the_model(collection, topics, scorer):
    def ran(name, *arguments):
        out = io.StringIO()
        call_command(name, collection.slug, *arguments, stdout=out)
        return out.getvalue()

    model = ("--backend", WRITER.backend, "--llm", WRITER.llm)
    with pytest.raises(CommandError, match="say --most-calls"):
        ran("topic_attributes", *model)
    assert "started: attributes of topics by m, at most 4 calls" in ran(
        "topic_attributes", *model, "--most-calls", "4"
    )
    work(AttributeJob.objects.get())
    with pytest.raises(CommandError, match="have no attributes"):
        ran("sample_topics", "--size", "2")
    drawn = json.loads(ran("sample_topics", "--size", "2", "--unconfirmed", "--plain", "--json"))
    assert {row["query_id"] for row in drawn["topics"]} <= {"t1", "t2", "t3"}
    assert drawn["topics"][1]["distance"] in (48.0, 56.0, 8.0)
