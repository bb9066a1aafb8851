"""The command that makes a link with which people join a collection."""

import pytest
from django.core.management import CommandError, call_command

from rubricweb.accounts.models import Invitation

pytestmark = pytest.mark.portable


def test_its_link_lets_a_person_in(outsider, collection, client_of, capsys):
    call_command(
        "invite", "autumn", "participant", "--team", "maple", "--people", "3", "--server", "http://x/"
    )
    said = capsys.readouterr()
    link = said.out.strip()
    assert link.startswith("http://x/accounts/join/")
    assert said.err.startswith("participant of autumn, for 3 people, until ")

    assert client_of(outsider).post(link.removeprefix("http://x")).status_code == 302
    assert outsider.memberships.get(collection=collection).team == "maple"
    assert Invitation.objects.get().uses == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("spring", "viewer"), "no collection spring; there are: autumn"),
        (("autumn", "king"), "invalid choice"),
        (("autumn", "viewer", "--team", "maple"), "--team: Only participants have a team"),
        (("autumn", "viewer", "--days", "91"), "--days: Ensure this value is less than or equal to 90"),
        (("autumn", "viewer", "--people", "0"), "--people: Ensure this value is greater than or equal to 1"),
    ],
)
def test_what_no_invitation_can_be_is_said(collection, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("invite", *arguments)
    assert not Invitation.objects.exists()
