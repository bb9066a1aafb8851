"""Organizers reject runs and late files with a reason that the team reads, and undo it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Run
from rubricweb.submissions.actions import NotTaken, reject, undo_rejection
from rubricweb.submissions.models import Call, Submission
from tests.rubricweb.submissions.conftest import answers
from tests.rubricweb.submissions.test_submit import words

pytestmark = pytest.mark.django_db

WHY = "Trained on the test topics."


def close() -> None:
    Call.objects.update(deadline=timezone.now() - timedelta(seconds=2))


def test_an_organizer_rejects_a_run_and_its_team_reads_why(send, owner, participant, client_of):
    sent = send(answers("m1"))
    answer = client_of(owner).post(f"{sent.get_absolute_url()}reject/", {"reason": WHY})
    assert answer.status_code == 302
    run = Run.objects.get(run_tag="m1")
    assert (run.state, run.rejection, run.responses.count()) == ("rejected", WHY, 2)
    assert AuditEntry.objects.filter(verb="run rejected", by=owner, detail=f"m1: {WHY}").exists()
    page = words(client_of(participant).get(sent.get_absolute_url()))
    assert "Rejected by the organizers." in page
    assert WHY in page
    assert "Submit the corrected file" in page
    assert "Reject the run" not in page
    assert "Undo the rejection" not in page
    assert ">rejected</span>" in client_of(participant).get("/", follow=True).content.decode()
    assert WHY in words(client_of(owner).get("/collections/autumn/runs/"))
    close()
    assert "1 rejected" in words(client_of(participant).get("/"))


def test_a_rejection_needs_a_reason(send, owner, client_of):
    sent = send(answers("m1"))
    answer = client_of(owner).post(f"{sent.get_absolute_url()}reject/", {"reason": "  "})
    assert answer.status_code == 422
    assert "This field is required." in words(answer)
    assert Run.objects.get().state == "submitted"
    with pytest.raises(IntegrityError, match="rejected_runs_have_a_reason"), transaction.atomic():
        Run.objects.update(state="rejected")
    with pytest.raises(IntegrityError, match="rejected_files_have_a_reason"), transaction.atomic():
        Submission.objects.update(outcome="rejected")


def test_a_rejection_is_undone_and_a_rejected_run_can_be_accepted(send, owner, client_of):
    sent = send(answers("m1"))
    reject(sent, reason=WHY, by=owner)
    page = words(client_of(owner).get(sent.get_absolute_url()))
    assert "Accept the run" in page
    assert "Withdraw the run" not in page
    client_of(owner).post(f"{sent.get_absolute_url()}undo-rejection/")
    run = Run.objects.get()
    assert (run.state, run.rejection) == ("submitted", "")
    assert AuditEntry.objects.filter(verb="rejection of run undone", by=owner).exists()
    reject(Submission.objects.get(), reason=WHY, by=owner)
    client_of(owner).post(f"{sent.get_absolute_url()}accept/")
    run.refresh_from_db()
    assert (run.state, run.rejection) == ("accepted", "")


def test_a_team_cannot_withdraw_its_rejected_run(send, owner, participant, client_of):
    sent = send(answers("m1"))
    reject(sent, reason=WHY, by=owner)
    for person in (participant, owner):
        answer = client_of(person).post(f"{sent.get_absolute_url()}withdraw/", follow=True)
        assert "The run is rejected." in words(answer)
    run = Run.objects.get()
    assert (run.state, run.rejection) == ("rejected", WHY)


def test_a_rejected_run_gives_its_place_back_and_a_corrected_file_replaces_it(
    send, call, owner, participant, client_of
):
    first, _ = send(answers("m1")), send(answers("m2"))
    reject(first, reason=WHY, by=owner)
    assert send(answers("m3")).outcome == "taken"
    Call.objects.update(runs_per_team=3)
    again = send(answers("m1", "Another sentence."), replaces=first.pk)
    first.refresh_from_db()
    assert (first.outcome, first.rejection, again.outcome) == ("replaced", WHY, "taken")
    assert (again.run.state, again.run.rejection) == ("submitted", "")
    assert WHY in words(client_of(participant).get(first.get_absolute_url()))
    assert WHY not in words(client_of(participant).get(again.get_absolute_url()))


def test_a_late_file_is_rejected_and_waits_again(send, call, owner, participant, client_of):
    close()
    sent = send(answers("m1"))
    client_of(owner).post(f"{sent.get_absolute_url()}reject/", {"reason": "Two days late."})
    sent.refresh_from_db()
    assert (sent.outcome, sent.rejection, Run.objects.exists()) == ("rejected", "Two days late.", False)
    assert "Late files" not in words(client_of(owner).get("/collections/autumn/submissions/"))
    assert "Two days late." in words(client_of(participant).get(sent.get_absolute_url()))
    assert client_of(owner).post(f"{sent.get_absolute_url()}let-in/").status_code == 403
    undo_rejection(sent, by=owner)
    assert (sent.outcome, sent.rejection) == ("late", "")
    client_of(owner).post(f"{sent.get_absolute_url()}let-in/")
    assert Run.objects.get().state == "submitted"


def test_only_what_waits_or_counts_is_rejected(send, owner, participant, client_of):
    refused, first = send(answers("m 1")), send(answers("m1"))
    send(answers("m1", "Another sentence."))
    for row in (refused, Submission.objects.get(pk=first.pk)):
        with pytest.raises(NotTaken, match="can be rejected"):
            reject(row, reason=WHY, by=owner)
        with pytest.raises(NotTaken, match="is not rejected"):
            undo_rejection(row, by=owner)
    place = f"{first.get_absolute_url()}reject/"
    assert client_of(participant).post(place, {"reason": WHY}).status_code == 404
    assert "can be rejected" in words(client_of(owner).post(place, {"reason": WHY}, follow=True))
    assert Run.objects.get().state == "submitted"
