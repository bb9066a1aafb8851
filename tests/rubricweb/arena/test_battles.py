"""Drawing a battle, voting on it, taking the vote back."""

from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from rubricweb.arena import actions
from rubricweb.arena.answers import CountedVerdict, counted_votes
from rubricweb.arena.battles import NothingToDraw, NothingToTakeBack, NotTwoAnswers, VotedMeanwhile, draw
from rubricweb.arena.models import Arena, Battle
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Run, Topic
from tests.factories import MembershipFactory
from tests.rubricweb.arena.conftest import ballot, voted

pytestmark = pytest.mark.usefixtures("answers")


def vote_next(collection, person, answer="left"):
    battle = actions.next_battle(collection, by=person)
    actions.vote(battle, ballot(answer), by=person, seen=0)
    return battle


def drawing(collection, how, seed=7) -> Arena:
    return Arena.objects.create(collection=collection, drawing=how, seed=seed)


@pytest.mark.parametrize("how", Arena.Drawing)
def test_a_person_gets_each_pair_of_a_topic_once(how, collection, assessor):
    drawing(collection, how)
    seen = set()
    for _ in range(6):
        battle = vote_next(collection, assessor)
        seen.add((battle.topic_id, frozenset((battle.left_id, battle.right_id))))
    assert len(seen) == 6
    with pytest.raises(NothingToDraw):
        actions.next_battle(collection, by=assessor)


@pytest.mark.parametrize("how", Arena.Drawing)
def test_the_same_seed_draws_the_same_battle(how, collection, assessor):
    arena = drawing(collection, how)
    first = draw(arena, assessor, 1)
    assert [draw(arena, assessor, 1) for _ in range(3)] == [first] * 3
    others = set()
    for seed in range(20):
        arena.seed = seed
        others.add(draw(arena, assessor, 1).sides)
    assert len(others) > 3
    lefts = {sides.left < sides.right for sides in others}
    assert lefts == {True, False}, "sides are drawn too"


@pytest.mark.parametrize("how", Arena.Drawing)
def test_a_draw_depends_on_names_and_not_on_primary_keys(how, collection, topics, runs, assessor):
    """What was added later has other keys; under the same names it is drawn the same."""

    def drawn_by_names(seed):
        sides = draw(Arena(collection=collection, drawing=how, seed=seed), assessor, 1).sides
        names = {run.pk: run.run_tag for run in Run.objects.all()}
        return Topic.objects.get(pk=sides.topic).query_id, names[sides.left], names[sides.right]

    before = [drawn_by_names(seed) for seed in range(12)]
    names = [run.run_tag for run in runs]
    for number, run in enumerate(runs):
        Run.objects.filter(pk=run.pk).update(run_tag=f"moving{number}")
    for run, name in zip(reversed(runs), names, strict=True):
        Run.objects.filter(pk=run.pk).update(run_tag=name)
    for old, new in (("t1", "moving"), ("t2", "t1"), ("moving", "t2")):
        Topic.objects.filter(query_id=old).update(query_id=new)
    assert [drawn_by_names(seed) for seed in range(12)] == before


def test_to_sharpen_the_least_certain_pair_comes_on_the_topic_with_fewest_votes(
    collection, topics, runs, owner, assessor
):
    """Alpha lost and won, gamma only lost: who of alpha and beta is better is the least clear."""
    other = MembershipFactory(collection=collection, role="assessor").user
    for person, answer in ((owner, "left"), (other, "right")):
        voted(person, topics[0], runs[0], runs[1], answer)
    for person in (owner, other):
        for topic in topics:
            voted(person, topic, runs[0], runs[2], "left")
            voted(person, topic, runs[1], runs[2], "left")
    drawn = draw(drawing(collection, "sharpen"), assessor, 1)
    assert {drawn.sides.left, drawn.sides.right} == {runs[0].pk, runs[1].pk}
    assert drawn.sides.topic == topics[1].pk


def test_the_fifth_battle_repeats_what_somebody_else_voted_on(collection, topics, runs, owner, assessor):
    voted(owner, topics[1], runs[1], runs[2], "tie")
    for _ in range(4):
        battle = vote_next(collection, assessor)
        assert battle.drawn == "sharpen"
    same = {topics[1].pk, runs[1].pk, runs[2].pk}
    mine = Battle.objects.filter(person=assessor)
    had = any({one.topic_id, one.left_id, one.right_id} == same for one in mine)
    fifth = vote_next(collection, assessor)
    assert had or (fifth.drawn, {fifth.topic_id, fifth.left_id, fifth.right_id}) == ("repeat", same)


def test_a_battle_waits_until_it_is_voted_on_or_skipped(collection, assessor):
    first = actions.next_battle(collection, by=assessor)
    assert actions.next_battle(collection, by=assessor) == first
    actions.skip(first)
    second = actions.next_battle(collection, by=assessor)
    assert second != first
    assert (second.number, second.is_blind) == (2, True)


def test_votes_are_events_and_the_last_one_holds(collection, assessor):
    battle = vote_next(collection, assessor, "left")
    actions.take_back(battle, by=assessor, seen=1, uid=uuid4())
    assert counted_votes(collection).votes == ()
    actions.vote(battle, ballot("right", "both_bad"), by=assessor, seen=2)
    events = battle.votes.values_list("number", "answer", "evidence", "is_withdrawn", "is_blind")
    assert list(events) == [
        (1, "left", "tie", False, True),
        (2, "", "", True, False),
        (3, "right", "both_bad", False, False),
    ]
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == [
        "voted",
        "vote withdrawn",
        "voted",
    ]


def test_a_vote_after_the_names_were_shown_is_not_blind_and_is_left_out(collection, assessor):
    battle = vote_next(collection, assessor)
    actions.take_back(battle, by=assessor, seen=1, uid=uuid4())
    actions.vote(battle, ballot("right"), by=assessor, seen=2)
    counted = counted_votes(collection)
    assert (counted.votes, counted.named) == ((), 1)
    (vote,) = counted_votes(collection, with_named=True).votes
    assert vote.outcome == -1


def test_a_request_that_is_sent_twice_adds_one_event(collection, assessor):
    battle, said = actions.next_battle(collection, by=assessor), ballot("left")
    first = actions.vote(battle, said, by=assessor, seen=0)
    assert actions.vote(battle, said, by=assessor, seen=0) == first
    uid = uuid4()
    back = actions.take_back(battle, by=assessor, seen=1, uid=uid)
    assert actions.take_back(battle, by=assessor, seen=1, uid=uid) == back
    assert battle.votes.count() == 2


def test_another_window_is_told(collection, assessor):
    battle = vote_next(collection, assessor)
    with pytest.raises(VotedMeanwhile):
        actions.vote(battle, ballot("right"), by=assessor, seen=0)
    actions.take_back(battle, by=assessor, seen=1, uid=uuid4())
    with pytest.raises(NothingToTakeBack):
        actions.take_back(battle, by=assessor, seen=2, uid=uuid4())


def test_what_is_chosen_by_name_is_never_blind(collection, topics, runs, assessor):
    battle = actions.choose_battle(topics[0], runs[0], runs[1], by=assessor)
    assert (battle.drawn, battle.is_blind) == ("chosen", False)
    vote = actions.vote(battle, ballot("left"), by=assessor, seen=0)
    assert not vote.is_blind


def test_looking_by_name_at_a_blind_battle_ends_its_blindness(collection, assessor):
    blind = actions.next_battle(collection, by=assessor)
    opened = actions.choose_battle(blind.topic, blind.right, blind.left, by=assessor)
    assert opened == blind
    assert not actions.vote(blind, ballot("left"), by=assessor, seen=0).is_blind


def test_two_answers_are_needed(collection, topics, runs, assessor):
    runs[1].responses.filter(topic=topics[0]).delete()
    collection.stamp += 1
    collection.save()
    for left, right in ((runs[0], runs[0]), (runs[0], runs[1])):
        with pytest.raises(NotTwoAnswers):
            actions.choose_battle(topics[0], left, right, by=assessor)


def test_a_withdrawn_run_is_neither_drawn_nor_counted(collection, topics, runs, owner, assessor):
    voted(owner, topics[0], runs[0], runs[1], "left")
    withdraw_run(runs[0], by=None)
    assert counted_votes(collection).votes == ()
    for _ in topics:
        battle = vote_next(collection, assessor)
        assert runs[0].pk not in (battle.left_id, battle.right_id)
    with pytest.raises(NothingToDraw):
        actions.next_battle(collection, by=assessor)


def test_votes_on_an_answer_that_was_replaced_do_not_count(collection, topics, runs, owner):
    voted(owner, topics[0], runs[0], runs[1], "left")
    response = runs[0].responses.get(topic=topics[0])
    response.sentences = [{"text": "Another answer.", "citations": None}]
    response.save()
    collection.stamp += 1  # as an import does
    collection.save()
    counted = counted_votes(collection)
    assert (counted.votes, counted.outdated) == ((), 1)


def test_answers_that_are_word_for_word_the_same_do_not_meet(collection, topics, runs, assessor):
    for topic in topics:
        said = runs[0].responses.get(topic=topic).sentences
        runs[1].responses.filter(topic=topic).update(sentences=said)
    collection.stamp += 1
    collection.save()
    pairs = {
        frozenset((one.left_id, one.right_id)) for one in (vote_next(collection, assessor) for _ in range(4))
    }
    assert frozenset((runs[0].pk, runs[1].pk)) not in pairs


def test_verdicts_on_evidence_are_counted_by_themselves(collection, topics, runs, owner):
    voted(owner, topics[0], runs[0], runs[1], "left", "right")
    outcomes = [counted_votes(collection, verdict).votes[0].outcome for verdict in CountedVerdict]
    assert outcomes == [1, -1]


def test_the_database_keeps_what_must_hold(topics, runs, owner):
    battle = voted(owner, topics[0], runs[0], runs[1], "left")
    wrong = [
        lambda: voted(owner, topics[0], runs[1], runs[0], "left"),
        lambda: battle.votes.create(number=1, answer="left", is_blind=True, uid=uuid4()),
        lambda: battle.votes.create(number=2, answer="", is_blind=True, uid=uuid4()),
    ]
    for make in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            make()
