"""An answer that is graded while its sender waits: once, within limits, and without a trace on boards."""

from __future__ import annotations

import pytest

from grading.types import ItemKind
from rubricweb.corpus.models import Passage, Pooled
from rubricweb.corpus.pools import stamp_of
from rubricweb.grades import one_answer
from rubricweb.grades.models import Grade, GradingJob
from rubricweb.jobs.worker import work_on
from tests.factories import PassageFactory
from tests.rubricweb.api.conftest import AT

pytestmark = pytest.mark.django_db
ANSWERS = f"{AT}answers/"


@pytest.fixture
def worker(monkeypatch):
    """A worker that grades all that waits while the request sleeps; `worker.stops()` it."""
    slept: list[float] = []

    def work(seconds: float) -> None:
        slept.append(seconds)
        for job in GradingJob.objects.exclude(state__in=GradingJob.ENDED):
            for pk in job.chunks.values_list("pk", flat=True):
                work_on("chunk", pk)

    monkeypatch.setattr("rubricweb.grades.one_answer.time.sleep", work)
    return slept


@pytest.fixture
def answer(bank):
    """It repeats the first question, which the lexical baseline takes as covered, and another sentence."""
    item = bank.items.order_by("topic", "position").first()
    return {"topic": item.topic.query_id, "text": f"{item.revision.text} The sun helps."}


def test_an_answer_is_graded_sentence_by_sentence_and_paid_once(bank, answer, developer, script_of, worker):
    script, stamp, pooled = script_of(developer), stamp_of(bank.collection_id), Pooled.objects.count()
    response = script.post(ANSWERS, answer, format="json")
    document = response.json()
    assert (response.status_code, document["state"], document["bank"]) == (200, "graded", bank.pk)
    assert len(document["items"]) == 2
    assert len(document["passages"]) >= 2
    cells = len(document["items"]) * len(document["passages"])
    assert sum(len(item["grades"]) for item in document["items"]) == cells == document["price"]["cells"]
    rater = one_answer.active_raters(bank.collection)[0]
    for item in document["items"]:
        best = max(grade["rating"] for grade in item["grades"])
        assert item["is_covered"] == (best >= rater.min_grade_of(ItemKind(item["kind"])))
    covered = sum(item["is_covered"] for item in document["items"])
    assert document["coverage"] == covered / 2 > 0
    assert (document["citations_coverage"], document["failures"]) == (None, 0)
    assert [job["state"] for job in document["jobs"]] == ["done"]

    again = script.post(ANSWERS, answer, format="json").json()
    assert (again["price"]["cells"], again["jobs"], again["coverage"]) == (0, [], document["coverage"])
    longer = script.post(ANSWERS, {**answer, "text": f"{answer['text']} Bread browns."}, format="json")
    assert longer.json()["price"]["cells"] == 2, "only the new sentence is graded"
    assert (Pooled.objects.count(), stamp_of(bank.collection_id)) == (pooled, stamp), "no board changes"


def test_citations_are_graded_too_and_a_question_names_its_topic(bank, developer, script_of, worker):
    topic = bank.collection.topics.first()
    item = bank.items.filter(topic=topic).first()
    PassageFactory(collection=bank.collection, doc_id="d1", text=item.revision.text)
    sent = {"question": topic.text.upper(), "text": "Nobody knows.", "passages_of": "response"}
    sent["citations"] = [{"doc_id": "d1"}, {"text": "Bread browns."}]
    document = script_of(developer).post(ANSWERS, sent, format="json").json()
    assert document["topic"] == topic.query_id
    assert [row["text"] for row in document["citations"]] == [item.revision.text, "Bread browns."]
    assert document["citations_coverage"] > document["coverage"] == 0


def test_what_takes_longer_is_answered_with_its_job(bank, answer, developer, script_of, monkeypatch):
    slept: list[float] = []
    monkeypatch.setattr("rubricweb.grades.one_answer.time.sleep", slept.append)
    script = script_of(developer)
    response = script.post(ANSWERS, {**answer, "wait": 1}, format="json")
    assert (response.status_code, sum(slept)) == (202, 1)
    assert (response.json()["state"], response.json()["coverage"]) == ("grading", None)
    assert script.get(response["Location"]).json()["state"] == "queued"
    again = script.post(ANSWERS, {**answer, "wait": 0}, format="json")
    assert (again.status_code, again["Location"]) == (202, response["Location"])
    assert GradingJob.objects.count() == 1
    script.post(f"{response['Location']}cancel/")
    assert script.post(ANSWERS, {**answer, "wait": 0}, format="json").status_code == 202, "it starts anew"


def test_failed_pairs_cover_nothing_until_they_are_graded_anew(bank, answer, developer, script_of, worker):
    script = script_of(developer)
    first = script.post(ANSWERS, answer, format="json").json()
    Grade.objects.update(rating=None, outcome="failed", reply="No answer in time.")
    failed = script.post(ANSWERS, answer, format="json").json()
    assert (failed["state"], failed["coverage"], failed["failures"]) == ("graded", 0, first["price"]["cells"])
    assert failed["items"][0]["grades"][0]["reason"] == "No answer in time."
    anew = script.post(ANSWERS, {**answer, "retry_failed": True}, format="json").json()
    assert (anew["coverage"], anew["failures"]) == (first["coverage"], 0)
    assert anew["price"]["cells"] == failed["failures"]


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"topic": "none"}, 404, "Topic"),
        ({"question": "Why?"}, 400, "`topic` or `question`"),
        ({"topic": None, "question": "Never asked?"}, 404, "No topic has this text"),
        ({"text": " "}, 400, "blank"),
        ({"text": "x" * 50_001}, 400, "50000"),
        ({"text": "One. Two. " * 101}, 200, ""),
        ({"text": " ".join(f"Sentence {n} is." for n in range(201))}, 422, "at most 200"),
        ({"citations": [{"doc_id": "d0"}]}, 404, "Passage"),
        ({"citations": [{"doc_id": "d0", "text": "x"}]}, 400, "`doc_id` or `text`"),
        ({"bank": 0}, 404, "rubric"),
        ({"wait": 31}, 400, "30"),
    ],
)
def test_what_does_not_fit_is_refused_and_stores_nothing(
    change, status, message, answer, developer, script_of, worker
):
    before = Passage.objects.count()
    sent = {name: value for name, value in {**answer, **change}.items() if value is not None}
    response = script_of(developer).post(ANSWERS, sent, format="json")
    assert response.status_code == status
    assert message in response.content.decode()
    assert (Passage.objects.count() == before) == (status != 200)


def test_limits_and_rights_keep_what_they_say(bank, answer, viewer, developer, script_of, monkeypatch):
    monkeypatch.setattr("rubricweb.grades.engine.price._has_model", lambda missing: True)
    script, before = script_of(developer), Passage.objects.count()
    few = script.post(ANSWERS, {**answer, "most_calls": 1}, format="json")
    assert (few.status_code, "model calls, the limit is 1" in few.json()["detail"]) == (422, True)
    monkeypatch.setattr("rubricweb.grades.engine.price._is_served", lambda config: True)
    unpriced = script.post(ANSWERS, {**answer, "most_dollars": 5}, format="json")
    assert (unpriced.status_code, "price" in unpriced.json()["detail"]) == (422, True)
    assert script_of(viewer).post(ANSWERS, answer, format="json").status_code == 403
    assert script_of(developer, scopes=["read"]).post(ANSWERS, answer, format="json").status_code == 403
    assert (Passage.objects.count(), Grade.objects.count(), GradingJob.objects.count()) == (before, 0, 0)
