"""What participants see of scores: their own where organizers show them, others' once they are published."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from django.utils import timezone

from rubricweb.accounts.roles import Role
from rubricweb.core.reader import everything
from rubricweb.core.tags import score
from rubricweb.corpus.actions import withdraw_run
from rubricweb.corpus.models import Run
from rubricweb.home.results import own_scores
from rubricweb.leaderboards.actions import close_board, publish_board
from rubricweb.leaderboards.board import selectors
from rubricweb.leaderboards.forms import BoardForm
from rubricweb.submissions.models import Call
from tests.factories import CallFactory, MembershipFactory, RankingFactory, UserFactory
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = pytest.mark.django_db
PAGE = "/collections/autumn/results/"
OTHERS = ("oddlynamed", "strangerun", "rivalteam")
"""Tags and the team of the other runs."""


@pytest.fixture
def known(collection, owner, participant) -> dict[str, object]:
    """A graded collection with a run of the participant's team and two of another, all accepted."""
    collection.public_counts_blind = True  # so that the scores of the team and of the others differ
    collection.save()
    second = MembershipFactory(user=UserFactory(username="second"), collection=collection, role="assessor")
    bank = world(collection, owner, second.user)
    first = collection.topics.first()
    doc_ids = [pooled.passage.doc_id for pooled in first.pool.all()]
    RankingFactory(run=collection.runs.get(run_tag="alpha"), topic=first, doc_ids=doc_ids)
    call = CallFactory(collection=collection, task="ours")
    sent = {"name": "run.jsonl", "received_at": timezone.now(), "state": "done", "outcome": "taken"}
    for run_tag, team, name in (
        ("alpha", "maple", "alpha"),
        ("beta", "rivalteam", "oddlynamed"),
        ("gamma", "rivalteam", "strangerun"),
    ):
        run = collection.runs.get(run_tag=run_tag)
        run.run_tag, run.team = name, team
        run.save()
        call.submissions.create(run=run, run_tag=name, team=team, **sent)
    values = parameters(bank, owner, blind_campaign(bank, by=owner, assignees=[owner]))
    theirs = call.submissions.get(run_tag="oddlynamed")
    return values | {"call_id": call.pk, "submission_id": theirs.pk, "run_id": theirs.run_id}


def own_part(client) -> str:
    return markup(client.get(PAGE)).partition('id="own"')[2].partition("</main>")[0]


def test_scores_are_shown_only_where_the_organizer_says_so(known, collection, participant, client_of):
    client = client_of(participant)
    assert "have not released scores yet" in own_part(client)
    assert own_scores(collection, "maple") is None
    Call.objects.update(shows_scores=True)
    own = own_scores(collection, "maple")
    assert [run.run_tag for run in own.runs] == ["alpha"]
    assert f">{score(own.runs[0].row.score)}</td>" in own_part(client)
    own_runs = collection.runs.filter(team="maple")
    own_runs.update(state=Run.State.SUBMITTED)
    assert own_scores(collection, "maple") is None, "it does not count yet"


def test_other_runs_change_nothing_of_what_a_team_reads(known, collection, participant, client_of):
    """Neither score, interval, axis, order of topics nor any count depends on them."""
    Call.objects.update(shows_scores=True)
    client = client_of(participant)
    before = own_part(client)
    assert "alpha" in before
    for run in collection.runs.exclude(team="maple"):
        withdraw_run(run, by=None)
    assert own_part(client) == before


def test_no_page_tells_a_participant_of_another_teams_runs(known, collection, participant, client_of):
    """Neither name, team, score nor number: on every route, with and without scores of their own."""
    for run_tag in ("alpha", "oddlynamed"):
        assert collection.runs.get(run_tag=run_tag).is_accepted
    with everything():
        form = BoardForm(QueryDict(), collection=collection)
        assert form.is_valid()
        board = selectors.board(form.spec)
    own = next(row for row in board.rows if row.run_tag == "alpha")
    scores = {score(row.score) for row in board.rows} - {score(own.score)}
    assert scores
    ranks = {f"of {len(board.rows)} runs", f"{len(board.rows)} runs"}
    client = client_of(participant)
    for shows_scores in (False, True):
        Call.objects.update(shows_scores=shows_scores)
        opened = set()
        for route in readable_routes():
            if route.name == "leaderboards:public" or route.name.startswith("leaderboards:public-"):
                continue  # for everybody who has the link
            for query in ({}, {"call": known["call_id"]}):
                answer = client.get(route.address(known), query)
                text = b"".join(answer.streaming_content) if answer.streaming else answer.content
                text = text.decode(errors="replace")
                if answer.status_code == 200:
                    opened.add(route.name)
                found = [clue for clue in (*OTHERS, *scores, *ranks) if clue in text]
                assert found == [], (route.name, found)
        assert {"submissions:submit", "home:results", "exports:topics-file"} <= opened


def test_published_boards_are_listed_until_they_are_closed(collection, known, owner, participant, client_of):
    collection.public_boards.all().delete()
    client = client_of(participant)
    assert "have not published a leaderboard yet" in markup(client.get(PAGE))
    board = publish_board(collection, title="Final results", query="", is_anonymous=False, by=owner)
    page = markup(client.get(PAGE))
    assert ("Final results" in page, board.get_absolute_url() in page) == (True, True)
    assert "oddlynamed" in client.get(board.get_absolute_url()).text
    assert "oddlynamed" not in page
    close_board(board, by=owner)
    assert board.get_absolute_url() not in markup(client.get(PAGE))


def test_uncalibrated_scores_wait_where_the_collection_asks_for_calibration(known, collection):
    Call.objects.update(shows_scores=True)
    assert own_scores(collection, "maple") is not None
    collection.requires_calibration = True
    collection.save()
    assert own_scores(collection, "maple") is None


def test_results_are_for_participants(known, collection, owner, viewer, outsider, client_of):
    assert client_of(owner).get(PAGE)["Location"] == "/collections/autumn/leaderboards/"
    assert client_of(viewer).get(PAGE)["Location"] == "/collections/autumn/leaderboards/"
    assert client_of(outsider).get(PAGE).status_code == 404
    other = MembershipFactory(collection=collection, role=Role.PARTICIPANT, team="elm").user
    Call.objects.update(shows_scores=True)
    assert "No scores yet" in own_part(client_of(other))
