"""The collection page: its topics, what in them deserves a look, and its speed at 700 topics."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from grading.types import item_id
from rubricweb.accounts.models import User
from rubricweb.banks.models import Bank, Item, ItemRevision
from rubricweb.core.models import new_stamp
from rubricweb.corpus.models import Collection, Judgment, Passage, Pooled, Subtopic, Topic
from rubricweb.grades.models import Grade
from rubricweb.grades.store import save_grades
from tests.factories import (
    BankFactory,
    ItemFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    grade,
    lexical_config,
)
from tests.rubricweb.markup import markup

URL = "/collections/autumn/"
TOPICS, PASSAGES, ITEMS = 700, 4, 4


def only_row(response):
    (row,) = response.context["page"].object_list
    return row


def test_numbers_of_the_example(autumn, viewer, client_of):
    response = client_of(viewer).get(URL)
    row = only_row(response)
    assert (row.query_id, row.pool, row.questions, row.nuggets) == ("t1", 6, 2, 1)
    facts = row.facts
    assert (facts.cells, facts.missing, facts.failed) == (18, 7, 1)
    # d2 is relevant with label 1; Q2 and N1 reach 4 nowhere; Q1 covers d3, one of two not relevant passages.
    assert (facts.uncovered, facts.nobody, facts.spurious, facts.unknown) == (1, 2, 1, 0)
    html = markup(response)
    for link in ("show=failed", "items=nobody"):
        assert f'href="{autumn.grid}&amp;{link}"' in html
    for kind in ("uncovered", "misleading"):
        place = f"bank={autumn.bank.pk}&amp;topic={autumn.topic.pk}&amp;kind={kind}"
        assert f'href="/collections/autumn/review/problems/?{place}"' in html
    assert "items=unknown" not in html
    assert "11 of 18 pairs" in html


def test_unknown_texts_are_flagged_and_their_grades_count(autumn, owner, client_of):
    revision = autumn.items[0].revision
    revision.text = ""
    revision.save()
    facts = only_row(client_of(owner).get(URL)).facts
    assert (facts.unknown, facts.cells) == (1, 16)


def test_the_bank_is_chosen_in_the_address(autumn, owner, client_of):
    other = BankFactory(collection=autumn.collection, name="another")
    ItemFactory(bank=other, topic=autumn.topic, text="Why are leaves green?")
    client = client_of(owner)
    assert client.get(URL).context["bank"] == autumn.bank
    assert only_row(client.get(URL, {"bank": other.pk})).items == 1
    wrong = client.get(URL, {"bank": "999"})
    assert wrong.context["bank"] == autumn.bank
    assert "999 is not one of the available choices" in markup(wrong)


def test_grades_of_another_model_are_chosen_by_its_config(autumn, owner, client_of):
    from rubricweb.grades.configs import config_for

    names = ("QuestionSelfRatedUnanswerablePromptWithChoices", "NuggetSelfRatedPrompt")
    questions, nuggets = [config_for("hf_seq2seq", "google/flan-t5-large", name) for name in names]
    grade(questions, autumn.items[0], autumn.passages["d1"], 3)
    grade(nuggets, autumn.items[2], autumn.passages["d1"], 3)
    for config in (questions, nuggets):
        response = client_of(owner).get(URL, {"grader": config.pk})
        assert response.context["rater"].name == "google/flan-t5-large"
        assert only_row(response).facts.missing == 16
        assert f"{autumn.grid.partition('?')[0]}?grader={config.pk}&amp;view=grid" in markup(response)
    assert only_row(client_of(owner).get(URL)).facts.missing == 7


def test_runs_without_a_passage_in_the_pool_are_counted(autumn, owner, viewer, client_of):
    address = "/collections/autumn/grades/jobs/missing/"

    def missing(person):
        return markup(client_of(person).get(address, headers={"HX-Request": "true"}))

    assert "in the pool" not in missing(owner)
    late = RunFactory(collection=autumn.collection, run_tag="late")
    RankingFactory(run=late, topic=autumn.topic, doc_ids=["d7", "d1"])
    Collection.objects.update(stamp=new_stamp())
    words = "1 run has no passage in the pool, so none of it is graded."
    page = missing(owner)
    assert words in page
    assert 'href="/collections/autumn/grades/pool/"' in page
    page = missing(viewer)
    assert words in page
    assert 'href="/collections/autumn/grades/pool/"' not in page


def test_topics_are_sorted_and_found(autumn, owner, client_of):
    TopicFactory(collection=autumn.collection, query_id="t2", text="how does bread rise", position=9_999)
    client = client_of(owner)

    def listed(**address):
        return [row.query_id for row in client.get(URL, address).context["page"]]

    assert listed() == ["t1", "t2"]
    assert listed(sort="query") == ["t2", "t1"]
    assert listed(sort="-pool") == ["t1", "t2"]
    assert listed(sort="pool") == ["t2", "t1"]
    assert listed(q="BREAD") == ["t2"]
    assert listed(q="t1") == ["t1"]
    assert listed(sort="; drop") == ["t1", "t2"]
    assert "Show all 2" in markup(client.get(URL, {"q": "no such words"}))


def test_subtopics_are_counted_where_there_are_any(autumn, owner, client_of):
    assert "Subtopics" not in markup(client_of(owner).get(URL))
    for position in range(3):
        Subtopic.objects.create(topic=autumn.topic, facet_id=f"f{position}", position=position)
    response = client_of(owner).get(URL)
    assert only_row(response).subtopics == 3
    assert "Subtopics" in markup(response)


def test_a_collection_without_a_bank_offers_the_next_step(collection, owner, client_of):
    html = markup(client_of(owner).get(URL))
    assert "No rubric yet" in html
    assert "This collection has no topics." in html
    assert 'class="button button-primary" href="/collections/autumn/imports/"' in html


def test_a_bank_without_topics_says_so(collection, owner, client_of):
    BankFactory(collection=collection)
    assert "No topics yet" in markup(client_of(owner).get(URL))


def test_access(autumn, viewer, outsider, client_of, client):
    assert client_of(viewer).get(URL).status_code == 200
    assert client_of(outsider).get(URL).status_code == 404
    assert client_of(viewer).get("/collections/nothing/").status_code == 404
    assert client_of(viewer).post(URL).status_code == 405
    assert client.get(URL).status_code == 302


def test_htmx_gets_the_part(autumn, owner, client_of):
    html = markup(client_of(owner).get(URL, headers={"HX-Request": "true"}))
    assert html.strip().startswith('<section id="topics"')
    assert "<html" not in html


@pytest.fixture
def large(collection: Collection, owner: User) -> Collection:
    """700 topics, graded throughout."""
    topics = Topic.objects.bulk_create(
        Topic(collection=collection, query_id=f"t{n}", text=f"how does bread number {n} rise", position=n)
        for n in range(TOPICS)
    )
    passages = Passage.objects.bulk_create(
        Passage(collection=collection, doc_id=f"d{n}", text="Yeast makes bread rise.")
        for n in range(TOPICS * PASSAGES)
    )
    pool_of = {topic.pk: passages[n * PASSAGES : (n + 1) * PASSAGES] for n, topic in enumerate(topics)}
    Pooled.objects.bulk_create(
        Pooled(topic=topic, passage=passage, position=place)
        for topic in topics
        for place, passage in enumerate(pool_of[topic.pk])
    )
    Judgment.objects.bulk_create(
        Judgment(topic=topic, doc_id=pool_of[topic.pk][0].doc_id, relevance=2) for topic in topics
    )
    bank = Bank.objects.create(collection=collection, name="main")
    revisions = ItemRevision.objects.bulk_create(
        ItemRevision(topic=topic, uid=item_id(topic.query_id, text), text=text)
        for topic in topics
        for text in (f"What is step {n} of baking?" for n in range(ITEMS))
    )
    Item.objects.bulk_create(
        Item(bank=bank, topic=revision.topic, kind="question", revision=revision, position=n)
        for n, revision in enumerate(revisions)
    )
    config = lexical_config()
    save_grades(
        config,
        [
            Grade(
                config=config, topic_id=r.topic_id, revision=r, passage=passage, rating=1, outcome="numeric"
            )
            for r in revisions
            for passage in pool_of[r.topic_id]
        ],
    )
    return collection


def test_seven_hundred_topics(large, owner, client_of):
    client = client_of(owner)
    with CaptureQueriesContext(connection) as cold:
        response = client.get(URL)
    assert len(cold) <= 31
    assert len(response.content) < 300_000
    assert len(response.context["page"].object_list) == 200
    assert response.context["totals"].topics == TOPICS
    assert response.context["totals"].cells == TOPICS * PASSAGES * ITEMS
    assert response.context["totals"].missing == 0
    with CaptureQueriesContext(connection) as warm:
        last = client.get(URL, {"page": 4, "sort": "-topic"})
    assert len(warm) <= 22
    assert [row.query_id for row in last.context["page"]][-1] == "t0"


def test_a_collection_without_a_bank_gets_one_to_fill(collection, owner, developer, viewer, client_of):
    address = "/collections/autumn/editor/begin/"
    assert client_of(viewer).post(address).status_code == 403
    client = client_of(owner)
    assert "Write for" not in client.get(collection.get_absolute_url()).content.decode()
    client.post(address)
    assert not collection.banks.exists()

    topic = TopicFactory(collection=collection)
    Collection.objects.filter(pk=collection.pk).update(stamp=collection.stamp + 1)
    assert "Write for" in client.get(collection.get_absolute_url()).content.decode()
    answer = client_of(developer).post(address)
    bank = collection.banks.get()
    assert answer.url == f"/review/banks/{bank.pk}/topics/{topic.pk}/"
    assert client.get(answer.url).status_code == 200
    client.post(address)
    assert collection.banks.count() == 1
