"""Two answers to two topics, small enough to score by hand.

        sentence                          cites
topic s1
  alpha The moon pulls the sea.           d1, d2
        The sun helps.                    d2
        Nobody knows more.                nothing
  beta  The sun helps.                    d2
topic s2
  beta  Bread rises with yeast.           d3, and d9, which has no text
"""

from __future__ import annotations

import pytest

from grading.types import text_md5
from rubricweb.accounts.models import User
from rubricweb.corpus.models import Collection, Response, Run, Topic
from rubricweb.support.labels import CitationKey
from tests.factories import PassageFactory, RunFactory, TopicFactory

TEXTS = {"d1": "The moon lifts the tides.", "d2": "The sun lifts them a little.", "d3": "Yeast makes gas."}
MOON, SUN, MORE, BREAD = (
    "The moon pulls the sea.",
    "The sun helps.",
    "Nobody knows more.",
    "Bread rises with yeast.",
)
ANSWERS = {
    ("alpha", "s1"): [(MOON, ["d1", "d2"]), (SUN, ["d2"]), (MORE, [])],
    ("beta", "s1"): [(SUN, ["d2"])],
    ("beta", "s2"): [(BREAD, ["d3", "d9"])],
}


def answered(run: Run, topic: Topic, sentences: list[tuple[str, list[str] | None]]) -> Response:
    told = [
        {"text": text, "citations": None if cited is None else [[doc_id, None] for doc_id in cited]}
        for text, cited in sentences
    ]
    return Response.objects.create(run=run, topic=topic, sentences=told, passages_of="sentence")


@pytest.fixture
def sea(collection: Collection, owner: User) -> Collection:
    topics = {
        query_id: TopicFactory(collection=collection, query_id=query_id, text=text)
        for query_id, text in {"s1": "Why do tides rise?", "s2": "How does bread rise?"}.items()
    }
    runs = {run_tag: RunFactory(collection=collection, run_tag=run_tag) for run_tag in ("alpha", "beta")}
    for doc_id, text in TEXTS.items():
        PassageFactory(collection=collection, doc_id=doc_id, text=text)
    for (run_tag, query_id), sentences in ANSWERS.items():
        answered(runs[run_tag], topics[query_id], sentences)
    return collection


@pytest.fixture
def cite(sea: Collection):
    """The citation of a sentence, by topic, text and document."""

    def of(query_id: str, text: str, doc_id: str) -> CitationKey:
        return CitationKey(sea.topics.get(query_id=query_id).pk, text_md5(text), doc_id)

    return of
