"""Who a token lets in, where, and for how long."""

from __future__ import annotations

import datetime as dt
import re

import pytest
from django.core.management import call_command
from django.utils import timezone
from rest_framework.test import APIClient

from rubricweb.accounts.actions import close_account
from rubricweb.api.models import Token
from rubricweb.api.tokens import make_token
from rubricweb.core.models import AuditEntry
from tests.factories import CollectionFactory, MembershipFactory
from tests.rubricweb.api.conftest import AT
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db
ACCOUNT = "/accounts/"
PAGE = "/api/tokens/"


@pytest.mark.parametrize("word", ["Bearer", "Token", "bearer"])
def test_a_token_acts_as_its_owner(word, viewer):
    token, text = make_token(viewer, name="nightly", scopes=["read"], days=1)
    answer = APIClient().get(AT, headers={"Authorization": f"{word} {text}"})
    assert (answer.status_code, answer.json()["slug"]) == (200, "autumn")
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_only_its_digest_is_stored(viewer):
    token, text = make_token(viewer, name="nightly", scopes=["read"], days=1)
    _, _, secret = text.split("_", 2)  # which may have such characters itself
    assert secret not in "".join(map(str, Token.objects.values_list().get(pk=token.pk)))


@pytest.mark.parametrize("text", ["", "rw_", "rw_00000000_" + "a" * 43, "rw_\u0661", "x" * 10_000])
def test_another_text_opens_nothing(text, viewer):
    answer = APIClient().get(AT, headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 401


def test_nobody_reads_without_signing_in(collection):
    assert APIClient().get(AT).status_code == 401


def revoked(token: Token) -> None:
    Token.objects.update(revoked_at=timezone.now())


def expired(token: Token) -> None:
    Token.objects.update(expires_at=timezone.now() - dt.timedelta(seconds=1))


def with_another_secret(token: Token) -> None:
    Token.objects.update(digest="0" * 64)


def of_a_closed_account(token: Token) -> None:
    close_account(token.user, by=token.user)


@pytest.mark.parametrize("spoil", [revoked, expired, with_another_secret, of_a_closed_account])
def test_it_opens_nothing_once_it_is(spoil, viewer, script_of):
    script = script_of(viewer)
    assert script.get(AT).status_code == 200
    spoil(Token.objects.get())
    assert script.get(AT).status_code == 401


def test_a_token_of_one_collection_opens_no_other(owner, collection, script_of):
    other = MembershipFactory(
        user=owner, collection=CollectionFactory(slug="spring"), role="organizer"
    ).collection
    script = script_of(owner, collection=other)
    assert script.get(AT).status_code == 404
    assert script.get("/api/v1/collections/spring/").status_code == 200
    assert [row["slug"] for row in script.get("/api/v1/collections/").json()["items"]] == ["spring"]


def test_a_scope_that_is_not_given_is_refused(bank, owner, script_of):
    script = script_of(owner, scopes=["read"])
    refused = script.post(f"{AT}jobs/", {}, format="json")
    assert (refused.status_code, refused.json()["detail"]) == (403, "This token lacks the scope grade.")
    assert script.post(f"{AT}jobs/plan/", {}, format="json").status_code == 200
    assert script_of(owner, scopes=["grade"]).get(f"{AT}jobs/").status_code == 403


def test_a_browser_that_is_signed_in_reads_and_writes_with_its_csrf_token(viewer):
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(viewer, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(AT).status_code == 200
    assert client.post(f"{AT}jobs/plan/", {}, format="json").status_code == 403


def test_the_page_shows_a_token_once_and_revokes_it(viewer, collection, client_of, script_of):
    client = client_of(viewer)
    sent = {"name": "nightly", "scopes": ["read", "assess"], "days": "30", "collection": collection.pk}
    made = client.post(PAGE, sent)
    text = re.search(r"rw_[0-9a-f]{8}_[\w-]{43}", markup(made))[0]
    assert made["Cache-Control"] == "no-store"
    assert f'id="new-token">{text}</code>' in markup(made)
    assert 'data-copies="new-token" aria-describedby="new-token" autofocus' in markup(made)
    assert markup(made).index(text) < markup(made).index("A new token"), "above the form, on a telephone"
    assert text not in markup(client.get(ACCOUNT))
    script = APIClient(headers={"Authorization": f"Bearer {text}"})
    assert script.get(AT).status_code == 200
    token = Token.objects.get()
    assert (token.scopes, token.collection) == (["assess", "read"], collection)
    client.post(f"{PAGE}{token.pk}/revoke/")
    assert script.get(AT).status_code == 401
    assert "revoked" in markup(client.get(ACCOUNT))
    assert [entry.verb for entry in AuditEntry.objects.order_by("pk")] == ["token made", "token revoked"]


def test_nobody_revokes_or_sees_the_token_of_another(viewer, assessor, client_of):
    token, _ = make_token(viewer, name="quillwort", scopes=["read"], days=1)
    client = client_of(assessor)
    assert client.post(f"{PAGE}{token.pk}/revoke/").status_code == 404
    assert "quillwort" not in markup(client.get(ACCOUNT))


@pytest.mark.parametrize("wrong", [{"name": ""}, {"days": "0"}, {"days": "400"}, {"scopes": ["reign"]}])
def test_the_form_says_what_is_wrong(wrong, viewer, client_of):
    sent = {"name": "nightly", "scopes": ["read"], "days": "30"} | wrong
    assert client_of(viewer).post(PAGE, sent).status_code == 422
    assert not Token.objects.exists()


def test_the_command_prints_one(viewer, collection, capsys):
    call_command("make_token", "viewer", "--name", "nightly", "--scope", "read", "--collection", "autumn")
    text = capsys.readouterr().out.strip()
    assert APIClient(headers={"Authorization": f"Bearer {text}"}).get(AT).status_code == 200
