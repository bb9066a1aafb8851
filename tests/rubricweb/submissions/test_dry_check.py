"""Submit: a check that keeps nothing, topics to download, and which call the page opens with."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from rubricweb.submissions import checking
from rubricweb.submissions.models import Call, Submission
from tests.factories import CallFactory
from tests.rubricweb.import_files import database, response
from tests.rubricweb.imports.conftest import zipped
from tests.rubricweb.submissions.conftest import answers, lines, post

pytestmark = pytest.mark.django_db
TOPICS = "/collections/autumn/submissions/submit/"
FILE = "/collections/autumn/exports/topics/file/"


def check(client, call: Call, content: bytes, **fields: object):
    return post(client, call, content, check="1", **fields)


def test_a_check_shows_every_finding_with_its_line_and_keeps_nothing(call, participant, client_of, data_dir):
    wrong = response("m1", "t1", ("Leaves turn red.", [0, 7]), team_id="maple")
    client = client_of(participant)
    before = database()
    page = check(client, call, lines(wrong, response("m1", "t9", "Red.", team_id="maple")))
    report = page.context["report"]
    assert page.status_code == 200
    assert {"reference_index", "new_topics", "missing_topics"} < {group.category for group in report.groups}
    assert "would be refused" in page.text
    assert "Nothing is submitted yet" in page.text
    assert database() == before
    assert not list((data_dir / "submissions").iterdir())


def test_a_check_says_what_the_submission_then_says(send, call, participant, client_of):
    run = answers("m1", "word " * 401)
    page = check(client_of(participant), call, run)
    assert "would be accepted" in page.text
    report, sent = page.context["report"], send(run)
    assert (report.errors, report.warnings, report.run_tag) == (sent.errors, sent.warnings, sent.run_tag)
    assert [group.category for group in report.groups] == ["length"]


def test_with_htmx_a_check_is_shown_below_the_file_that_stays_chosen(call, participant, client_of):
    client = client_of(participant)
    file = SimpleUploadedFile("run.jsonl", answers("m1"))
    address, htmx = f"{TOPICS}?call={call.pk}", {"HX-Request": "true"}
    part = client.post(address, {"file": file, "check": "1"}, headers=htmx)
    assert part.text.strip().startswith('<div id="checked"')
    assert "would be accepted" in part.text
    lacking = client.post(address, {"check": "1"}, headers=htmx)
    assert (lacking.status_code, "This field is required" in lacking.text) == (422, True)


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zipped({"run.jsonl": content})])
def test_packed_files_are_checked_as_they_unpack(call, participant, client_of, monkeypatch, pack):
    client, packed = client_of(participant), pack(answers("m1"))
    assert check(client, call, packed, name="run.gz").context["report"].errors == 0
    monkeypatch.setattr(checking, "DRY_BYTES", len(packed) - 1)
    refused = check(client, call, packed, name="run.gz")
    assert (refused.status_code, refused.context["report"]) == (422, None)
    assert "This one is checked once you submit it" in refused.text


def test_a_file_that_is_no_zip_or_no_run_is_a_finding(call, participant, client_of):
    for content in (b"PK\x03\x04 broken", b"\x1f\x8b broken", b"", b"words"):
        report = check(client_of(participant), call, content).context["report"]
        assert report.errors >= 1


def test_before_the_call_opens_nothing_is_checked_and_no_topic_is_seen(call, participant, client_of):
    now = timezone.now()
    Call.objects.update(opens_at=now + timedelta(days=1), deadline=now + timedelta(days=2))
    client = client_of(participant)
    page = client.get(TOPICS)
    assert "about t1" not in page.text
    assert 'type="file"' not in page.text
    early = check(client, call, lines(response("m1", "t9", "Red.")))
    assert (early.status_code, early.context["report"]) == (422, None)
    assert "about t1" not in early.text
    assert client.get(FILE).status_code == 404
    assert not Submission.objects.exists()


def test_participants_download_the_topics_once_a_call_has_opened(call, participant, rival, client_of):
    client = client_of(participant)
    assert f'href="{FILE}"' in client.get(TOPICS).text
    assert "about t1" in client.get(FILE).text
    assert "about t2" in client.get(FILE, {"format": "topics-tsv"}).text
    assert client.get(FILE, {"format": "no such"})["Location"] == TOPICS
    Call.objects.update(deadline=timezone.now() - timedelta(minutes=1))
    assert client.get(FILE).status_code == 200, "also after the deadline"
    call.delete()
    assert client.get(FILE).status_code == 404


def test_the_page_opens_with_the_open_call_that_ends_first(call, participant, client_of):
    client, now = client_of(participant), timezone.now()
    assert client.get(TOPICS).context["call"] == call
    over = {"opens_at": now - timedelta(days=9), "deadline": now - timedelta(days=1)}
    closed = CallFactory(collection=call.collection, task="closed", **over)
    assert client.get(TOPICS).context["call"] == call
    page = client.get(TOPICS, {"call": closed.pk})
    assert page.context["call"] == closed
    assert f'href="?call={call.pk}"' in page.text
    call.delete()
    assert client.get(TOPICS).context["call"] == closed
    closed.delete()
    assert "Nothing to submit yet" in client.get(TOPICS).text


def test_organizers_without_a_call_come_to_where_they_open_one(collection, owner, client_of):
    assert client_of(owner).get(TOPICS)["Location"] == "/collections/autumn/submissions/"


def test_organizers_check_for_a_team(call, owner, client_of):
    page = check(client_of(owner), call, answers("o1", team="oak"), team="oak")
    assert "would be accepted" in page.text
    assert check(client_of(owner), call, answers("o1")).status_code == 422, "for which team?"
