"""The pages of the arena: a vote from the first click to the last, roles, files, settings."""

from __future__ import annotations

import csv
import io
from uuid import uuid4

import pytest

from rubricweb.arena import actions, files
from rubricweb.arena.battles import Numbering, count_unseen, unseen
from rubricweb.arena.models import Arena, Battle
from rubricweb.corpus.models import Passage, Response
from rubricweb.corpus.official import official_boards
from tests.factories import (
    CollectionFactory,
    ItemFactory,
    MembershipFactory,
    RankingFactory,
    RunFactory,
    TopicFactory,
    grade,
    lexical_config,
    responded,
)
from tests.rubricweb.arena.conftest import ballot, voted
from tests.rubricweb.markup import markup

VOTE, VOTES = "/collections/autumn/arena/vote/", "/collections/autumn/arena/"
NEXT = f"{VOTE}next/"


def fields(response) -> dict[str, object]:
    form = response.context["form"]
    return {name: form[name].value() for name in ("uid", "seen")}


def test_a_vote_from_drawing_to_taking_it_back(assessor, bank, client_of):
    client = client_of(assessor)
    page = client.post(NEXT, follow=True)
    battle = Battle.objects.get()
    assert "Names are hidden until you have voted" in markup(page)
    at = battle.get_absolute_url()
    page = client.post(f"{at}cast/", fields(page) | {"answer": "left", "evidence": "tie"}, follow=True)
    assert "Voted, pseudonyms shown" in markup(page)
    page = client.post(f"{at}take-back/", fields(page), follow=True)
    assert "a vote is not blind" in markup(page)
    assert [vote.is_withdrawn for vote in battle.votes.all()] == [False, True]


def test_both_verdicts_are_needed(assessor, answers, client_of):
    client = client_of(assessor)
    page = client.post(NEXT, follow=True)
    at = Battle.objects.get().get_absolute_url()
    refused = client.post(f"{at}cast/", fields(page) | {"answer": "left"})
    assert refused.status_code == 422
    assert "Choose one." in markup(refused)
    assert Battle.objects.get().is_blind


def test_evidence_is_not_asked_for_where_nothing_is_cited(assessor, collection, answers, client_of):
    for answer in answers:
        answer.sentences = [{"text": one["text"], "citations": []} for one in answer.sentences]
        answer.save()
    collection.stamp += 1
    collection.save()
    client = client_of(assessor)
    page = client.post(NEXT, follow=True)
    assert "Whose citations hold?" not in markup(page)
    battle = Battle.objects.get()
    client.post(f"{battle.get_absolute_url()}cast/", fields(page) | {"answer": "both_bad"})
    assert (battle.votes.get().answer, battle.votes.get().evidence) == ("both_bad", "")


def test_a_vote_in_another_window_is_told(assessor, answers, client_of):
    client = client_of(assessor)
    page = client.post(NEXT, follow=True)
    battle = Battle.objects.get()
    actions.vote(battle, ballot("right"), by=assessor, seen=0)
    sent = fields(page) | {"answer": "left", "evidence": "tie"}
    page = client.post(f"{battle.get_absolute_url()}cast/", sent, follow=True)
    assert "You have voted in another window" in markup(page)
    assert battle.votes.get().answer == "right"


def test_a_skipped_battle_makes_room_for_another(assessor, answers, client_of):
    client = client_of(assessor)
    client.post(NEXT)
    client.post(f"{Battle.objects.get().get_absolute_url()}skip/", follow=True)
    assert Battle.objects.count() == 2
    assert "skipped" in markup(client.get(VOTE))


def test_without_two_answers_there_is_nothing_to_vote_on(assessor, collection, client_of):
    assert "No two answers to compare" in markup(client_of(assessor).get(VOTE))


def test_standing_counts_what_is_voted_and_left_until_every_pair_is_seen(assessor, topics, runs, client_of):
    """Three runs answer two topics differently: six pairs."""
    client = client_of(assessor)
    for number in range(6):
        page = " ".join(markup(client.post(NEXT, follow=True)).split())
        votes = f"{number} vote{'' if number == 1 else 's'}"
        assert f"You: {votes}, {5 - number} pair{'' if number == 4 else 's'} left" in page
        actions.vote(Battle.objects.first(), ballot("left"), by=assessor, seen=0)
    page = markup(client.get(VOTE))
    assert "No pair of answers is left to vote on." in page
    assert "See the votes" not in page


def test_a_pair_is_drawn_by_a_press_or_a_script_and_shown_again(assessor, answers, client_of):
    """Looking draws nothing; what was drawn waits."""
    client = client_of(assessor)
    page = client.get(VOTE).content.decode()
    assert f'hx-post="{NEXT}"\n  hx-trigger="load, submit"' in page
    assert not Battle.objects.exists()
    part = client.post(NEXT, headers={"HX-Request": "true"}).content.decode()
    assert part.strip().startswith('<div id="battle"')
    assert 'id="ballot"' in part
    assert 'id="ballot"' in client.get(VOTE).content.decode()
    assert Battle.objects.count() == 1


def test_pairs_left_are_as_many_as_can_be_drawn(assessor, owner, topics, answers, runs):
    """Answers that are equal word for word are no pair."""
    answers[4].sentences = answers[3].sentences
    answers[4].save()
    collection = topics[0].collection
    collection.stamp += 1
    collection.save()
    voted(assessor, topics[0], runs[0], runs[1], "left")
    numbering = Numbering.of(collection)
    for person, left in ((assessor, 4), (owner, 5)):
        assert count_unseen(collection, person) == len(unseen(collection, person, numbering)) == left


def test_by_name_without_two_answers_says_what_to_do(assessor, owner, collection, client_of):
    page = client_of(assessor).get(f"{VOTE}by-name/")
    assert "No two answers to compare" in markup(page)
    assert 'name="topic"' not in markup(page)
    assert "Import answers" not in markup(page)
    assert "Import answers" in markup(client_of(owner).get(f"{VOTE}by-name/"))


def test_by_name(assessor, topics, runs, client_of):
    client = client_of(assessor)
    sent = {"topic": topics[0].pk, "left": runs[1].pk, "right": runs[0].pk}
    page = client.post(f"{VOTE}by-name/", sent, follow=True)
    battle = Battle.objects.get()
    assert (battle.left, battle.right, battle.drawn) == (runs[1], runs[0], "chosen")
    assert "a vote is not blind" in markup(page)
    for wrong in ({"right": runs[1].pk}, {"topic": 10**30}, {"left": RunFactory().pk}):
        assert client.post(f"{VOTE}by-name/", sent | wrong).status_code == 422


def test_an_answer_that_was_replaced_is_said(assessor, answers, client_of):
    client = client_of(assessor)
    page = client.post(NEXT, follow=True)
    battle = Battle.objects.get()
    battle.left.responses.update(sentences=[{"text": "Another.", "citations": None}])
    at = battle.get_absolute_url()
    assert "An answer was replaced" in markup(client.get(at))
    assert client.post(f"{at}cast/", fields(page) | {"answer": "left"}).status_code == 404


def test_texts_are_escaped(assessor, collection, answers, client_of):
    for answer in answers:
        answer.sentences = [{"text": f"<b>bold</b> {answer.pk}", "citations": [["d1", None]]}]
        answer.documents = {"d1": "A <script>text</script>."}
        answer.save()
    collection.stamp += 1
    collection.save()
    page = client_of(assessor).post(NEXT, follow=True).content.decode()
    assert page.count("&lt;b&gt;bold&lt;/b&gt;") >= 2
    assert "<script>text" not in page


ROLES = {
    VOTE: (200, 200, 200, 403, 404),
    f"{VOTE}ask/": (200, 200, 200, 403, 404),
    f"{VOTE}by-name/": (200, 200, 200, 403, 404),
    VOTES: (200, 200, 200, 200, 404),
    f"{VOTES}file/csv/": (200, 200, 403, 403, 404),
    f"{VOTES}file/svg/": (404, 404, 403, 403, 404),
    f"{VOTES}file/xls/": (404, 404, 403, 403, 404),
}


def test_roles_and_methods(owner, developer, assessor, viewer, outsider, bank, client_of):
    clients = [client_of(person) for person in (owner, developer, assessor, viewer, outsider)]
    for address, expected in ROLES.items():
        assert tuple(client.get(address).status_code for client in clients) == expected, address
    posts = {NEXT: (302, 302, 302, 403, 404), f"{VOTES}settings/": (302, 403, 403, 403, 404)}
    posts[f"{VOTES}keep/"] = (302, 403, 403, 403, 404)
    for address, expected in posts.items():
        assert tuple(client.post(address).status_code for client in clients) == expected, address
        assert clients[0].get(address).status_code == 405
    assert clients[0].post(VOTES).status_code == 405


def test_a_closed_board_says_so_and_nothing_of_votes(assessor, viewer, topics, runs, bank, client_of):
    voted(assessor, topics[0], runs[0], runs[1], "left")
    for person in (assessor, viewer):
        for headers in ({}, {"HX-Request": "true"}):
            response = client_of(person).get(VOTES, headers=headers)
            page = markup(response)
            assert "The vote board opens when an organizer ends the blind voting." in page
            assert "1 vote" not in page
            assert not any(part in page for part in ("<table", "data-plot"))


def test_without_votes_the_board_says_what_to_do(owner, viewer, collection, client_of):
    assert "No two answers to compare" in client_of(viewer).get(VOTES).text, "and not that voting is open"
    client = client_of(owner)
    page = client.get(VOTES).text
    assert "No two answers to compare" in page
    assert "/collections/autumn/imports/" in page
    judges = f"{VOTES}judges/"
    assert judges not in page
    assert "No two answers to compare" in client.get(judges).text, "nobody is asked about no pair"


def test_without_votes_the_board_has_no_empty_boxes(owner, bank, client_of):
    page = client_of(owner).get(VOTES).text
    assert "Compare two answers</a>" in page
    assert page.count('class="card"') == page.count("How votes are gathered")
    assert "disagree</h2>" not in page


def test_an_organizer_opens_the_board_to_all(owner, viewer, bank, client_of):
    sent = {"drawing": "random", "is_board_open": "on"}
    client_of(owner).post(f"{VOTES}settings/", sent)
    arena = Arena.objects.get()
    assert (arena.drawing, arena.is_board_open) == ("random", True)
    assert "No votes yet" in markup(client_of(viewer).get(VOTES))
    assert "at random: every pair and topic" in markup(client_of(owner).get(VOTE))


def test_names_on_the_board_are_those_that_the_reader_may_see(
    owner, viewer, topics, runs, client_of, collection
):
    voted(owner, topics[0], runs[0], runs[1], "left")
    actions.change_arena(collection, drawing=Arena.Drawing.RANDOM, is_board_open=True, by=owner)
    pages = {person: markup(client_of(person).get(VOTES)) for person in (owner, viewer)}
    assert ["secretalpha" in page for page in pages.values()] == [True, False]


def test_the_board_as_files(owner, topics, runs, client_of):
    voted(owner, topics[0], runs[0], runs[1], "left", "both_bad")
    client = client_of(owner)
    text = client.get(f"{VOTES}file/csv/").content.decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["run"], row["wins"], row["losses"], row["low"]) for row in rows] == [
        ("secretalpha", "1", "0", ""),
        ("secretbeta", "0", "1", ""),
    ]
    document = client.get(f"{VOTES}file/json/?verdict=evidence").json()
    assert (document["verdict"], document["votes"], document["both_bad"]) == ("evidence", 1, 1)
    assert document["pairs"] == [
        {"run": "secretalpha", "against": "secretbeta", "wins": 0, "ties": 1, "losses": 0}
    ]


@pytest.fixture
def more_topics(collection, topics, runs):
    """Six topics with answers of the first two runs."""
    for number in range(3, 7):
        topic = TopicFactory(collection=collection, query_id=f"t{number}", text=f"question {number}")
        for run in runs[:2]:
            RankingFactory(run=run, topic=topic, doc_ids=["d1"])
            told = [{"text": f"{run.run_tag} {number}.", "citations": [["d1", None]]}]
            Response.objects.create(run=run, topic=topic, sentences=told, passages_of="sentence")
        topics.append(topic)
    return topics


def test_board_says_its_level_on_the_page_and_in_files(owner, assessor, more_topics, runs, client_of):
    """Six of six votes for one run: enough for an interval, which is none of zero width."""
    for topic in more_topics:
        voted(owner, topic, runs[0], runs[1], "left")
    client = client_of(owner)
    page = " ".join(markup(client.get(VOTES)).split())
    assert "95&nbsp;%, over topics, for this one voter." in page
    assert "Ranks hold together with 95&nbsp;%." in page
    document = client.get(f"{VOTES}file/json/").json()
    assert (document["intervals"], document["ranks"]) == (files.OF_ONE_VOTER, files.RANKS)
    assert all(run["high"] - run["low"] > 1 for run in document["runs"])
    rows = list(csv.DictReader(io.StringIO(client.get(f"{VOTES}file/csv/").content.decode())))
    assert [(row["level"], row["note"]) for row in rows] == [("0.95", "")] * 2
    voted(assessor, more_topics[0], runs[0], runs[1], "left")
    assert "Intervals: 95&nbsp;%, over topics and voters." in " ".join(markup(client.get(VOTES)).split())


def test_board_of_few_topics_says_so_on_the_page_and_in_files(owner, assessor, topics, runs, client_of):
    """Two of two votes, and three of three, once ranked their run first with an interval of zero width."""
    for person, topic in ((owner, topics[0]), (owner, topics[1]), (assessor, topics[1])):
        voted(person, topic, runs[0], runs[1], "left")
    client = client_of(owner)
    page = markup(client.get(VOTES))
    assert "Too few topics for intervals and ranks." in page
    assert "nan" not in page
    document = client.get(f"{VOTES}file/json/").json()
    assert (document["intervals"], document["ranks"]) == (files.TOO_FEW, files.TOO_FEW)
    assert [(run["rank_best"], run["rank_worst"], run["low"]) for run in document["runs"]] == [
        (1, 2, None)
    ] * 2
    rows = list(csv.DictReader(io.StringIO(client.get(f"{VOTES}file/csv/").content.decode())))
    assert [(row["low"], row["level"], row["note"]) for row in rows] == [("", "", files.TOO_FEW)] * 2


def test_the_board_is_kept_for_meta_evaluation(owner, collection, topics, runs, client_of):
    voted(owner, topics[0], runs[0], runs[1], "left")
    client_of(owner).post(f"{VOTES}keep/", {"verdict": "answer"})
    (board,) = official_boards(collection)
    assert board.name == "votes on answers"
    assert board.scores["secretalpha"] > board.scores["secretbeta"]


def test_a_battle_of_another_collection_is_not_found(assessor, topics, runs, client_of):
    battle = voted(assessor, topics[0], runs[0], runs[1], "left")
    other = MembershipFactory(user=assessor, collection=CollectionFactory(slug="spring"), role="assessor")
    address = f"/collections/{other.collection.slug}/arena/vote/{battle.pk}/"
    assert client_of(assessor).get(address).status_code == 404
    assert client_of(assessor).post(f"{address}cast/", {"answer": "left", "uid": uuid4()}).status_code == 404


def test_htmx_gets_the_board(owner, topics, runs, client_of):
    response = client_of(owner).get(VOTES, headers={"HX-Request": "true"})
    assert markup(response).lstrip().startswith('<div id="board"')


def test_queries_do_not_grow_with_votes(
    owner, assessor, topics, bank, runs, client_of, django_assert_max_num_queries
):
    for person in (owner, assessor):
        for topic in topics:
            for left, right in ((0, 1), (0, 2), (1, 2)):
                voted(person, topic, runs[left], runs[right], "left")
    client = client_of(owner)
    for address, most in ((VOTES, 32), (VOTE, 16)):
        with django_assert_max_num_queries(most):
            client.get(address)


def test_a_release_says_that_it_has_no_votes(owner, topics, bank, runs, client_of):
    voted(owner, topics[0], runs[0], runs[1], "left")
    page = markup(client_of(owner).get("/collections/autumn/releases/?make=release&contents=1"))
    assert "1 vote in the arena; download them from the vote board" in " ".join(page.split())


def test_it_says_why_the_rubric_says_nothing(assessor, topics, runs, bank, client_of):
    client = client_of(assessor)
    battle = voted(assessor, topics[0], runs[0], runs[1], "left")
    assert "Items that each answer covers" in markup(client.get(battle.get_absolute_url()))
    topic = TopicFactory(collection=bank.collection)
    left, right = (responded(topic, tag, f"Said by {tag}.") for tag in ("delta", "epsilon"))
    bank.collection.stamp += 1
    bank.collection.save()
    battle = voted(assessor, topic, left.run, right.run, "left")
    assert "The rubric has no items for this topic." in markup(client.get(battle.get_absolute_url()))
    item = ItemFactory(bank=bank, topic=topic)
    assert "No passage of either answer is graded yet." in markup(client.get(battle.get_absolute_url()))
    grade(lexical_config(), item, Passage.objects.get(text="Said by delta."), 4)
    assert "No passage of the right answer is graded yet." in markup(client.get(battle.get_absolute_url()))
