"""Runs and banks are removed if nothing stands on them; the page says what does."""

from __future__ import annotations

import re

import pytest

from rubricweb.banks.actions import add_item
from rubricweb.banks.models import Bank, ItemRevision
from rubricweb.banks.versions import name_version
from rubricweb.corpus.models import Passage, Ranking, Run
from rubricweb.leaderboards.actions import publish_board
from rubricweb.leaderboards.models import PublicBoard
from tests.factories import (
    BankFactory,
    ItemFactory,
    PooledFactory,
    TopicFactory,
    grade,
    lexical_config,
    ranked,
    responded,
)
from tests.rubricweb.markup import markup


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


@pytest.fixture
def topic(collection):
    return TopicFactory(collection=collection, query_id="t1")


def page(run: Run) -> str:
    return f"/collections/autumn/archives/runs/{run.pk}/remove/"


def withdrawn(run: Run) -> Run:
    run.state = Run.State.WITHDRAWN
    run.save()
    return run


def test_a_withdrawn_run_goes_with_its_rankings(topic, owner, client_of):
    first, second = ranked(topic, {"alpha": ["d1"], "beta": ["d1"]})
    client, stamp = client_of(owner), topic.collection.stamp
    assert "withdraw it first" in words(client.post(page(first), follow=True))
    withdrawn(first)
    listed = client.get("/collections/autumn/runs/", {"remove": first.pk})
    assert page(first) in markup(listed)
    assert "1 ranking and 0 generated answers go with it" in words(listed)
    assert page(second) not in markup(client.get("/collections/autumn/runs/", {"remove": second.pk}))
    assert client.post(page(first))["Location"] == "/collections/autumn/runs/"
    assert list(Run.objects.all()) == [second]
    assert Ranking.objects.count() == 1
    topic.collection.refresh_from_db()
    assert topic.collection.stamp != stamp


def test_a_run_stays_while_grades_of_its_answers_passages_stand(topic, owner, client_of):
    run = withdrawn(responded(topic, "generated", "Leaves turn red.").run)
    item = ItemFactory(bank=BankFactory(collection=topic.collection), topic=topic)
    grade(lexical_config(), item, Passage.objects.get(), 3)
    client = client_of(owner)
    assert "1 grade" in words(client.post(page(run), follow=True))
    assert Run.objects.exists()
    ranked(topic, {"other": Ranking.objects.get().doc_ids})  # which brings the passage too
    client.post(page(run))
    assert Run.objects.get().run_tag == "other"


@pytest.fixture
def bank(topic) -> Bank:
    return BankFactory(collection=topic.collection, name="second")


def test_a_bank_without_grades_goes_with_its_wordings(bank, topic, owner, client_of):
    first = BankFactory(collection=topic.collection, name="first")
    for one in (first, bank):
        add_item(one, topic, kind="question", text="Which pigment?", by=owner)
    add_item(bank, topic, kind="question", text="Which trees?", by=owner)
    name_version(bank, name="v1", by=owner)
    client, path = client_of(owner), f"/collections/autumn/archives/banks/{bank.pk}/remove/"
    page = words(client.get(path))
    assert "2 questions and nuggets" in page
    assert "1 version of a rubric" in page
    assert client.post(path)["Location"] == "/collections/autumn/"
    assert list(Bank.objects.all()) == [first]
    assert [wording.text for wording in ItemRevision.objects.all()] == ["Which pigment?"]


def test_a_bank_with_grades_or_a_public_board_stays(bank, topic, owner, client_of):
    item = ItemFactory(bank=bank, topic=topic)
    publish_board(bank.collection, title="Board", query=f"bank={bank.pk}", is_anonymous=False, by=owner)
    client, path = client_of(owner), f"/collections/autumn/archives/banks/{bank.pk}/remove/"
    assert "1 public board" in words(client.get(path))
    PublicBoard.objects.all().delete()
    grade(lexical_config(), item, PooledFactory(topic=topic).passage, 3)
    assert "1 grade" in words(client.get(path))
    client.post(path)
    assert Bank.objects.exists()


def test_only_organizers_remove(bank, topic, developer, outsider, client_of):
    (run,) = ranked(topic, {"alpha": ["d1"]})
    for path in (page(run), f"/collections/autumn/archives/banks/{bank.pk}/remove/"):
        assert [client_of(who).post(path).status_code for who in (developer, outsider)] == [403, 404]
