"""Questions that are typed in: answered twice by workers, compared blind, kept out of the collection."""

from __future__ import annotations

import re
from uuid import uuid4

import numpy as np
import pytest
from django.urls import reverse

from grading.systems import pipeline
from grading.systems.pipeline import Answering
from rubricweb.arena import actions
from rubricweb.arena.battles import SYSTEMS, two_systems
from rubricweb.arena.board import vote_board
from rubricweb.arena.models import Battle, FreshAnswer, Question
from rubricweb.corpus.models import Passage, Response, Run, Topic
from rubricweb.corpus.pools import collection_pool
from rubricweb.corpus.pseudonyms import run_pseudonym
from rubricweb.corpus.writers import Writer
from rubricweb.jobs import limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from tests.factories import PassageFactory, TopicFactory, ranked
from tests.grading import smollm2

QUESTION = "What lifts the tides?"
TRACK = {"run_id", "topic_id", "topic", "references", "response_length", "answer"}
TEXTS = {
    "m1": "The moon lifts the tides by its pull on the sea. Fishermen know that well enough.",
    "m2": "The sun lifts the tides a little, too. Spring tides come when both pull together.",
    "m3": "Far out the tides lift the open sea by less than a metre. Nobody there sees the tides.",
    "m4": "Where bays are narrow the tides lift the water by many metres. Ships wait for the tides.",
}


class Repeats:
    """A model that cites its first source."""

    calls = 0

    def complete(self, messages):
        Repeats.calls += 1
        return f"The moon lifts the tides [1]. Answer {Repeats.calls} knows no more."


@pytest.fixture(autouse=True)
def sea(collection, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    for doc_id, text in TEXTS.items():
        PassageFactory(collection=collection, doc_id=doc_id, text=text)
    return collection


@pytest.fixture
def model(collection, monkeypatch):
    """The collection asks a model of a server whose price is known."""
    collection.grader_backend, collection.grader_llm = "openai_compatible", "repeats"
    collection.save()
    Repeats.calls = 0
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: Repeats())


def asked(client, collection, **sent) -> Battle:
    values = {"text": QUESTION, "most_calls": 50, "most_dollars": 1} | sent
    response = client.post(reverse("arena:ask", args=[collection.slug]), values)
    assert response.status_code == 302, response.context["form"].errors
    return Battle.objects.latest("pk")


def answered(battle: Battle) -> Battle:
    for chunk in FreshAnswer.objects.filter(job__battle=battle, state="queued"):
        work_on("fresh-answer", chunk.pk)
    return Battle.objects.select_related("question").get(pk=battle.pk)


def address(name, battle, *more):
    return reverse(f"arena:{name}", args=[battle.collection.slug, battle.pk, *more])


def vote(client, battle, answer="left"):
    sent = {"uid": uuid4(), "seen": 0, "answer": answer, "evidence": "tie"}
    return client.post(address("cast", battle), sent)


def test_a_question_is_answered_twice_without_a_model_and_compared_blind(collection, assessor, client_of):
    client = client_of(assessor)
    battle = asked(client, collection)
    waits = client.get(battle.get_absolute_url()).content.decode()
    assert "0 of 2 answers ready" in waits
    assert 'id="ballot"' not in waits
    battle = answered(battle)
    assert battle.question.state == Job.State.DONE
    page = client.get(battle.get_absolute_url()).content.decode()
    assert "moon lifts the tides" in page
    for name in ("Best sentences", "few-sentences", "m1", battle.left_digest):
        assert name not in page
    vote(client, battle)
    page = client.get(battle.get_absolute_url()).content.decode()
    assert page.count("BM25, Best sentences (no language model) over the first") >= 2
    left = battle.question.chunks.get(number=0)
    document = client.get(address("battle-json", battle)).json()
    assert document["topic"]["text"] == QUESTION
    answer = document["left"]
    assert {*answer} == TRACK
    modules = document["modules"]["left"]
    assert (modules, answer["references"]) == (left.made_by.method, left.result["sources"])
    cited = [row["citations"] for row in answer["answer"]]
    assert cited == [places for _, places in left.result["sentences"]]


def test_nothing_of_it_is_in_the_collection_until_it_is_adopted(
    collection, assessor, developer, owner, client_of
):
    counted = (Topic, Passage, Run, Response)
    before = [model.objects.count() for model in counted]
    battle = answered(asked(client_of(assessor), collection))
    vote(client_of(assessor), battle)
    assert [model.objects.count() for model in counted] == before
    assert not collection_pool(collection).topics
    assert vote_board(collection).votes == 0
    assert QUESTION in client_of(developer).get(reverse("arena:ask", args=[collection.slug])).content.decode()
    adopt = reverse("arena:adopt", args=[collection.slug, battle.question_id])
    assert client_of(assessor).post(adopt, {"query_id": "q9"}).status_code == 403
    for query_id in ("two words", "q9", "q10"):
        client_of(developer).post(adopt, {"query_id": query_id})
    topic = collection.topics.get()
    assert (topic.query_id, topic.text) == ("q9", QUESTION)
    other = asked(client_of(assessor), collection, text="Why?")
    adopt = reverse("arena:adopt", args=[collection.slug, other.question_id])
    page = client_of(developer).post(adopt, {"query_id": "q9"}, follow=True).content.decode()
    assert "has a topic of that id" in page


def test_who_asked_still_gets_battles_of_stored_answers(collection, assessor, answers, client_of):
    asked(client_of(assessor), collection)
    battle = actions.next_battle(collection, by=assessor)
    assert (battle.number, battle.question, battle.topic) == (2, None, battle.stored_topic)


def test_an_existing_topic_gets_fresh_answers(collection, assessor, client_of):
    topic = TopicFactory(collection=collection, query_id="t1", text="How do tides work?")
    battle = asked(client_of(assessor), collection, text="", topic=topic.pk)
    assert (battle.question.topic, battle.text, battle.query_id) == (topic, topic.text, "t1")
    assert answered(battle).question.is_ready
    assert not collection.runs.exists()


def test_models_answer_within_limits_and_the_rest_goes_on(collection, owner, client_of, model, settings):
    settings.PRICES = {"repeats": 1.0}
    client = client_of(owner)
    battle = answered(asked(client, collection, first="ragnarok", second="rifer", most_calls=2))
    assert battle.question.state == Job.State.PAUSED
    page = client.get(battle.get_absolute_url()).content.decode()
    assert "as often as it may" in page
    assert "RIFER" not in page
    client.post(address("go-on", battle))
    battle = answered(battle)
    question = battle.question
    assert (question.state, question.calls) == (Job.State.DONE, Repeats.calls)
    assert 0 < question.dollars < 1
    vote(client, battle)
    systems = [chunk.system for chunk in question.chunks.all()]
    assert sorted(systems) == ["ragnarok", "rifer"]
    page = client.get(battle.get_absolute_url(), {"made": "left"}).content.decode()
    assert {"ragnarok": "ChatQa@1", "rifer": "KeyFacts@1"}[systems[0]] in page


def test_an_assessor_spends_no_more_than_the_collection_allows(
    collection, assessor, client_of, model, settings
):
    client, page = client_of(assessor), reverse("arena:ask", args=[collection.slug])
    assert "No language model" in client.get(page).content.decode(), "its price is not known"
    settings.PRICES = {"repeats": 1.0}
    sent = {"text": QUESTION, "most_calls": 9, "most_dollars": 1.5}
    assert "most_dollars" in client.post(page, sent).context["form"].errors
    battle = asked(client, collection, most_dollars=1)
    assert battle.question.most_dollars == 1


def test_how_it_was_made_waits_for_the_vote(collection, assessor, client_of):
    client = client_of(assessor)
    battle = answered(asked(client, collection))
    at = battle.get_absolute_url()
    blind = client.get(at, {"made": "left"}).content.decode()
    assert "answer was made" not in blind
    assert "Best sentences" not in blind
    assert client.get(address("battle-json", battle)).status_code == 403
    vote(client, battle)
    assert "How the right answer was made" in client.get(at, {"made": "right"}).content.decode()
    assert "answer was made" not in client.get(at, {"made": "middle"}).content.decode()


def test_votes_on_fresh_answers_are_counted_by_system(collection, assessor, owner, client_of):
    battle = answered(asked(client_of(assessor), collection))
    vote(client_of(assessor), battle, "right")
    page = client_of(owner).get(reverse("arena:ask", args=[collection.slug])).content.decode()
    rows = re.findall(r'<th scope="row"><bdi>(BM25.*?)</bdi></th>((?:\s*<td class="num">[^<]*</td>)*)', page)
    winner = battle.question.chunks.get(number=1).made_by.method
    counts = {label: re.findall(r">([^<]+)</td>", cells) for label, cells in rows}
    assert counts.pop(winner) == ["100\u202f%", "1", "0", "0"]
    assert list(counts.values()) == [["0\u202f%", "0", "0", "1"]]
    hidden = client_of(assessor).get(reverse("arena:ask", args=[collection.slug])).content.decode()
    assert "Pipelines by blind votes" not in hidden


def test_cancelled_and_tried_again(collection, assessor, client_of):
    client = client_of(assessor)
    battle = asked(client, collection)
    client.post(address("cancel", battle))
    assert Question.objects.get().state == Job.State.CANCELLED
    assert "could not be made" in client.get(address("pending", battle)).content.decode()
    client.post(address("go-on", battle))
    answered(battle)
    assert "Both answers are ready" in client.get(address("pending", battle)).content.decode()


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": QUESTION, "first": "sentences", "second": "sentences"}, "second"),
        ({"text": QUESTION, "first": "rifer"}, "first"),
    ],
)
def test_what_is_refused(collection, assessor, client_of, sent, field):
    response = client_of(assessor).post(reverse("arena:ask", args=[collection.slug]), sent)
    assert response.status_code == 422
    assert field in response.context["form"].errors


def test_it_is_for_who_may_assess_and_the_battle_for_its_person(
    collection, assessor, viewer, owner, client_of
):
    page = reverse("arena:ask", args=[collection.slug])
    assert client_of(viewer).get(page).status_code == 403
    battle = asked(client_of(assessor), collection)
    for name in ("battle", "pending"):
        assert client_of(owner).get(address(name, battle)).status_code == 404


def test_sides_and_systems_are_drawn_from_the_seed():
    writer = Writer("openai_compatible", "m")
    drawn = {
        tuple(one.name for one in two_systems(("", ""), writer, np.random.default_rng(seed)))
        for seed in range(600)
    }
    assert drawn == {(one, other) for one in SYSTEMS for other in SYSTEMS if one != other}
    sides = {two_systems(("rifer", ""), writer, np.random.default_rng(seed))[0].name for seed in range(40)}
    assert "rifer" in sides
    assert len(sides) > 3
    with pytest.raises(ValueError, match="two different systems"):
        two_systems(("rifer", "sentences"), None, np.random.default_rng(1))


@pytest.mark.models
def test_a_real_small_model_answers_beside_the_stand_in(collection, owner, client_of, monkeypatch):
    monkeypatch.setitem(pipeline.LONGEST_REPLIES, Answering.RAGNAROK, 24)
    collection.grader_backend, collection.grader_llm = "hf_causal", str(smollm2.folder())
    collection.save()
    client = client_of(owner)
    battle = answered(asked(client, collection, first="ragnarok", second="few-sentences"))
    assert (battle.question.state, battle.question.error, battle.question.calls) == ("done", "", 1)
    [answer] = battle.question.chunks.filter(system="ragnarok")
    [step] = answer.result["steps"]
    assert step["reply"].split()[0] in client.get(battle.get_absolute_url()).content.decode()


PIPELINE = {"first": "ragnarok", "second": "ragnarok", "first_reranker": "2", "second_model": "1"}


def test_two_pipelines_of_chosen_modules_compete(collection, owner, client_of, model, settings):
    settings.PRICES, settings.OPENAI_BASE_URL = {"repeats": 1.0, "other": 1.0}, "http://127.0.0.1:9/v1"
    client = client_of(owner)
    battle = answered(asked(client, collection, **PIPELINE))
    made = sorted(chunk.made_by.method for chunk in battle.question.chunks.all())
    assert made == [
        "BM25, Ragnarök over the first 20, by other",
        "BM25, reranked 2 times, Ragnarök over the first 20, by repeats",
    ]
    blind = client.get(battle.get_absolute_url()).content.decode()
    assert not [name for name in ("by other", "by repeats", "reranked") if name in blind]
    vote(client, battle)
    page = client.get(battle.get_absolute_url()).content.decode()
    assert [name for name in made if name in page] == made
    tallied = client.get(reverse("arena:ask", args=[collection.slug])).content.decode()
    assert [name for name in made if name in tallied] == made


def test_a_run_is_a_retriever_for_topics_and_has_its_pseudonym_for_who_no_longer_sees_names(
    collection, assessor, developer, client_of, model
):
    topic = TopicFactory(collection=collection, query_id="t1", text="How do tides work?")
    ranked(topic, {"secretalpha": ["m3", "m1"]})
    run, page = collection.runs.get(), reverse("arena:ask", args=[collection.slug])
    assert "run:" not in client_of(assessor).get(page).content.decode()
    client = client_of(developer)
    modules = {"first": "sentences", "first_retriever": f"run:{run.pk}", "second": "question"}
    refused = client.post(page, {"text": QUESTION, "most_calls": 9, **modules})
    assert "topics only" in str(refused.context["form"].errors["first"])
    battle = answered(asked(client, collection, text="", topic=topic.pk, **modules))
    [chunk] = battle.question.chunks.filter(system="")
    assert chunk.result["sources"] == ["m3", "m1"]
    vote(client, battle)
    assert "secretalpha, Best sentences" in client.get(battle.get_absolute_url()).content.decode()
    collection.memberships.filter(user=developer).update(role="assessor")
    places = (
        battle.get_absolute_url(),
        f"{battle.get_absolute_url()}?made={chunk.side}",
        address("battle-json", battle),
    )
    for place in places:
        seen = client.get(place).content.decode()
        assert "secretalpha" not in seen
        assert run_pseudonym(collection.name_salt, "secretalpha") in seen


@pytest.mark.parametrize(
    ("modules", "field"),
    [
        ({"first_reranker": "1"}, "first"),
        ({"second": "question", "second_reranker": "1"}, "second"),
        ({"first_reranker": "9"}, "first_reranker"),
        ({"first": "rifer", "first_reranker": "1", "second": "rifer", "second_reranker": "1"}, "second"),
    ],
)
def test_modules_that_do_not_go_together_are_refused(collection, owner, client_of, model, modules, field):
    sent = {"text": QUESTION, "most_calls": 9, "most_dollars": 1, **modules}
    response = client_of(owner).post(reverse("arena:ask", args=[collection.slug]), sent)
    assert response.status_code == 422
    assert field in response.context["form"].errors
