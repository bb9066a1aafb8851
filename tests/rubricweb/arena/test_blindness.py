"""Before the vote no route of the arena, and nothing it sends, says whose answers these are."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from rubricweb.arena import actions
from rubricweb.arena.models import Arena, Battle
from rubricweb.core import events
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Passage, Run
from rubricweb.corpus.pseudonyms import run_pseudonym
from tests.rubricweb.arena.conftest import TAGS, ballot
from tests.rubricweb.looked_up import looking_up
from tests.rubricweb.routes import readable_routes

VARIED = ("named=on", "verdict=evidence", "format=json", "left=1&right=2")


@pytest.fixture
def battle(collection, bank, answers, assessor) -> Battle:
    return actions.next_battle(collection, by=assessor)


@pytest.fixture
def told(client_of, assessor, collection, battle):
    """`told()`: all that the arena's routes answer to the voter, with headers, by page and by htmx."""

    client: Client = client_of(assessor)

    def answer(address: str, headers: dict[str, str]) -> str:
        response = client.get(address, headers=headers)
        return f"{response.content.decode()}\n{response.headers}\n{response.status_code}"

    def told() -> str:
        known = {
            "slug": collection.slug,
            "battle_id": battle.pk,
            "form": "csv",
            "question_id": 1,
            "job_id": 1,
            "side": "left",
        }
        texts = []
        for route in readable_routes():
            if not route.name.startswith("arena:") or route.name == "arena:by-name":
                continue
            address = route.address(known)
            for headers in ({}, {"HX-Request": "true"}):
                with looking_up() as may_change:
                    texts.append(answer(address, headers))
                texts += [answer(f"{address}?{query}", headers) for query in filter(may_change, VARIED)]
        return "\n".join(texts)

    return told


def signs_of(battle: Battle) -> dict[str, list[str]]:
    """By kind, what would give a run of the battle away."""
    runs = [battle.left, battle.right]
    own = Passage.objects.filter(
        doc_id__in=[
            doc_id for run in runs for ids in run.rankings.values_list("doc_ids", flat=True) for doc_id in ids
        ]
    ).exclude(doc_id="d1")
    return {
        "names": [*TAGS, *(run_pseudonym(battle.collection.name_salt, run.run_tag) for run in runs)],
        "keys of runs": [rf"runs?[/=_-]{run.pk}\b" for run in runs] + [rf'value="{run.pk}"' for run in runs],
        "ids of their passages": [row.doc_id for row in own],
        "digests": [battle.left_digest, battle.right_digest],
        "teams": ["oddteam"],
    }


@pytest.mark.parametrize("shows_tags", [False, True])
@pytest.mark.portable
def test_names_cannot_be_recovered_before_the_vote(shows_tags, collection, battle, told, assessor):
    Run.objects.update(team="oddteam", description="by oddteam")
    collection.shows_run_tags = shows_tags
    collection.save()
    said = told()
    for kind, signs in signs_of(battle).items():
        assert signs, kind
        for sign in signs:
            assert not re.search(sign, said), (kind, sign)
    actions.vote(battle, ballot("left"), by=assessor, seen=0)
    names = TAGS if shows_tags else [run_pseudonym(collection.name_salt, tag) for tag in TAGS]
    said = told()
    assert sum(name in said for name in names) == 2, "the test sees names where they are shown"


def test_the_cited_passages_are_there_without_their_ids(client_of, assessor, battle):
    page = client_of(assessor).get(battle.get_absolute_url()).content.decode()
    assert page.count("A passage of the corpus.") == 2
    assert "d1" not in re.sub(r"<[^>]*>", " ", page)


def test_json_waits_for_the_vote(client_of, assessor, battle):
    client, address = client_of(assessor), battle.get_absolute_url() + "json/"
    assert client.get(address).status_code == 403
    actions.vote(battle, ballot("left"), by=assessor, seen=0)
    document = client.get(address).json()
    assert document["left"]["run_id"] != document["right"]["run_id"]
    assert document["events"][0]["answer"] == "left"


def test_events_and_the_audit_trail_name_nobody(
    monkeypatch, client_of, assessor, battle, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(events, "publish", lambda channel, name: sent.append((channel, name)))
    assert not AuditEntry.objects.exists(), "drawing leaves no trace"
    with django_capture_on_commit_callbacks(execute=True):
        actions.vote(battle, ballot("left"), by=assessor, seen=0)
    assert sent == [(battle.collection.channel, "votes")]
    assert AuditEntry.objects.get().detail == f"topic {battle.topic.query_id}"


def test_the_side_says_nothing_of_the_order_of_runs(collection, answers, assessor):
    Arena.objects.create(collection=collection, seed=7)
    lefts = []
    for _ in range(6):
        one = actions.next_battle(collection, by=assessor)
        lefts.append(one.left_id < one.right_id)
        actions.skip(one)
    assert set(lefts) == {True, False}


def test_nobody_else_opens_the_battle(client_of, battle, owner, developer, viewer, outsider):
    address = battle.get_absolute_url()
    asked = [client_of(person).get(address).status_code for person in (owner, developer, viewer, outsider)]
    assert asked == [404, 404, 403, 404]
