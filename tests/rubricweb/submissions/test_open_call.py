"""The command that opens a call for submissions."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from grading.submissions import rules_of
from rubricweb.accounts.roles import Role
from rubricweb.submissions.models import Call
from tests.factories import MembershipFactory

pytestmark = pytest.mark.django_db
LATE = ("--deadline", "2099-12-01T23:59:59")


def test_its_call_is_the_one_asked_for(collection, client_of, capsys):
    options = ("--track", "rag25", "--time-zone", "Europe/Rome", "--runs-per-team", "3", "--asks-priority")
    options += ("--shows-scores",)
    call_command(
        "open_call", "autumn", "generation", *LATE, *options, "--text", "Ask us.", "--server", "http://x"
    )
    said = capsys.readouterr()
    assert said.err == "generation of autumn takes generated answers until 2099-12-01 23:59:59 CET.\n"
    call = Call.objects.get()
    assert call.parsed_rules == rules_of("rag25")
    assert (call.runs_per_team, call.asks_priority, call.checks_documents, call.text) == (
        3,
        True,
        False,
        "Ask us.",
    )
    assert call.shows_scores
    assert call.deadline.isoformat() == "2099-12-01T22:59:59+00:00"
    organizer = MembershipFactory(collection=collection, role=Role.ORGANIZER).user
    assert client_of(organizer).get(said.out.strip().removeprefix("http://x")).status_code == 200


def test_rules_may_be_a_file_of_ones_own(collection, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\nlabel = "Our own"\nsource = ""\n', encoding="utf-8")
    call_command("open_call", "autumn", "retrieval", *LATE, "--track", str(path), "--takes", "run")
    assert Call.objects.get().parsed_rules.label == "Our own"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("spring", "t", *LATE, "--track", "rag24"), "no collection spring"),
        (("autumn", "t", *LATE, "--track", "rag99"), "no rules for 'rag99', expected one of"),
        (("autumn", "t", *LATE, "--track", "rag24", "--runs-per-team", "0"), "--runs-per-team: Ensure"),
        (("autumn", "t", "--deadline", "soon", "--track", "rag24"), "--deadline: Enter a valid date/time"),
        (
            ("autumn", "t", "--deadline", "2020-01-01T00:00", "--track", "rag24"),
            "--deadline: The deadline must be after the opening",
        ),
    ],
)
def test_what_no_call_can_be_is_said(collection, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("open_call", *arguments)
    assert not Call.objects.exists()
