"""Why people voted so: said after the vote, exported, and beside where the rubric disagrees."""

from __future__ import annotations

import csv
import io
from uuid import uuid4

import pytest
from django.urls import reverse

from rubricweb.arena import actions
from rubricweb.arena.actions import VoteReason
from rubricweb.arena.answers import counted_votes
from rubricweb.arena.battles import NothingVoted
from rubricweb.arena.models import Battle, Reason
from rubricweb.arena.rubric import rubric_and_votes
from rubricweb.grades.raters import raters
from tests.rubricweb.arena.conftest import voted

Tag = Reason.Tag


def said(*tags, text="", uid=None) -> VoteReason:
    return VoteReason(frozenset(tags), text, uid or uuid4())


@pytest.fixture
def battle(topics, runs, assessor) -> Battle:
    """The rubric prefers alpha, the assessor gamma."""
    return voted(assessor, topics[0], runs[0], runs[2], "right")


def address(name, battle, **known):
    return reverse(f"arena:{name}", args=[battle.collection.slug, *known.values()])


def test_a_reason_is_given_after_the_vote_which_stays_as_it_is(assessor, battle, client_of):
    client = client_of(assessor)
    sent = {"uid": uuid4(), "tags": ["concise", "correct"], "text": "It answers at once."}
    for _ in range(2):
        client.post(address("reason", battle, pk=battle.pk), sent)
    [reason] = Reason.objects.all()
    assert str(reason) == "correct, concise, It answers at once."
    assert str(reason) in client.get(battle.get_absolute_url()).content.decode()
    [vote] = counted_votes(battle.collection).votes
    assert (vote.verdict, battle.votes.get().is_blind) == ("right", True)
    client.post(address("reason", battle, pk=battle.pk), sent | {"uid": uuid4(), "text": ""})
    held = client.get(address("battle-json", battle, pk=battle.pk)).json()["events"][0]["reasons"]
    assert [one["text"] for one in held] == ["It answers at once.", ""]


def test_nothing_and_unknown_words_are_no_reason(assessor, battle, client_of):
    for sent in ({"uid": uuid4()}, {"uid": uuid4(), "tags": ["nice"]}, {"uid": uuid4(), "text": "x" * 501}):
        assert client_of(assessor).post(address("reason", battle, pk=battle.pk), sent).status_code == 422
    assert not Reason.objects.exists()


def test_only_a_vote_that_holds_has_a_reason(assessor, battle):
    actions.take_back(battle, by=assessor, seen=1, uid=uuid4())
    with pytest.raises(NothingVoted):
        actions.give_reason(battle, said(Tag.STYLE), by=assessor)


def test_where_the_rubric_disagrees_the_reasons_stand_beside(
    bank, battle, assessor, owner, topics, runs, client_of
):
    actions.give_reason(battle, said(Tag.WELL_CITED, text="It cites its source."), by=assessor)
    other = voted(owner, topics[0], runs[2], runs[0], "left")
    actions.give_reason(other, said(Tag.WELL_CITED, Tag.STYLE), by=owner)
    [one] = rubric_and_votes(bank, raters(bank)[0], 4, counted_votes(bank.collection).votes).disagreements
    assert one.tags == [("well cited", 2), ("style", 1)]
    page = client_of(owner).get(reverse("arena:board", args=[bank.collection.slug])).content.decode()
    assert "It cites its source." in page


def test_votes_go_out_with_their_reasons_and_without_the_names_of_people(
    collection, battle, assessor, owner, client_of
):
    actions.give_reason(battle, said(Tag.COMPLETE, Tag.CORRECT, text="All of it."), by=assessor)
    exported = client_of(owner).get(address("votes-file", battle, form="csv")).content.decode()
    [row] = csv.DictReader(io.StringIO(exported))
    assert (row["query_id"], row["left"], row["right"]) == ("t1", "secretalpha", "secretgamma")
    assert (row["voter"], row["answer"], row["tags"]) == ("1", "right", "correct;complete")
    assert (row["reason"], row["left_words"], row["right_words"]) == ("All of it.", "3", "3")
    assert assessor.username not in exported
    [same] = client_of(owner).get(address("votes-file", battle, form="json")).json()
    assert {name: str(value) for name, value in same.items()} == row
    assert client_of(assessor).get(address("votes-file", battle, form="csv")).status_code == 403
    assert client_of(owner).get(address("votes-file", battle, form="xls")).status_code == 404
