"""People become members by accepting an invitation; whether an account exists shows nowhere."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.accounts.models import Invitation
from rubricweb.accounts.roles import Role
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
MEMBERS = "/collections/autumn/people/members/"


def invited(client, username: str, **fields: str) -> str:
    """What the page says once the name was sent."""
    answer = client.post(MEMBERS, {"username": username, "role": "assessor"} | fields, follow=True)
    return re.sub(r"\s+", " ", markup(answer))


def test_who_is_named_decides_at_home(owner, outsider, collection, client_of):
    assert "they can now join as assessor" in invited(client_of(owner), "outsider")
    assert not outsider.memberships.exists()
    client = client_of(outsider)
    page = re.sub(r"\s+", " ", markup(client.get("/")))
    assert "invites you to <strong>Autumn track</strong> as assessor." in page
    pk = outsider.invitations.get().pk
    answer = client.post(f"/accounts/invitations/{pk}/accept/", follow=True)
    assert "You have joined Autumn track. Your role: assessor." in markup(answer)
    assert outsider.memberships.get().role == Role.ASSESSOR
    assert "invites you" not in markup(client.get("/"))


def test_who_declines_stays_outside(owner, outsider, collection, client_of):
    invited(client_of(owner), "outsider")
    pk, client = outsider.invitations.get().pk, client_of(outsider)
    client.post(f"/accounts/invitations/{pk}/decline/")
    assert "invites you" not in markup(client.get("/"))
    refused = client.post(f"/accounts/invitations/{pk}/accept/", follow=True)
    assert "no longer open" in markup(refused)
    assert not outsider.memberships.exists()


def test_an_invitation_is_its_persons(owner, outsider, viewer, collection, client_of):
    invited(client_of(owner), "outsider")
    pk = Invitation.objects.get().pk
    for act in ("accept", "decline"):
        assert client_of(viewer).post(f"/accounts/invitations/{pk}/{act}/").status_code == 404
        assert client_of(outsider).get(f"/accounts/invitations/{pk}/{act}/").status_code == 405


def test_a_second_invitation_replaces_the_first(owner, outsider, collection, client_of):
    client = client_of(owner)
    invited(client, "outsider")
    invited(client, "outsider", role="participant", team="maple")
    (invitation,) = Invitation.objects.usable()
    assert (invitation.role, invitation.team) == ("participant", "maple")
    assert "of the team maple" in markup(client_of(outsider).get("/"))


def test_account_names_cannot_be_probed(owner, outsider, collection, client_of):
    """The same words, and the same queries, whether there is such an account or not."""
    client, pages, shapes = client_of(owner), [], []
    client.get("/collections/autumn/settings/")
    for username in ("outsider", "nobody"):
        with CaptureQueriesContext(connection) as queries:
            page = invited(client, username)
        shapes.append([re.sub(r"\d+_x\d+", "", query["sql"])[:40] for query in queries.captured_queries])
        page += markup(client.get("/collections/autumn/people/links/"))
        pages.append(re.sub(r"<[^>]*>", "", page).replace(username, "NAME"))
        Invitation.objects.all().delete()
    assert shapes[0] == shapes[1]
    assert "NAME" in pages[0]
    assert pages[0] == pages[1]


def test_a_name_that_is_taken_later_is_not_invited(owner, collection, client_of, django_user_model):
    invited(client_of(owner), "latecomer")
    late = django_user_model.objects.create_user("latecomer")
    assert "invites you" not in markup(client_of(late).get("/"))
