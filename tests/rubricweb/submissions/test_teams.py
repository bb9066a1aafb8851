"""What teams see of each other: nothing. What organizers see: everything."""

from __future__ import annotations

import io
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.invitations import Joining, invite
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Run
from rubricweb.submissions.models import Call, Submission
from tests.factories import CallFactory, CollectionFactory, UserFactory
from tests.rubricweb.markup import markup
from tests.rubricweb.routes import routes
from tests.rubricweb.submissions.conftest import answers, post

pytestmark = pytest.mark.django_db

DESK, TEAM = "/collections/autumn/submissions/", "/collections/autumn/submissions/submit/"


def test_a_team_finds_nothing_of_another(send, call, participant, rival, client_of):
    """On every route of the room, by GET and POST."""
    sent = send(answers("secret-reader"), description="Our trick.")
    client = client_of(rival)
    known = {"slug": "autumn", "call_id": call.pk, "submission_id": sent.pk}
    statuses = {}
    for route in [route for route in routes() if route.name.startswith("submissions:")]:
        for ask in (client.get, client.post):
            answer = ask(route.address(known))
            assert "secret-reader" not in markup(answer) if not answer.streaming else False
            assert "maple" not in markup(answer)
            if "submission_id" in route.parameters and answer.status_code != 405:
                statuses[route.name, ask.__name__] = answer.status_code
    assert set(statuses.values()) == {404}
    sent.run.refresh_from_db()
    assert sent.run.state == "submitted"
    stolen = post(client, call, answers("mine", team="oak"), replaces=sent.pk)
    assert stolen.status_code == 404


def test_two_teams_side_by_side(send, participant, rival, client_of):
    send(answers("m1"))
    send(answers("o1", team="oak"), by=rival)
    for person, own, other in ((participant, "m1", "o1"), (rival, "o1", "m1")):
        page = markup(client_of(person).get(TEAM))
        assert own in page
        assert f">{other}<" not in page
        assert "1 of 2 runs submitted" in " ".join(page.split())


def test_a_team_with_all_its_runs_reads_that_it_can_only_replace_one(send, call, participant, client_of):
    hint, client = (
        "You can only replace one of your runs: your team has all 2 allowed.",
        client_of(participant),
    )
    send(answers("m1"))
    assert hint not in " ".join(markup(client.get(TEAM)).split())
    send(answers("m2"))
    assert hint in " ".join(markup(client.get(TEAM)).split())
    Call.objects.update(deadline=timezone.now() - timedelta(minutes=1))
    assert hint in " ".join(markup(client.get(TEAM)).split()), "for late files, too"


def test_people_of_one_team_share_its_submissions(send, collection, outsider, client_of):
    sent = send(answers("m1"))
    collection.memberships.create(user=outsider, role="participant", team="maple")
    assert client_of(outsider).get(sent.get_absolute_url()).status_code == 200


def test_roles_and_methods(send, call, owner, developer, assessor, viewer, participant, outsider, client_of):
    sent = send(answers("m1"))
    place = sent.get_absolute_url()
    cast = (owner, developer, assessor, viewer, participant, outsider)
    expected = {
        TEAM: [200, 403, 403, 403, 200, 404],
        f"{TEAM}?call={call.pk}": [200, 403, 403, 403, 200, 404],
        place: [200, 403, 403, 403, 200, 404],
        f"{place}file/": [200, 403, 403, 403, 200, 404],
        DESK: [200, 403, 403, 403, 404, 404],
        f"{DESK}calls/new/": [200, 403, 403, 403, 404, 404],
        f"{DESK}calls/{call.pk}/": [200, 403, 403, 403, 404, 404],
        f"{DESK}calls/{call.pk}/deadline/": [405] * 6,
        f"{place}withdraw/": [405] * 6,
        f"{place}let-in/": [405] * 6,
        f"{place}accept/": [405] * 6,
        f"{place}reject/": [405] * 6,
        f"{place}undo-rejection/": [405] * 6,
        f"{DESK}accept/": [405] * 6,
    }
    got = {address: [status(client_of(one), address) for one in cast] for address in expected}
    assert got == expected


def status(client: Client, address: str) -> int:
    answer = client.get(address)
    b"".join(answer.streaming_content if answer.streaming else ())
    return answer.status_code


def test_submissions_of_other_collections_are_not_found(send, owner, client_of):
    sent, other = send(answers("m1")), CallFactory(collection=CollectionFactory(slug="spring"))
    for address in (
        f"/collections/spring/submissions/{sent.pk}/",
        f"{DESK}calls/{other.pk}/",
        f"{TEAM}?call={other.pk}",
    ):
        assert client_of(owner).get(address).status_code == 404


def test_home_shows_a_participant_their_tracks_and_no_collections(send, call, participant, client_of):
    send(answers("m1"))
    client = client_of(participant)
    assert client.get("/")["Location"] == TEAM, "there is one call, and nothing else to do"
    CallFactory(collection=call.collection, task="retrieval")
    page = markup(client.get("/"))
    assert f'href="{TEAM}"' in page
    assert "1 of 2 runs" in " ".join(page.split())
    assert 'href="/collections/autumn/"' not in page
    assert "No collections yet" not in page


def test_organizers_see_who_is_missing_and_what_was_refused(send, call, rival, owner, client_of):
    send(answers("m1"))
    send(answers("m 2"))
    shown = client_of(owner).get(DESK).context["desk"]
    [row] = shown.calls
    assert (row.runs, row.teams, row.missing) == (1, 1, ("oak",))
    assert row.outcomes == (("refused", 1), ("submitted", 1))
    page = " ".join(markup(client_of(owner).get(DESK)).split())
    assert '<strong>1 run of 1 team</strong> <span class="muted">(files: 1 refused, 1 submitted)' in page
    assert 'aria-label="Submit for a team, for generation"' in page
    assert f'aria-label="m1, submission {shown.attempts[1].pk}"' in page
    assert [(team.team, team.runs, team.members) for team in shown.teams] == [
        ("maple", (1,), ("participant",)),
        ("oak", (0,), ("rival",)),
    ]
    assert [one.outcome for one in shown.attempts] == ["refused", "taken"]


def test_pages_ask_few_queries(send, call, owner, participant, client_of, django_assert_max_num_queries):
    for run_id in ("m1", "m2", "m 3", "m 4"):
        send(answers(run_id))
    CallFactory(collection=call.collection, task="retrieval")
    organizer, team = client_of(owner), client_of(participant)
    for client, address, most in ((organizer, DESK, 10), (team, TEAM, 9), (team, "/", 20)):
        with django_assert_max_num_queries(most):
            assert client.get(address).status_code == 200


def test_teams_that_differ_in_case_are_one(send, call, owner, collection):
    """The first spelling stays: of members, invitations and what is sent in for a team without any."""
    assert send(answers("m1"), by=owner, team="MAPLE").team == "maple"
    assert send(answers("c1"), by=owner, team="CIIR").team == "CIIR"
    set_role(UserFactory(), collection, role=Role.PARTICIPANT, team="ciir", by=owner)
    assert set(collection.memberships.exclude(team="").values_list("team", flat=True)) == {"maple", "CIIR"}
    offer = Joining(Role.PARTICIPANT, "Ciir", days=1, max_uses=1)
    assert invite(collection, offer, by=owner)[0].team == "CIIR"
    late = send(answers("c2"), by=owner, team="ciir")
    assert (late.team, late.run.team) == ("CIIR", "CIIR")


def test_an_organizer_accepts_on_the_desk_and_on_the_page_of_the_submission(
    send, call, owner, participant, client_of
):
    first, second = send(answers("m1")), send(answers("m2"))
    client = client_of(owner)
    assert "Accept all 2 runs" in " ".join(markup(client.get(DESK)).split())
    assert client_of(participant).post(f"{DESK}accept/", {"submission": [first.pk]}).status_code == 404
    assert client_of(participant).post(f"{first.get_absolute_url()}accept/").status_code == 404
    client.post(f"{DESK}accept/", {"submission": [first.pk, first.pk, 10**9, "x"]})
    assert set(Run.objects.accepted().values_list("run_tag", flat=True)) == {"m1"}
    assert AuditEntry.objects.filter(verb="run accepted", by=owner).count() == 1
    assert client.post(f"{second.get_absolute_url()}accept/").status_code == 302
    assert Run.objects.accepted().count() == 2
    assert "Runs to accept" not in markup(client.get(DESK))
    Call.objects.update(deadline=timezone.now() - timedelta(minutes=1))
    client.post(f"{second.get_absolute_url()}withdraw/")
    assert set(Run.objects.accepted().values_list("run_tag", flat=True)) == {"m1"}
    assert "Restore the run" in markup(client.get(second.get_absolute_url()))


def test_refused_files_go_some_time_after_the_deadline(send, call):
    kept, refused = send(answers("m1")), send(answers("m 2"))
    out = io.StringIO()
    call_command("remove_refused_files", stdout=out)
    assert refused.has_file
    over = timezone.now() - timedelta(days=30, hours=1)
    Call.objects.update(opens_at=over - timedelta(days=1), deadline=over)
    call_command("remove_refused_files", stdout=out)
    assert out.getvalue() == "0 files deleted.\n1 file deleted.\n"
    refused.refresh_from_db()
    assert (refused.is_kept, refused.errors > 0, refused.has_file) == (False, True, False)
    assert kept.has_file


def test_an_organizer_submits_for_a_team(send, call, owner):
    sent = send(answers("o1", team="oak"), by=owner, team="oak")
    assert (sent.team, sent.run.team, sent.run.submitted_by) == ("oak", "oak", owner)


def test_the_command_submits_for_a_team(call, tmp_path, capsys):
    path, out = tmp_path / "run.jsonl", io.StringIO()
    path.write_bytes(answers("m1"))
    call_command("submit", "autumn", str(path), team="maple", type="manual")
    run = Run.objects.get(run_tag="m1")
    assert (run.state, run.team, run.type) == ("submitted", "maple", "manual")
    assert "run.jsonl of maple for generation: submitted, 0 errors, 0 warnings." in capsys.readouterr().err
    path.write_bytes(answers("m+2"))
    with pytest.raises(SystemExit, match="1"):
        call_command("submit", "autumn", str(path), team="maple", stdout=out)
    assert out.getvalue().startswith("run.jsonl:1: error run_id_characters")
    assert ": refused, " in capsys.readouterr().err
    with pytest.raises(CommandError, match="autumn has: generation"):
        call_command("submit", "autumn", str(path), team="maple", task="retrieval")
    assert Submission.objects.count() == 2
