"""Sign-in by an OpenID provider over HTTP: who gets in, and what is no answer of it."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from rubricweb.accounts import actions, invitations
from rubricweb.accounts.invitations import Joining
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from tests.factories import UserFactory
from tests.rubricweb.sso.on.conftest import PASSWORD
from tests.rubricweb.sso.openid_provider import OTHER_KEY

pytestmark = pytest.mark.django_db


def who(client: Client) -> str:
    """Return the name under which the browser is signed in."""
    return client.get(reverse("accounts:session")).json()["name"]


def verbs() -> list[str]:
    return list(
        AuditEntry.objects.filter(verb__contains="organization").order_by("pk").values_list("verb", flat=True)
    )


@pytest.fixture
def link(collection, owner) -> str:
    """The token of an invitation for one assessor."""
    offer = Joining(Role.ASSESSOR, "", days=1, max_uses=1)
    return invitations.invite(collection, offer, by=owner)[1].strip("/").rpartition("/")[2]


def test_sign_in_page_leads_to_the_provider(client):
    assert "Sign in with <bdi>Example University</bdi>" in client.get(reverse("accounts:login")).text
    page = client.post(reverse("sso:start"))
    assert 'href="http://127.0.0.1' in page.text
    assert "nonce=" in page["Refresh"]


def test_whom_nobody_invited_gets_no_account(client, arrive):
    answer = arrive(client)
    assert answer.status_code == 403
    assert "Nobody has invited ana@uni.example yet" in answer.text
    assert not User.objects.filter(username="ana").exists()
    assert who(client) == ""


def test_who_opened_a_link_joins_and_signs_in_by_it_later(client, arrive, collection, link):
    answer = arrive(client, invitation=link)
    assert answer.url == collection.get_absolute_url()
    ana = User.objects.get(username="ana")
    assert (ana.email, ana.has_usable_password()) == ("ana@uni.example", False)
    assert ana.memberships.get().role == Role.ASSESSOR
    assert SocialAccount.objects.get().extra_data == {}
    later = Client()
    assert arrive(later, next=reverse("accounts:account")).url == reverse("accounts:account")
    assert who(later) == "ana"
    signed_in = "signed in by organization"
    assert verbs() == ["account made by organization", "organization linked", signed_in, signed_in]


def test_link_is_checked_as_on_its_own_page(client, collection, link):
    collection.invitations.update(expires_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert client.post(reverse("sso:start"), {"invitation": link}).status_code == 404


def test_link_that_closes_meanwhile_lets_nobody_in(client, way_back, collection, link):
    address = way_back(client, invitation=link)
    collection.invitations.update(max_uses=0)
    assert client.get(address).status_code == 403
    assert not User.objects.filter(username="ana").exists()


def test_team_that_exists_is_not_joined_by_its_name(client, arrive, collection, owner, participant):
    offer = Joining(Role.PARTICIPANT, "", days=1, max_uses=5)
    token = invitations.invite(collection, offer, by=owner)[1].strip("/").rpartition("/")[2]
    assert "A team of this name already exists" in arrive(client, invitation=token, team="Maple").text
    assert not User.objects.filter(username="ana").exists()
    assert who(client) == ""
    assert arrive(client, invitation=token, team="oak").url == reverse("submissions:submit", args=["autumn"])


def test_address_that_was_invited_finds_the_invitation_at_home(client, arrive, collection, owner):
    invitations.invite_account(collection, "Ana@uni.example", role=Role.VIEWER, by=owner)
    assert arrive(client).status_code == 302
    ana = User.objects.get(username="ana")
    assert not ana.memberships.exists()
    assert [each.role for each in invitations.invitations_for(ana)] == [Role.VIEWER]


def test_address_that_is_not_verified_opens_nothing(client, arrive, provider, switch, person):
    switch(links_by_email=True, lets_in=True)
    for value in (False, None, "false"):
        provider.person["email_verified"] = value
        answer = arrive(client)
        assert answer.status_code == 403
        assert "Your email address is not verified at Example University" in answer.text
    assert who(client) == ""


def test_where_the_server_lets_everybody_in_they_have_no_role(client, arrive, switch, collection):
    switch(lets_in=True)
    UserFactory(username="ANA")
    assert arrive(client).status_code == 302
    assert who(client) == "ana-2"
    assert client.get(collection.get_absolute_url()).status_code == 404


def test_account_with_the_same_address_is_not_taken_over(client, arrive, switch, person):
    switch(lets_in=True)
    answer = arrive(client)
    assert answer.status_code == 403
    assert "Sign in with its password, and link" in answer.text
    assert who(client) == ""
    assert not SocialAccount.objects.exists()


def test_account_with_the_same_address_is_linked_where_the_server_says_so(client, arrive, switch, person):
    switch(links_by_email=True)
    assert arrive(client).status_code == 302
    assert who(client) == "owner"
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


@pytest.mark.parametrize("field", ["is_staff", "is_superuser"])
def test_administrators_and_doubtful_addresses_are_not_linked(client, arrive, switch, person, field):
    switch(links_by_email=True)
    User.objects.filter(pk=person.pk).update(**{field: True})
    assert arrive(client).status_code == 403
    User.objects.filter(pk=person.pk).update(**{field: False})
    UserFactory(email="ana@uni.example")
    assert arrive(client).status_code == 403


def test_account_is_linked_from_its_own_session_once(client_of, arrive, person, viewer):
    client = client_of(person)
    assert client.post(reverse("sso:link"), {"password": "not-the-password"}).status_code == 422
    assert arrive(client, "sso:link", password=PASSWORD).url.endswith("#organization")
    assert "Your account is linked" in client.get(reverse("accounts:account")).text
    fresh = Client()
    arrive(fresh)
    assert who(fresh) == "owner"
    viewer.set_password(PASSWORD)
    viewer.save()
    other = client_of(viewer)
    assert "It is linked already" in arrive(other, "sso:link", password=PASSWORD).text
    client.post(reverse("sso:unlink"))
    assert arrive(Client()).status_code == 403


def test_link_ends_with_the_session_that_began_it(client_of, way_back, person, viewer):
    client = client_of(person)
    address = way_back(client, "sso:link", password=PASSWORD)
    client.force_login(viewer)
    assert client.get(address).status_code in (403, 502)
    assert not SocialAccount.objects.exists()


def test_who_has_no_password_cannot_unlink(client, arrive, switch):
    switch(lets_in=True)
    arrive(client)
    client.post(reverse("sso:unlink"))
    assert SocialAccount.objects.count() == 1


def test_state_is_of_this_browser_and_used_once(client, way_back, switch):
    switch(lets_in=True)
    address = way_back(client)
    assert Client().get(address).status_code == 502
    assert client.get(address.replace("state=", "state=x")).status_code == 502
    assert client.get(f"{reverse('sso:callback')}?error=access_denied").status_code == 502
    assert client.get(address).status_code == 302
    assert client.get(address).status_code == 502


def test_who_cancels_at_the_provider_is_not_told_of_a_fault(client, way_back):
    page = client.get(re.sub("code=[^&]+", "error=access_denied", way_back(client)))
    assert page.status_code == 403
    text = page.content.decode()
    assert "sent you back without signing you in." in text
    assert "administrator" not in text


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": ["rubric", "another"], "azp": "another"},
        {"iss": "http://127.0.0.1:1"},
        {"exp": 1_000_000_000},
        {"exp": None},
        {"sub": None},
    ],
)
def test_token_that_is_not_for_this_request_signs_nobody_in(client, arrive, provider, switch, claims):
    switch(lets_in=True)
    provider.claims = claims
    assert arrive(client).status_code == 502
    assert who(client) == ""


@pytest.mark.parametrize(
    ("key", "algorithm"), [(OTHER_KEY, "RS256"), ("k3J-x8Qw_2mN5v", "HS256"), (None, "none")]
)
def test_token_that_the_provider_did_not_sign_signs_nobody_in(
    client, arrive, provider, switch, key, algorithm
):
    switch(lets_in=True)
    provider.key, provider.algorithm = key, algorithm
    assert arrive(client).status_code == 502
    assert who(client) == ""


def test_address_of_the_user_info_counts_for_the_same_subject_only(client, arrive, provider, switch):
    switch(lets_in=True)
    del provider.person["email"]
    provider.user_info = {"sub": "eve", "email": "ana@uni.example", "email_verified": True}
    assert arrive(client).status_code == 502
    provider.user_info["sub"] = "ana-1"
    assert arrive(client).status_code == 302
    assert User.objects.get(username="ana").email == "ana@uni.example"


def test_documents_that_are_none_of_the_issuer_are_refused_without_the_secret(client, provider, caplog):
    for metadata in ({"issuer": "https://evil.example"}, {"authorization_endpoint": None, "issuer": None}):
        provider.metadata = metadata
        answer = client.post(reverse("sso:start"))
        assert answer.status_code == 502
        assert "k3J" not in answer.text + caplog.text
    assert "sign-in by Example University failed: OAuth2Error" in caplog.text


def test_next_leads_to_this_site_only(client, arrive, switch):
    switch(lets_in=True)
    assert arrive(client, next="https://evil.example/").url == reverse("home:home")


def test_lockout_and_closing_hold_for_the_provider_too(client, arrive, switch, person):
    switch(links_by_email=True)
    for _ in range(10):
        client.post(reverse("accounts:login"), {"username": "owner", "password": "not-the-password"})
    assert arrive(client).status_code == 429
    assert who(client) == ""
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert "This account is closed" in arrive(client).text


def test_closing_an_account_removes_its_link_and_a_role_that_is_gone_stays_gone(
    client, arrive, collection, link
):
    arrive(client, invitation=link)
    ana = User.objects.get(username="ana")
    actions.remove_member(ana.memberships.get(), by=None)
    arrive(client)
    assert who(client) == "ana"
    assert client.get(collection.get_absolute_url()).status_code == 404
    actions.close_account(ana, by=ana)
    assert not SocialAccount.objects.exists()
