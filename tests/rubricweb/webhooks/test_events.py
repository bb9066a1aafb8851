"""What is told of jobs, leaderboards, campaigns, submissions and releases, and when."""

from __future__ import annotations

import datetime as dt
import json
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from rubricweb.campaigns import actions as campaigns
from rubricweb.campaigns.models import Turn
from rubricweb.campaigns.progress import announce_done
from rubricweb.grades import actions as grading
from rubricweb.grades.models import Grade
from rubricweb.jobs import kinds
from rubricweb.jobs.steering import steer
from rubricweb.jobs.worker import work_on
from rubricweb.leaderboards.kind import AT_MOST_EVERY, queue_changed
from rubricweb.leaderboards.models import BoardWatch
from rubricweb.releases.actions import start_release
from rubricweb.releases.models import Release
from rubricweb.webhooks.models import Endpoint, Message
from tests.factories import CallFactory, gradable, grade, lexical_config, take
from tests.rubricweb.worlds import blind_campaign, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def bank(collection, owner, assessor):
    return world(collection, owner, second=assessor)


def told(event: str) -> list[dict]:
    """The data of each message of this type, the first first."""
    rows = Message.objects.filter(event=event).order_by("pk")
    return [json.loads(message.body)["data"] for message in rows]


@pytest.mark.parametrize("state", ["done", "cancelled"])
def test_a_job_that_ends(collection, endpoint, owner, state):
    gradable(collection, topics=1, passages=2, items=1)
    (job,) = grading.start_grading(collection, by=owner)
    assert told("job.ended") == []
    if state == "cancelled":
        steer(job, "cancel-now", by=owner)
    for chunk in job.chunks.all():
        work_on("chunk", chunk.pk)
    (data,) = told("job.ended")
    assert data["job"] == {"id": job.pk, "kind": "grading", "state": state}
    assert data["page"] == f"/collections/autumn/grades/jobs/?job={job.pk}"
    assert data["api"] == f"/api/v1/collections/autumn/jobs/{job.pk}/"
    kinds.finish_if_done(job.__class__.objects.get(pk=job.pk))
    assert len(told("job.ended")) == 1, "it ends once"


def look_at_boards() -> None:
    queue_changed()
    for watch in BoardWatch.objects.filter(state="queued"):
        work_on("board-watch", watch.pk)


def a_minute_later() -> None:
    BoardWatch.objects.exclude(moved_at=None).update(moved_at=timezone.now() - AT_MOST_EVERY)


def regrade(bank, rating: int) -> None:
    item = bank.items.order_by("pk").last()
    for pooled in item.topic.pool.all():
        Grade.objects.filter(revision=item.revision, passage=pooled.passage).delete()
        grade(lexical_config(), item, pooled.passage, rating)


def test_a_board_that_moves(bank, endpoint):
    look_at_boards()
    assert told("board.moved") == [], "nothing is known of before"
    look_at_boards()
    regrade(bank, 5)
    look_at_boards()
    regrade(bank, 0)
    look_at_boards()
    (data,) = told("board.moved")
    assert data["bank"] == {"id": bank.pk, "name": "main"}
    assert data["runs"]["all"] == 3
    assert 1 <= data["runs"]["rescored"] <= 3
    assert data["api"] == f"/api/v1/collections/autumn/leaderboard/?bank={bank.pk}"
    assert Message.objects.get().body.count("leaves") == 0
    a_minute_later()
    look_at_boards()
    assert len(told("board.moved")) == 2, "what came within the minute is told after it"
    a_minute_later()
    look_at_boards()
    assert len(told("board.moved")) == 2


def test_nobody_looks_at_boards_that_nobody_asks_for(bank, endpoint):
    Endpoint.objects.update(events=["job.ended"])
    assert queue_changed() == 0


def test_a_campaign_without_open_turns_is_done_once(bank, endpoint, owner, assessor):
    campaign = blind_campaign(bank, by=owner)
    for person in (owner, assessor):
        while turns := take(campaign, person, count=50):
            for turn in turns:
                assert announce_done() == 0
                campaigns.rate(turn.cell, rating=1, by=person, seen=1, uid=uuid4())
    assert not campaign.turns.exclude(state=Turn.State.SUBMITTED).exists()
    assert (announce_done(), announce_done()) == (1, 0)
    (data,) = told("campaign.done")
    assert data["campaign"] == {"id": campaign.pk, "name": "Blind", "is_closed": False}
    assert data["api"] == f"/api/v1/collections/autumn/campaigns/{campaign.pk}/"
    assert owner.username not in json.dumps(data)


def test_a_closed_campaign_is_done_but_not_one_of_before_the_webhook(bank, endpoint, owner):
    campaign = blind_campaign(bank, by=owner)
    campaigns.close_campaign(campaign, by=owner)
    Endpoint.objects.update(created_at=timezone.now() + dt.timedelta(hours=1))
    assert announce_done() == 0
    Endpoint.objects.update(created_at=timezone.now() - dt.timedelta(hours=1))
    assert announce_done() == 1
    assert told("campaign.done")[0]["campaign"]["is_closed"] is True


def test_a_submission_that_arrives(collection, endpoint, participant, client_of):
    call = CallFactory(collection=collection)
    file = SimpleUploadedFile("run.jsonl", b"not a run\n")
    answer = client_of(participant).post(
        f"/collections/autumn/submissions/submit/?call={call.pk}", {"file": file}
    )
    assert answer.status_code == 302
    (data,) = told("submission.received")
    sent = call.submissions.get()
    named = {"id": sent.pk, "team": "maple", "task": "generation", "is_late": False}
    assert (data["submission"], data["page"]) == (named, sent.get_absolute_url())


def test_a_release_that_is_made(bank, endpoint, owner):
    release = start_release(Release(collection=bank.collection, title="Autumn 1.0"), by=owner)
    assert told("release.made") == []
    work_on("release", release.pk)
    release.refresh_from_db()
    (data,) = told("release.made")
    assert data["release"]["sha256"] == release.sha256 != ""
    assert data["release"]["title"] == "Autumn 1.0"
