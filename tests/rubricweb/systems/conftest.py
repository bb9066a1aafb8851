"""A small collection about tides, and a model that repeats its first source."""

import pytest

from grading.systems.pipeline import SystemSpec
from rubricweb.jobs import limits
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.worker import work_on
from rubricweb.systems import actions
from rubricweb.systems.models import SystemChunk
from tests import factories

MOON = "The moon pulls the sea and lifts the tides."
TEXTS = {
    "d1": f"{MOON} Fishermen know it well.",
    "d2": "The sun helps to lift the tides a little.",
    "d3": "Bread browns because of its sugar.",
}


class Writer:
    """Repeats the first source with its citation, and counts."""

    def __init__(self):
        self.calls = 0

    def complete(self, messages):
        self.calls += 1
        return f"{MOON[:-1]} [1]. Answer {self.calls} knows no more."


@pytest.fixture
def sea(collection, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    for number, text in enumerate(["Why do tides rise?", "What lifts the tides?"], 1):
        factories.TopicFactory(collection=collection, query_id=f"s{number}", text=text)
    for doc_id, text in TEXTS.items():
        factories.PassageFactory(collection=collection, doc_id=doc_id, text=text)
    return collection


@pytest.fixture
def writer(monkeypatch):
    made = Writer()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: made)
    return made


def start(collection, owner, *, run_tag="own", most_calls=99, most_dollars=None, **spec):
    topics = list(collection.topics.order_by("query_id"))
    limits = Limits(most_calls, most_dollars)
    return actions.start(
        collection, SystemSpec(**spec), run_tag=run_tag, topics=topics, limits=limits, by=owner
    )


def work(job):
    for chunk in job.chunks.filter(state=SystemChunk.State.QUEUED):
        work_on("system", chunk.pk)
    job.refresh_from_db()
    return job
