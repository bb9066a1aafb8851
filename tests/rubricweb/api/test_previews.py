"""What a change would do, as the editor's pages say it; and the steps of a system."""

from __future__ import annotations

import pytest

from rubricweb.editor.impact import UnsavedItem, impact_of
from rubricweb.editor.what_if import what_if
from rubricweb.grades.scoring import MeasureSpec
from tests.factories import PassageFactory, grade, lexical_config, ranked
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db
MOON = "The moon pulls the sea and lifts the tides."


@pytest.fixture
def item(bank):
    """It alone covers the first passage, which only alpha ranks."""
    topic = bank.collection.topics.first()
    first, *_ = doc_ids = [row.passage.doc_id for row in topic.pool.all()]
    items = list(bank.items.for_topic(topic))
    for pooled in topic.pool.all():
        for one in items:
            grade(lexical_config(), one, pooled.passage, 5 if pooled.passage.doc_id == first else 0)
    ranked(topic, {"alpha": doc_ids, "beta": doc_ids[1:]})
    return items[0]


def test_what_if_is_that_of_the_editor(item, bank, developer, script_of):
    at = f"{AT}banks/{bank.pk}/items/{item.pk}/what-if/"
    document = script_of(developer).get(at, {"grader": lexical_config().pk, "min_grade": 4}).json()
    expected = what_if(item, lexical_config(), MeasureSpec(min_grade=4))
    assert (document["grader"], document["min_grade"]) == (lexical_config().fingerprint, 4)
    assert document["rescored"] == expected.runs.rescored
    assert [row["doc_id"] for row in document["labels"]] == [row.doc_id for row in expected.labels]
    wrong = script_of(developer).get(at, {"min_grade": "99"})
    assert (wrong.status_code, [*wrong.json()["errors"]]) == (400, ["min_grade"])


def test_the_impact_of_a_text_is_that_of_the_editor(item, bank, developer, script_of):
    text = "Which trees keep their leaves?"
    sent = {"topic": item.topic.query_id, "kind": "question", "text": text}
    document = script_of(developer).post(f"{AT}banks/{bank.pk}/impact/", sent, format="json").json()
    expected = impact_of(UnsavedItem(bank, item.topic, "question", text))
    assert (document["passages"], document["to_grade"]) == (3, expected.to_grade)
    assert document["could_move"] == list(expected.could_move)
    twin = script_of(developer).post(
        f"{AT}banks/{bank.pk}/impact/", {**sent, "text": item.revision.text}, format="json"
    )
    assert twin.json()["is_twin"]


@pytest.fixture
def sea(collection, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    texts = {"d1": MOON, "d2": "The sun helps to lift the tides.", "d3": "Bread browns because of its sugar."}
    for doc_id, text in texts.items():
        PassageFactory(collection=collection, doc_id=doc_id, text=text, title=f"About {doc_id}")
    return collection


def test_what_is_retrieved_is_what_generate_takes(sea, owner, script_of):
    script, query = script_of(owner), {"qid": "7", "text": "What lifts the tides?"}
    found = script.post(f"{AT}retrieve/", {"query": query, "hits": 2}, format="json").json()
    assert found["query"] == query
    assert {one["docid"] for one in found["candidates"]} == {"d1", "d2"}
    best = found["candidates"][0]
    assert best["score"] > found["candidates"][1]["score"] > 0
    assert best["doc"]["title"] == f"About {best['docid']}"
    answer = script.post(f"{AT}generate/", found, format="json").json()
    assert [*answer] == ["topic_id", "topic", "references", "answer", "response_length"]
    assert (answer["topic_id"], answer["topic"]) == ("7", query["text"])
    assert answer["references"] == [one["docid"] for one in found["candidates"]]
    assert answer["response_length"] == sum(len(one["text"]) for one in answer["answer"]) > 0
    assert all(answer["references"][place] for one in answer["answer"] for place in one["citations"])
    assert script.post(f"{AT}generate/", {"query": query, "topk": 2}, format="json").json() == answer


def test_candidates_of_others_need_no_collection(collection, owner, script_of):
    candidates = [{"docid": "x1", "score": 1, "doc": {"segment": MOON}}, {"docid": "x2", "doc": "Bread."}]
    sent = {"query": "What lifts the tides?", "candidates": candidates}
    answer = script_of(owner).post(f"{AT}generate/", sent, format="json").json()
    assert answer["references"] == ["x1", "x2"]
    assert answer["answer"][0] == {"text": MOON, "citations": [0]}


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({}, 400),
        ({"query": ""}, 400),
        ({"query": {"qid": "1"}}, 400),
        ({"query": "tides", "candidates": [{"docid": "x"}]}, 422),
        ({"query": "tides", "topk": 0}, 400),
    ],
)
def test_a_query_that_does_not_fit_is_refused(wrong, status, collection, owner, script_of):
    assert script_of(owner).post(f"{AT}generate/", wrong, format="json").status_code == status
