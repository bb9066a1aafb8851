"""Organizers call for submissions, and edit the rules as a form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.forms import BooleanField
from django.utils import timezone

from grading.submissions import rules_as_json, rules_of, tracks
from rubricweb.core.models import AuditEntry
from rubricweb.submissions.forms import LOCAL
from rubricweb.submissions.models import Call
from rubricweb.submissions.rules_form import rules_form
from tests.factories import CallFactory
from tests.rubricweb.submissions.conftest import answers, groups

pytestmark = pytest.mark.django_db

NEW = "/collections/autumn/calls/new/"
SENT = {
    "task": "generation",
    "track": "rag24",
    "takes": "responses",
    "opens_at": "2026-06-01T00:00:00",
    "deadline": "2026-08-01T23:59:59",
    "time_zone": "America/New_York",
    "runs_per_team": "5",
    "passages_of": "sentence",
    "text": "Data: <b>here</b>.",
    "seen": "0",
}


def posted(form) -> dict[str, object]:
    """What a browser sends of a form that nobody touched."""
    values = {name: form[name].value() for name in form.fields}
    return {
        name: "on" if value is True else value
        for name, value in values.items()
        if value is not None and not (value is False and isinstance(form.fields[name], BooleanField))
    }


def test_an_organizer_calls_for_submissions(owner, collection, client_of):
    answer = client_of(owner).post(NEW, SENT)
    call = Call.objects.get()
    assert answer["Location"] == f"/collections/autumn/calls/{call.pk}/rules/"
    assert call.deadline == datetime(2026, 8, 2, 3, 59, 59, tzinfo=UTC), "stored in UTC"
    assert call.opens_at == datetime(2026, 6, 1, 4, 0, 0, tzinfo=UTC)
    assert call.rules == rules_as_json(rules_of("rag24"))
    assert AuditEntry.objects.get(verb="call for submissions made").by == owner
    page = client_of(owner).get(f"/collections/autumn/calls/{call.pk}/edit/")
    assert page.context["form"]["deadline"].value() == "2026-08-01T23:59:59"


def test_a_new_call_says_what_it_takes_before_whose_rules_hold(owner, collection, client_of):
    form = client_of(owner).get(NEW).context["form"]
    assert [*form.fields][:3] == ["task", "takes", "track"]
    assert form.fields["track"].choices[0] == ("autojudge", "General (AutoJudge)")


def test_without_an_opening_a_call_is_open_at_once(owner, collection, client_of):
    """Whatever the clocks of its zone show."""
    later = (timezone.now() + timedelta(days=2)).strftime(LOCAL)
    client_of(owner).post(NEW, SENT | {"opens_at": "", "deadline": later, "time_zone": "Etc/GMT+12"})
    assert Call.objects.get().is_open


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"deadline": "2026-05-31T00:00:00"}, "deadline"),
        ({"deadline": "soon"}, "deadline"),
        ({"opens_at": "2026-03-08T02:30:00"}, "opens_at"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"track": "rag99"}, "track"),
        ({"runs_per_team": "0"}, "runs_per_team"),
        ({"task": "taken"}, "task"),
    ],
)
def test_what_does_not_fit_makes_no_call(owner, collection, client_of, wrong, field):
    CallFactory(collection=collection, task="taken")
    answer = client_of(owner).post(NEW, SENT | wrong)
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert Call.objects.count() == 1


def test_a_call_that_nobody_has_seen_is_not_overwritten(owner, call, client_of):
    client, address = client_of(owner), f"/collections/autumn/calls/{call.pk}/edit/"
    assert client.post(address, SENT | {"seen": "1"}).status_code == 302
    refused = client.post(address, SENT | {"seen": "1", "runs_per_team": "9"})
    call.refresh_from_db()
    assert (refused.status_code, call.runs_per_team, call.version) == (409, 5, 2)
    form = refused.context["form"]
    assert (form["runs_per_team"].value(), form["seen"].value()) == (9, 2)
    assert form["deadline"].value() == SENT["deadline"]
    assert AuditEntry.objects.filter(verb="call for submissions changed").count() == 1


@pytest.mark.parametrize("takes", Call.Takes.values)
@pytest.mark.parametrize("track", tracks())
def test_an_untouched_form_keeps_the_rules_of_every_track(collection, track, takes):
    call = CallFactory.build(collection=collection, takes=takes, rules=rules_as_json(rules_of(track)))
    form = rules_form(call, posted(rules_form(call)))
    assert form.is_valid(), form.errors
    kept, before = rules_as_json(form.rules), rules_as_json(rules_of(track))
    if takes == Call.Takes.RUN and before["retrieval"] is None:
        kept["retrieval"] = None
    assert kept == before


def change(client, call: Call, **changed: object):
    sent = posted(rules_form(call)) | {name.replace("__", "-"): value for name, value in changed.items()}
    return client.post(f"/collections/autumn/calls/{call.pk}/rules/", sent)


def test_rules_are_errors_warnings_or_off(owner, send, call, client_of):
    run = answers("m1", "word " * 401)
    assert groups(send(run)) == {"length": ("warning", 2)}
    changed = change(client_of(owner), call, severity__length="error", responses__length__max_count="300")
    assert changed.status_code == 302
    refused = send(run)
    assert (refused.outcome, groups(refused)) == ("refused", {"length": ("error", 2)})
    assert "at most 300" in str(refused.findings)
    call.refresh_from_db()
    assert change(client_of(owner), call, severity__length="off").status_code == 302
    assert groups(send(run)) == {}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"run_id__pattern": "m("}, "unterminated subpattern"),
        ({"run_id__pattern": ""}, "required"),
        ({"responses__dialects": []}, "required"),
        ({"responses__references__max_count": "-1"}, "greater than or equal to 0"),
        ({"severity__length": "fatal"}, "Select a valid choice"),
    ],
)
def test_rules_that_nothing_can_be_checked_by_are_refused(owner, call, client_of, changed, words):
    answer = change(client_of(owner), call, **changed)
    assert answer.status_code == 422
    assert words in str(answer.context["form"].errors)
    call.refresh_from_db()
    assert call.version == 1


def test_rules_that_somebody_changed_meanwhile_are_not_overwritten(owner, call, client_of):
    client = client_of(owner)
    change(client, call, responses__length__max_count="300")
    refused = change(client, call, responses__length__max_count="200")
    call.refresh_from_db()
    assert (refused.status_code, call.parsed_rules.responses.length.max_count) == (409, 300)
    assert refused.context["form"]["responses-length-max_count"].value() == 200


def test_the_rules_of_trec_runs_say_when_an_unknown_document_is_a_warning(call, owner, client_of):
    client, words = client_of(owner), "A document id that the collection does not have is only a warning"
    place = f"/collections/autumn/calls/{call.pk}/rules/"
    assert words not in client.get(place).text
    Call.objects.update(takes=Call.Takes.RUN)
    assert words in client.get(place).text
    Call.objects.update(checks_documents=True)
    assert words not in client.get(place).text
