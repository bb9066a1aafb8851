"""The command that lets an account into a collection."""

import pytest
from django.core.management import CommandError, call_command

from rubricweb.accounts.models import Membership


def test_it_makes_a_member(outsider, collection):
    call_command("set_role", "autumn", "outsider", "organizer")
    assert Membership.objects.get(user=outsider).role == "organizer"


def test_it_makes_a_participant_of_a_team(outsider, collection):
    call_command("set_role", "autumn", "outsider", "participant", team="maple")
    assert Membership.objects.get(user=outsider).team == "maple"


def test_it_keeps_the_last_organizer(owner, collection):
    with pytest.raises(CommandError, match="Nobody else organizes Autumn track"):
        call_command("set_role", "autumn", "owner", "viewer")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("spring", "outsider", "viewer"), "no collection spring; there are: autumn"),
        (("autumn", "nobody", "viewer"), "no account 'nobody'"),
        (("autumn", "outsider", "king"), "invalid choice"),
        (("autumn", "outsider", "participant"), "A participant needs --team"),
        (("autumn", "outsider", "viewer", "--team", "maple"), "nobody else has one"),
    ],
)
def test_a_wrong_name_is_said(outsider, collection, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("set_role", *arguments)
    assert not Membership.objects.exists()
