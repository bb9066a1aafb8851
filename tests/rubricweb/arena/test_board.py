"""What the vote board computes of votes, and what it holds a rubric against."""

from __future__ import annotations

from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest
from django.urls import reverse

from rubricweb.arena import actions
from rubricweb.arena.answers import CountedVerdict, CountedVote, counted_votes
from rubricweb.arena.board import vote_board, voter_agreement
from rubricweb.arena.rubric import coverages, rubric_and_votes
from rubricweb.core.models import new_stamp
from rubricweb.core.reader import Reader, reading_as
from rubricweb.corpus.models import Collection, Passage
from rubricweb.grades.raters import raters
from tests.factories import MembershipFactory, responded
from tests.rubricweb.arena.conftest import voted
from tests.rubricweb.worlds import blind_campaign


@pytest.fixture
def voters(collection):
    return [MembershipFactory(collection=collection, role="assessor").user for _ in range(3)]


def test_wins_ties_losses_and_strengths(collection, topics, runs, voters):
    """Alpha beats beta twice and ties once; gamma loses to beta; sides change nothing."""
    alpha, beta, gamma = runs
    voted(voters[0], topics[0], alpha, beta, "left")
    voted(voters[1], topics[0], beta, alpha, "right")
    voted(voters[2], topics[1], alpha, beta, "both_bad")
    voted(voters[0], topics[1], gamma, beta, "right", "left")
    board = vote_board(collection)
    assert [row.run_tag for row in board.rows] == ["secretalpha", "secretbeta", "secretgamma"]
    assert [(row.wins, row.ties, row.losses) for row in board.rows] == [(2, 1, 0), (1, 1, 2), (0, 0, 1)]
    assert (board.votes, board.voters, board.topics, board.both_bad) == (4, 3, 2, 1)
    first = board.duels[0]
    assert first[0] is None
    assert (first[1].wins, first[1].ties, first[1].losses, first[2].votes) == (2, 1, 0, 0)
    assert np.isclose(sum(row.strength for row in board.rows), 0)
    assert [row.rank for row in board.rows] == ["1\N{EN DASH}3"] * 3
    assert not board.has_intervals
    evidence = vote_board(collection, CountedVerdict.EVIDENCE)
    assert evidence.rows[0].run_tag == "secretgamma"


def test_one_vote_gives_no_interval(collection, topics, runs, voters):
    voted(voters[0], topics[0], runs[0], runs[1], "left")
    board = vote_board(collection)
    assert not board.has_intervals
    assert board.rows[0].rank == "1\N{EN DASH}2"


def vote(topic: int, voter: int, verdict: str, left: int = 1, right: int = 2) -> CountedVote:
    return CountedVote(0, topic, f"t{topic}", left, right, f"person {voter}", verdict)


def test_voters_agree_whichever_side_they_saw():
    votes = [
        one
        for topic in range(12)
        for one in (
            vote(topic, 1, "left" if topic % 2 else "right"),
            vote(topic, 2, "right", 2, 1) if topic % 2 else vote(topic, 2, "left", 2, 1),
        )
    ]
    agreement = voter_agreement(tuple(votes))
    assert (agreement.pairs, agreement.same, agreement.alpha) == (12, 1, 1)
    assert not agreement.is_too_few
    assert not agreement.interval.is_defined, "where all agree an interval would have no width"


def test_a_tie_is_nearer_than_the_other_side():
    """Half agree; the other half differ by a tie or by sides."""
    same = [vote(topic, voter, "left") for topic in range(4) for voter in (1, 2)]
    same += [vote(topic, voter, "right") for topic in range(4, 8) for voter in (1, 2)]

    def differing(verdict):
        return [one for t in range(8, 16) for one in (vote(t, 1, "left"), vote(t, 2, verdict))]

    alphas = [
        voter_agreement(tuple(same + differing(verdict))).alpha for verdict in ("tie", "both_bad", "right")
    ]
    assert alphas[0] == alphas[1] > alphas[2]


def test_coverage_is_by_the_best_passage_of_the_answer(bank, topics, runs):
    rater = raters(bank)[0]
    places = [(run.pk, topic.pk) for run in runs for topic in topics]
    found = coverages(bank, rater, 4, places)
    assert {run for run, _ in found} == {run.pk for run in runs}
    assert {topic for _, topic in found} == {topics[0].pk}, "the bank asks nothing about the other"
    ours = [found[run.pk, topics[0].pk] for run in runs]
    assert [one.ratings.tolist() for one in ours] == [[5, 4], [0, 5], [0, 1]]
    assert [one.score for one in ours] == [1, 0.5, 0]
    assert [len(one.uncovered) for one in ours] == [0, 0, 1]
    assert ours[0].items[1].name == "question 2"


def test_where_the_rubric_and_people_differ(collection, bank, topics, runs, voters):
    """The rubric prefers alpha to gamma, two of three people gamma; of beta all are of one mind."""
    alpha, beta, gamma = runs
    for voter, answer in zip(voters, ("right", "right", "left"), strict=True):
        voted(voter, topics[0], alpha, gamma, answer)
        voted(voter, topics[0], alpha, beta, "left")
        voted(voter, topics[1], alpha, beta, "left")
    found = rubric_and_votes(bank, raters(bank)[0], 4, counted_votes(bank.collection).votes)
    (one,) = found.disagreements
    assert (one.rubric.run_tag, one.voters.run_tag, one.voters.votes, one.rubric.votes) == (
        "secretalpha",
        "secretgamma",
        2,
        1,
    )
    assert [item.text for item in one.rubric.only] == ["What pulls?", "What moves?"]
    assert [Passage.objects.get(pk=pk).text for pk in one.voters.uncovered] == ["Land stands still."]
    assert found.ungraded == 3, "the bank asks nothing about the second topic"
    assert (found.explained.votes, found.explained.decided) == (6, 6)
    assert found.explained.same_side.value == pytest.approx(4 / 6)


def test_a_vote_taken_back_leaves_the_board_and_counts_again(owner, bank, topics, runs, voters, client_of):
    """What is kept is of these votes alone."""
    alpha, _, gamma = runs
    battle = voted(voters[0], topics[0], alpha, gamma, "right")
    client = client_of(owner)

    def shown():
        context = client.get(f"/collections/{bank.collection.slug}/arena/").context
        first, found = context["board"].rows[0], context["rubric_and_votes"]
        return first.run_tag, first.votes, found.explained.same_side.value, found.all_disagreements

    before = shown()
    assert before == ("secretgamma", 1, 0, 1)
    for voter in voters[1:]:
        voted(voter, topics[0], alpha, gamma, "left")
    assert shown() == ("secretalpha", 3, pytest.approx(2 / 3), 0)
    actions.take_back(battle, by=voters[0], seen=1, uid=uuid4())
    assert shown() == ("secretalpha", 2, 1, 0)


def test_a_tie_of_people_contradicts_nobody(bank, topics, runs, voters):
    for voter, answer in zip(voters, ("left", "right", "both_bad"), strict=True):
        voted(voter, topics[0], runs[0], runs[2], answer)
    assert (
        rubric_and_votes(bank, raters(bank)[0], 4, counted_votes(bank.collection).votes).disagreements == ()
    )


def test_grades_that_a_reader_must_not_see_yet_are_missing(owner, assessor, bank, topics, runs):
    blind_campaign(bank, by=owner, assignees=[assessor])
    place = (runs[0].pk, topics[0].pk)
    with reading_as(Reader(SimpleNamespace(user=assessor))):
        hidden = coverages(bank, raters(bank)[0], 4, [place])[place]
    assert (hidden.score, hidden.missing, hidden.uncovered) == (None, 2, ())
    assert coverages(bank, raters(bank)[0], 4, [place])[place].score == 1


def test_after_the_vote_the_voter_sees_what_each_answer_covers(assessor, bank, topics, runs, client_of):
    battle = voted(assessor, topics[0], runs[2], runs[0], "left")
    context = client_of(assessor).get(battle.get_absolute_url()).context
    assert context["rubric"].covered == (0, 2)
    assert [row.item.short_name for row in context["rubric"].differing] == ["Q1", "Q2"]
    assert context["preferences"].differ
    page = client_of(assessor).get(battle.get_absolute_url()).content.decode()
    assert f"/problems/?bank={bank.pk}&amp;problem=item-" in page
    assert f"/problems/?bank={bank.pk}&amp;problem=passage-" in page


def test_at_equal_length_the_board_says_what_length_does(collection, topics, voters, owner, client_of):
    """Long answers win two of three votes, so length explains what plain strengths give to the long run."""
    long, short, other = (
        responded(topics[0], tag, text).run
        for tag, text in (("long", "Long. " * 90), ("short", "Short. " * 30), ("other", "Other. " * 60))
    )
    for person, (left, right) in zip(voters, ((long, short), (long, other), (short, other)), strict=False):
        voted(person, topics[0], left, right, "left" if left == long else "right")
    plain, equal = (vote_board(collection, at_equal_length=one) for one in (False, True))
    assert plain.length is None
    assert equal.length.slope > 0
    spread = [max(row.strength for row in board.rows) - board.rows[-1].strength for board in (plain, equal)]
    assert spread[1] < spread[0]
    page = client_of(owner).get(reverse("arena:board", args=[collection.slug]), {"length": "on"})
    assert "multiplies the odds of winning by" in page.content.decode()
    assert "Without: Length of answers held equal" in " ".join(page.content.decode().split())
    told = client_of(owner).get(reverse("arena:board-file", args=[collection.slug, "json"]), {"length": "on"})
    assert told.json()["length"]["slope"] == pytest.approx(equal.length.slope, abs=1e-5)
    assert "covariate" in told.json()["model"]
    client_of(owner).post(reverse("arena:keep-board", args=[collection.slug]), {"length": "on"})
    assert collection.official_scores.filter(board="votes on answers at equal length").count() == 3


def test_a_page_without_pairs_is_loaded_anew_once_there_are_some(collection, owner, client_of, request):
    """Its toolbar, which stands outside of what is fetched, comes with them."""
    address, client = reverse("arena:board", args=[collection.slug]), client_of(owner)
    live = {"headers": {"HX-Request": "true"}}
    assert 'name="has_no_toolbar"' in client.get(address).text
    assert "HX-Refresh" not in client.get(address, {"has_no_toolbar": "1"}, **live).headers
    request.getfixturevalue("answers")
    Collection.objects.update(stamp=new_stamp())
    assert client.get(address, {"has_no_toolbar": "1"}, **live).headers["HX-Refresh"] == "true"
    assert 'name="has_no_toolbar"' not in client.get(address).text
    assert "HX-Refresh" not in client.get(address, **live).headers
