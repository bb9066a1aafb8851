"""Models vote beside people: both orders, flips, failures, limits, kills; who votes sees nothing of it."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from urllib.parse import quote_plus

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse
from django.utils import timezone

from rubricweb.arena import actions
from rubricweb.arena.actions import JudgeRequest, NothingToJudge
from rubricweb.arena.answers import counted_votes
from rubricweb.arena.battles import least_certain
from rubricweb.arena.board import vote_board
from rubricweb.arena.judges import judge_names, votes_of
from rubricweb.arena.judges.kind import price
from rubricweb.arena.judges.views import beside_people
from rubricweb.arena.models import Arena, JudgedPair, JudgeJob
from rubricweb.jobs import leases, limits, steering
from rubricweb.jobs.limits import Limits
from rubricweb.jobs.models import Job
from rubricweb.jobs.worker import work_on
from tests.rubricweb.arena.conftest import LAND, MOON, SUN, voted

ALL = JudgeJob.Pairs.ALL
NAME = "oracle (openai_compatible, BetterAnswer@1)"
BETTER = (MOON, SUN, LAND, "Salt, way 0.", "Salt, way 1.", "Salt, way 2.")


class Killed(BaseException):
    """The worker's process ends here."""


class Oracle:
    """Prefers what stands first in BETTER; of salt, whatever comes first; of land and the sun, it raves."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        self.killed_at: int | None = None

    def complete(self, messages):
        if len(self.prompts) == self.killed_at:
            self.killed_at = None
            raise Killed
        asked = messages[-1][1].partition("Question:")[2]
        self.prompts.append(asked)
        shown = sorted((asked.index(text), text) for text in BETTER if text in asked)
        first, second = [text for _, text in shown]
        if "Salt" in asked:
            return "[[A]]"
        if {first, second} == {SUN, LAND}:
            return "Hard to say, A and B both have merits."
        return "[[A]]" if BETTER.index(first) < BETTER.index(second) else "[[B]]"


@pytest.fixture
def oracle(monkeypatch, settings):
    settings.PRICES = {"oracle": 1.0}
    model = Oracle()
    monkeypatch.setattr(limits, "text_model", lambda *_, **__: model)
    return model


ASKING = JudgeRequest("openai_compatible", "oracle", ALL)


def started(collection, asking=ASKING, calls=100, dollars=1.0) -> JudgeJob:
    return actions.start_judging(collection, asking, limits=Limits(calls, dollars), by=None)


def worked(job: JudgeJob) -> JudgeJob:
    for pair in job.chunks.filter(state="queued"):
        work_on("pair-vote", pair.pk)
    job.refresh_from_db()
    return job


@pytest.fixture
def judged(collection, answers, oracle) -> JudgeJob:
    return worked(started(collection))


def test_both_orders_are_asked_and_a_verdict_that_flips_is_a_tie(collection, judged, oracle, runs):
    """Of six pairs two are decided, three flip, and one has no readable reply, which is not asked twice."""
    assert (judged.state, judged.calls, len(oracle.prompts)) == (Job.State.DONE, 11, 11)
    votes = votes_of(collection, NAME)
    assert (votes.pairs, votes.flipped, votes.for_first, votes.for_second, votes.failed) == (5, 3, 3, 0, 1)
    assert votes.flip_rate == 0.6
    outcomes = sorted((vote.query_id, vote.outcome_of(min(vote.pair))) for vote in votes.votes)
    assert outcomes == [("t1", 1), ("t1", 1), ("t2", 0), ("t2", 0), ("t2", 0)]
    [failed] = [pair for pair in judged.chunks.all() if pair.failed]
    assert failed.result["verdicts"] == ["", ""]
    board = vote_board(collection, judge=votes)
    assert board.rows[0].run_id == runs[0].pk
    assert vote_board(collection).votes == 0, "people's board has none of it"


def test_only_what_has_no_vote_is_asked_again(collection, judged, oracle, answers):
    with pytest.raises(NothingToJudge):
        started(collection)
    again = worked(started(collection, JudgeRequest("openai_compatible", "oracle", JudgeJob.Pairs.FAILED)))
    assert (again.total, again.calls) == (1, 1)
    answers[0].sentences = [{"text": SUN + " " + MOON, "citations": []}]
    answers[0].save()
    collection.stamp += 1
    collection.save()
    assert price(collection, ASKING).cells == 4, "the two pairs with the answer that was replaced"
    assert votes_of(collection, NAME).counted.outdated == 2


def test_the_default_is_pairs_that_people_voted_on(collection, assessor, topics, runs, oracle):
    asking = JudgeRequest("openai_compatible", "oracle")
    with pytest.raises(NothingToJudge):
        started(collection, asking)
    voted(assessor, topics[0], runs[1], runs[0], "right")
    job = started(collection, asking)
    pair = job.chunks.get()
    assert {pair.left, pair.right} == {runs[0], runs[1]}
    with pytest.raises(NothingToJudge):
        started(collection, asking)


@pytest.mark.parametrize("step", ["first call", "second call", "saving"])
def test_a_worker_that_is_killed_loses_no_vote_and_pays_no_call_twice(
    collection, assessor, topics, runs, oracle, monkeypatch, step
):
    voted(assessor, topics[0], runs[0], runs[1], "left")
    job = started(collection, JudgeRequest("openai_compatible", "oracle"))
    [pair] = job.chunks.all()
    oracle.killed_at = {"first call": 0, "second call": 1}.get(step)
    with monkeypatch.context() as patched:
        if step == "saving":
            patched.setattr(leases, "finish", lambda *_, **__: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            work_on("pair-vote", pair.pk)
    pair.refresh_from_db()
    assert pair.state == JudgedPair.State.LEASED
    JudgedPair.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    leases.reap()
    assert worked(job).state == Job.State.DONE
    assert len(oracle.prompts) == len(set(oracle.prompts)) == 2
    assert [vote.outcome for vote in votes_of(collection, NAME).votes] == [1]


def test_a_job_pauses_at_its_limit_and_what_a_cancelled_one_paid_for_is_kept(collection, answers, oracle):
    job = worked(started(collection, calls=3))
    assert (job.state, len(oracle.prompts)) == (Job.State.PAUSED, 3)
    assert "as often as it may" in job.pause_reason
    steering.steer(job, "cancel", by=None)
    job.refresh_from_db()
    assert job.state == Job.State.CANCELLED
    assert len(votes_of(collection, NAME).votes) == 1
    worked(started(collection))
    assert len(oracle.prompts) == len(set(oracle.prompts)) == 11


def test_people_and_models_side_by_side(collection, assessor, owner, topics, runs, bank, judged):
    """The judge ties salt; it has the moon before the sun and land, as the rubric has."""
    for person, verdict in ((assessor, "left"), (owner, "right")):
        voted(person, topics[0], runs[0], runs[1], verdict)
    voted(owner, topics[0], runs[2], runs[1], "left")
    voted(assessor, topics[1], runs[0], runs[2], "both_bad")
    beside = beside_people(collection)
    [row] = beside.judges
    assert (row.agreement.votes, round(row.agreement.same.value, 3)) == (3, 0.667)
    assert 0 < row.agreement.kappa < 1
    assert not row.agreement.kappa_interval.is_defined, "two topics"
    assert row.tau.n == 3
    assert row.rubric.same_side.value == 1
    assert beside.rubric.same_side.value < 1
    assert [len(run.places) for run in beside.runs] == [2, 2, 2]


def test_an_organizer_asks_from_the_page(collection, answers, owner, developer, client_of, oracle):
    client, page = client_of(owner), reverse("arena:ask-judge", args=[collection.slug])
    sent = {"backend": "openai_compatible", "llm": "oracle", "pairs": "all", "longest_reply": 16}
    preview = client.get(page, sent).content.decode()
    assert "12, two per pair" in preview
    assert not JudgeJob.objects.exists()
    assert client_of(developer).post(page, sent).status_code == 403
    response = client.post(page, sent | {"most_calls": 1, "most_dollars": 1})
    job = worked(JudgeJob.objects.get())
    assert response.status_code == 302
    opened = client.get(response.url).content.decode()
    assert "as often as it may" in opened
    limits = reverse("grades:limits", args=[collection.slug, "votes", job.pk])
    client.post(limits, {"most_calls": 20, "most_dollars": 1})
    assert worked(job).state == Job.State.DONE
    opened = " ".join(client.get(response.url).content.decode().split())
    for text in ("60 %", "1 without a vote", "Hard to say", NAME):
        assert text in opened
    board = client.get(reverse("arena:board", args=[collection.slug]), {"voters": NAME}).content.decode()
    assert "changed with" in board


def test_the_command_prices_first_and_battles_go_out_and_in_as_a_models(
    collection, answers, oracle, tmp_path
):
    out = StringIO()
    arguments = ("--backend", "openai_compatible", "--llm", "oracle", "--pairs", "all")
    call_command("judge_battles", collection.slug, *arguments, "--price-only", stdout=out)
    assert "6 pairs, about 12 calls" in out.getvalue()
    assert not JudgeJob.objects.exists()
    call_command("judge_battles", collection.slug, *arguments, "--most-dollars", "1", stdout=out)
    worked(JudgeJob.objects.get())
    with pytest.raises(CommandError, match="expected people, oracle"):
        call_command("export_battles", collection.slug, "--voters", "nobody")
    file = tmp_path / "battles.csv"
    call_command("export_battles", collection.slug, "--voters", NAME, "--out", str(file))
    assert len(file.read_text().splitlines()) == 6
    JudgeJob.objects.all().delete()
    call_command("import_collection", collection.slug, "--battles", str(file))
    assert judge_names(collection) == [NAME]
    votes = votes_of(collection, NAME)
    assert (len(votes.votes), votes.flip_rate) == (5, None)
    assert counted_votes(collection).votes == (), "an import does not make people of models"


def test_who_votes_cannot_recover_a_models_votes(
    collection, answers, judged, assessor, viewer, owner, client_of
):
    """While the board is closed no page, file, list of jobs or answer of the API has a trace of them."""
    everywhere = [
        reverse(f"arena:{name}", args=[collection.slug, *more])
        for name, more in (
            ("board", ()), ("judges", ()), ("ask-judge", ()), ("vote", ()), ("board-file", ("json",)),
            ("votes-file", ("csv",)), ("votes-file", ("battles",)), ("votes-file", ("jsonl",)),
        )
    ]  # fmt: skip
    everywhere += [
        reverse(f"api:{name}", args=[collection.slug])
        for name in ("arena-board", "arena-votes", "arena-battles")
    ]
    everywhere += [reverse("grades:jobs", args=[collection.slug])]
    battle = actions.next_battle(collection, by=assessor)
    everywhere += [battle.get_absolute_url()]
    for person in (assessor, viewer):
        for query in ({}, {"voters": NAME}, {"voters": "oracle"}, {"job": judged.pk}):
            for address in everywhere:
                body = client_of(person).get(address, query).content.decode()
                for echo in {
                    text for value in query.values() for text in (str(value), quote_plus(str(value)))
                }:
                    body = body.replace(echo, "")
                assert not any(sign in body for sign in ("oracle", "flip", "BetterAnswer")), address
    assert "oracle" in client_of(owner).get(everywhere[1]).content.decode(), "the test sees them if shown"
    Arena.objects.update(is_board_open=True)
    assert NAME in client_of(assessor).get(everywhere[1]).content.decode()
    assert "Hard to say" not in client_of(assessor).get(everywhere[1], {"job": judged.pk}).content.decode()


def test_draws_are_by_peoples_votes_alone(collection, answers, judged, assessor, runs):
    assert least_certain(counted_votes(collection).votes, {run.pk: run.pk for run in runs}) == []
    drawn = [actions.next_battle(collection, by=assessor)]
    for _ in range(4):
        actions.skip(drawn[-1])
        drawn.append(actions.next_battle(collection, by=assessor))
    assert "repeat" not in {battle.drawn for battle in drawn}
