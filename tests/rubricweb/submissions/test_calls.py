"""Organizers call for submissions, and edit the rules as a form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.forms import BooleanField
from django.utils import timezone

from grading.submissions import rules_as_json, rules_of, track_names
from rubricweb.core.models import AuditEntry
from rubricweb.submissions.calls import LOCAL
from rubricweb.submissions.models import Call
from rubricweb.submissions.rules_form import preset_of, rules_form
from tests.factories import CallFactory
from tests.rubricweb.submissions.conftest import answers, groups

pytestmark = pytest.mark.django_db

DESK = "/collections/autumn/submissions/"
NEW = f"{DESK}calls/new/"
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


def new_call(**changed: object) -> dict[str, object]:
    """A new call by the rules that the page showed, all as they were."""
    terms = SENT | changed
    track, takes = str(terms["track"]), str(terms["takes"])
    rules = posted(rules_form(rules_of(track if track in track_names() else "rag24"), takes))
    return rules | terms | {"rules_shown": f"{track} {takes}"}


def change(client, call: Call, **changed: object):
    """What a browser sends of the call's page once `changed` was typed: `__` stands for a hyphen."""
    page = client.get(f"{DESK}calls/{call.pk}/")
    fields = posted(page.context["form"]) | posted(page.context["rules"])
    fields |= {"rules_shown": page.context["rules_shown"]}
    fields |= {name.replace("__", "-"): value for name, value in changed.items()}
    return client.post(f"{DESK}calls/{call.pk}/", fields)


def test_an_organizer_calls_for_submissions(owner, collection, client_of):
    answer = client_of(owner).post(NEW, new_call())
    call = Call.objects.get()
    assert answer["Location"] == DESK
    assert call.deadline == datetime(2026, 8, 2, 3, 59, 59, tzinfo=UTC), "stored in UTC"
    assert call.opens_at == datetime(2026, 6, 1, 4, 0, 0, tzinfo=UTC)
    assert call.rules == rules_as_json(rules_of("rag24"))
    assert not call.shows_scores
    assert AuditEntry.objects.get(verb="call for submissions made").by == owner
    page = client_of(owner).get(f"{DESK}calls/{call.pk}/")
    assert page.context["form"]["deadline"].value() == "2026-08-01T23:59:59"


def test_a_new_call_says_what_it_takes_before_whose_rules_hold(owner, collection, client_of):
    form = client_of(owner).get(NEW).context["form"]
    assert [*form.fields][:3] == ["task", "takes", "track"]
    assert form.fields["track"].choices[0] == ("autojudge", "General (AutoJudge)")


def test_the_form_opens_on_the_desk(owner, collection, call, client_of):
    """On top of the calls for a new one; in place of the actions of the call that it changes."""
    client = client_of(owner)
    assert 'id="call"' not in client.get(DESK).text
    for address, before in ((NEW, True), (f"{DESK}calls/{call.pk}/", False)):
        page = client.get(address)
        assert [one.name for one in page.templates].count("submissions/_call_form.html") == 1
        form, listed = page.text.index('id="call"'), page.text.index(f'id="call-{call.pk}"')
        assert (form < listed) == before
        assert ("Extend or close" in page.text) == before
        assert f'action="{address}"' in page.text


def test_rules_are_read_before_the_call_opens(owner, collection, client_of):
    """Another track shows its rules, with htmx at once and else with the first attempt to open the call."""
    client = client_of(owner)
    part = client.get(NEW, {"track": "rag24", "takes": "run"}, headers={"HX-Request": "true"})
    assert "Rules of TREC RAG 2024" in part.text
    assert "more ranks for a topic than allowed" in part.text.lower()
    unseen = client.post(NEW, new_call() | {"rules_shown": "autojudge responses"})
    assert (unseen.status_code, Call.objects.count()) == (422, 0)
    assert "Read them, then save" in str(unseen.context["form"].errors)
    assert unseen.context["rules_shown"] == "rag24 responses"
    assert client.post(NEW, new_call(severity__length="off")).status_code == 302


def test_rules_of_a_call_are_those_of_a_track_but_for_what_differs(owner, call, client_of):
    client = client_of(owner)
    page = client.get(f"{DESK}calls/{call.pk}/")
    assert "Rules of TREC RAG 2025, unchanged" in " ".join(page.text.split())
    change(client, call, severity__length="error", responses__length__max_count="300")
    call.refresh_from_db()
    preset = preset_of(call.parsed_rules, call.takes)
    assert (preset.name, preset.differences) == (
        "rag25",
        ("the answer is too long: error, not warning", "the answer is too long, at most: 300, not 400"),
    )
    assert "different in 2" in " ".join(client.get(f"{DESK}calls/{call.pk}/").text.split())


def test_the_rules_of_another_track_take_the_place_of_a_call_s_own(owner, call, client_of):
    client = client_of(owner)
    change(client, call, track="rag24")
    call.refresh_from_db()
    assert call.rules == rules_as_json(rules_of("rag25")), "its page showed those of rag25"
    page = client.get(f"{DESK}calls/{call.pk}/", {"track": "rag24"})
    fields = posted(page.context["form"]) | posted(page.context["rules"])
    client.post(f"{DESK}calls/{call.pk}/", fields | {"rules_shown": page.context["rules_shown"]})
    call.refresh_from_db()
    assert call.rules == rules_as_json(rules_of("rag24"))


def test_without_an_opening_a_call_is_open_at_once(owner, collection, client_of):
    """Whatever the clocks of its zone show."""
    later = (timezone.now() + timedelta(days=2)).strftime(LOCAL)
    client_of(owner).post(NEW, new_call(opens_at="", deadline=later, time_zone="Etc/GMT+12"))
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
    answer = client_of(owner).post(NEW, new_call(**wrong))
    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert Call.objects.count() == 1


def test_a_call_that_nobody_has_seen_is_not_overwritten(owner, call, client_of):
    client = client_of(owner)
    assert change(client, call, runs_per_team="5").status_code == 302
    refused = change(client, call, seen="1", runs_per_team="9", severity__length="off")
    call.refresh_from_db()
    assert (refused.status_code, call.runs_per_team, call.version) == (409, 5, 2)
    form, rules = refused.context["form"], refused.context["rules"]
    assert (form["runs_per_team"].value(), form["seen"].value()) == (9, 2)
    assert rules["severity-length"].value() == "off", "the writer's own rules once more"
    assert AuditEntry.objects.filter(verb="call for submissions changed").count() == 1


@pytest.mark.parametrize("takes", Call.Takes.values)
@pytest.mark.parametrize("track", track_names())
def test_an_untouched_form_keeps_the_rules_of_every_track(track, takes):
    form = rules_form(rules_of(track), takes, posted(rules_form(rules_of(track), takes)))
    assert form.is_valid(), form.errors
    kept, before = rules_as_json(form.rules), rules_as_json(rules_of(track))
    if takes == Call.Takes.RUN and before["retrieval"] is None:
        kept["retrieval"] = None
    assert kept == before


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
    assert words in str(answer.context["rules"].errors)
    call.refresh_from_db()
    assert call.version == 1


def test_the_rules_of_trec_runs_say_when_an_unknown_document_is_a_warning(call, owner, client_of):
    client, hint = client_of(owner), "A document id that the collection does not have is only a warning"
    place = f"{DESK}calls/{call.pk}/"
    assert hint not in client.get(place).text
    Call.objects.update(takes=Call.Takes.RUN)
    assert hint in client.get(place).text
    Call.objects.update(checks_documents=True)
    assert hint not in client.get(place).text


def test_a_call_is_extended_and_closed_where_it_is_listed(call, owner, participant, client_of):
    client, address = client_of(owner), f"{DESK}calls/{call.pk}/deadline/"
    assert client_of(participant).post(address, {"close": "1"}).status_code == 404
    Call.objects.update(time_zone="America/New_York")
    client.post(address, {"deadline": "2031-08-01T23:59:59"})
    call.refresh_from_db()
    assert call.deadline == datetime(2031, 8, 2, 3, 59, 59, tzinfo=UTC)
    client.post(address, {"deadline": "2001-08-01T23:59:59"})
    client.post(address, {"deadline": "soon"})
    call.refresh_from_db()
    assert call.is_open, "neither is a time after the opening"
    client.post(address, {"deadline": "2031-08-01T23:59:59", "close": "1"})
    call.refresh_from_db()
    assert call.phase is Call.Phase.CLOSED
    assert AuditEntry.objects.filter(verb="deadline moved", by=owner).count() == 2
