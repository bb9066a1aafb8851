"""Links with which people join: who makes them, who may use them, and when they are over."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django.utils import timezone

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.invitations import InvitationOver, Joining, invite, join
from rubricweb.accounts.models import Invitation, User
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from rubricweb.core.redaction import WithReference
from rubricweb.corpus.people import EACH_THEIR_OWN
from tests.rubricweb.markup import markup

PEOPLE = "/collections/autumn/people/"
PAGE = f"{PEOPLE}links/"
ACCOUNT = {"username": "newcomer", "password1": "leaves-turn-red", "password2": "leaves-turn-red"}


@pytest.fixture
def link(collection, owner) -> str:
    return invite(collection, Joining(Role.ASSESSOR, "", 7, 1), by=owner)[1]


def role_of(username: str) -> str:
    return User.objects.get(username=username).memberships.get(collection__slug="autumn").role


def test_an_organizer_makes_a_link_that_is_shown_once(owner, collection, client_of):
    client = client_of(owner)
    made = client.post(PAGE, {"role": "developer", "days": "3", "max_uses": "5"})
    assert made["Cache-Control"] == "no-store"
    token = re.search(r"/accounts/join/([\w-]{40,})/", markup(made))[1]
    page = markup(client.get(PEOPLE))
    assert "topic developer" in page
    assert token not in page
    stored = Invitation.objects.get()
    assert token not in (stored.token_digest, str(stored))
    assert (stored.role, stored.max_uses, stored.by) == ("developer", 5, owner)
    assert AuditEntry.objects.get(verb="invitation made").collection == collection


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "king"},
        {"team": "oak"},
        {"days": "0"},
        {"max_uses": "201"},
        {"days": ""},
    ],
)
def test_a_wrong_invitation_is_refused(owner, client_of, wrong):
    answer = client_of(owner).post(PAGE, {"role": "viewer", "days": "7", "max_uses": "1"} | wrong)
    assert answer.status_code == 422
    assert not Invitation.objects.exists()


def test_only_organizers_invite(developer, outsider, collection, client_of, link):
    revoke = f"{PAGE}{Invitation.objects.get().pk}/revoke/"
    assert [client_of(developer).get(PEOPLE).status_code, client_of(outsider).get(PEOPLE).status_code] == [
        403,
        404,
    ]
    assert [client_of(who).post(revoke).status_code for who in (developer, outsider)] == [403, 404]
    assert Invitation.objects.usable().exists()


def test_who_has_no_account_makes_one_and_joins(link, client_of):
    client = Client()
    assert "Join Autumn track" in markup(client.get(link))
    answer = client.post(link, ACCOUNT)
    assert answer["Location"] == "/collections/autumn/"
    assert client.get("/collections/autumn/").status_code == 200
    assert [str(one) for one in answer.wsgi_request._messages] == [
        "You have joined Autumn track. Your role: assessor."
    ]
    assert role_of("newcomer") == Role.ASSESSOR
    assert not User.objects.get(username="newcomer").is_staff


def test_what_a_password_must_be_is_described_at_its_field(link):
    page = markup(Client().get(link))
    described = page.partition('id="id_password1_helptext">')[2].partition("</div>")[0]
    assert "<li>Your password must contain at least 10 characters.</li>" in described


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"username": "owner"}, "already exists"),
        ({"password1": "12345", "password2": "12345"}, "too"),
        ({"password2": "other-words"}, "match"),
        ({"password1": "", "password2": ""}, "required"),
    ],
)
def test_a_refused_account_uses_nothing_of_the_link(link, owner, wrong, told):
    answer = Client().post(link, ACCOUNT | wrong)
    assert answer.status_code == 422
    assert told in markup(answer)
    assert markup(answer).count("This field is required.") <= 1
    assert set(answer.context["form"].errors) <= {"username", "password1"}
    assert Invitation.objects.get().uses == 0


def test_who_has_an_account_signs_in_and_joins(link, outsider, client_of):
    assert f"/accounts/sign-in/?next={link}" in markup(Client().get(link))
    client = client_of(outsider)
    assert "signed in as outsider" in markup(client.get(link))
    assert not outsider.memberships.exists()
    client.post(link)
    assert role_of("outsider") == Role.ASSESSOR


def test_one_link_lets_many_teams_in_and_nobody_into_a_team_that_there_is(collection, owner, client_of):
    set_role(new_person("maple_lead"), collection, role=Role.PARTICIPANT, by=owner, team="Maple")
    page = markup(client_of(owner).post(PAGE, {"role": "participant", "days": "7"}))
    link = re.search(r"/accounts/join/[\w-]{40,}/", page)[0]
    assert Invitation.objects.get().max_uses == EACH_THEIR_OWN
    for team, status in (("", 422), ("maple", 422), ("Maple", 422), ("Oak", 302)):
        answer = Client().post(link, ACCOUNT | {"team": team})
        assert answer.status_code == status, team
    assert User.objects.get(username="newcomer").memberships.get().team == "Oak"
    person = new_person("late")
    assert client_of(person).post(link, {"team": "OAK"}).status_code == 422
    assert client_of(person).post(link, {"team": "Ash"}).status_code == 302
    assert person.memberships.get().team == "Ash"
    assert Invitation.objects.get().uses == 2


def new_person(username: str) -> User:
    return User.objects.create_user(username, password="leaves-turn-red")


def test_a_participant_joins_a_team(collection, owner, outsider, client_of):
    path = invite(collection, Joining(Role.PARTICIPANT, "oak", 7, 1), by=owner)[1]
    client = client_of(outsider)
    assert "of the team <strong>oak</strong>" in markup(client.get(path))
    assert client.post(path)["Location"] == "/collections/autumn/submissions/submit/"
    membership = outsider.memberships.get()
    assert (membership.role, membership.team) == ("participant", "oak")


def test_a_member_gains_by_a_link_and_never_loses(collection, owner, viewer, link):
    invitation = Invitation.objects.get()
    assert not join(invitation, person=owner)
    assert role_of("owner") == Role.ORGANIZER
    assert join(invitation, person=viewer)
    assert role_of("viewer") == Role.ASSESSOR


def over_by_use(invitation, outsider):
    join(invitation, person=outsider)


def over_by_time(invitation, outsider):
    Invitation.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))


def over_by_revocation(invitation, outsider):
    Invitation.objects.update(revoked_at=timezone.now())


@pytest.mark.parametrize("end", [over_by_use, over_by_time, over_by_revocation])
def test_a_link_that_is_over_opens_nothing(link, owner, outsider, end):
    invitation = Invitation.objects.get()
    end(invitation, outsider)
    assert Client().get(link).status_code == 404
    answer = Client().post(link, ACCOUNT)
    assert answer.status_code == 404
    assert "not open" in markup(answer)
    assert not User.objects.filter(username="newcomer").exists()
    with pytest.raises(InvitationOver):
        join(invitation, person=User.objects.create(username="late"))


def test_an_organizer_revokes_a_link(link, owner, client_of):
    client = client_of(owner)
    client.post(f"{PAGE}{Invitation.objects.get().pk}/revoke/")
    assert Client().get(link).status_code == 404
    assert "revoked" in markup(client.get(PEOPLE))


def test_guessing_links_locks_an_address_out(link):
    guesses = [Client().get(f"/accounts/join/guess-{number}/").status_code for number in range(11)]
    assert guesses[:9] == [404] * 9
    assert guesses[-1] == 429
    assert Client().get(link).status_code == 429
    assert Client().get(link, REMOTE_ADDR="198.51.100.7").status_code == 200


def test_a_wrong_link_leaves_no_token_behind(link, caplog):
    """It may be a right one but for a letter."""
    token = link.rstrip("/").rpartition("/")[2]
    wrong = f"{token[:-1]}{'A' if token[-1] != 'A' else 'B'}"
    with caplog.at_level("DEBUG"):
        Client().get(f"/accounts/join/{wrong}/")
    (attempt,) = AccessAttempt.objects.all()
    assert attempt.path_info == "/accounts/join/[secret]/"
    assert caplog.records
    lines = [record.getMessage() for record in caplog.records if WithReference().filter(record)]
    assert not any(wrong[:20] in line for line in lines)
