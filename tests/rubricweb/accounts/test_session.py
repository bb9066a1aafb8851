"""Who is signed in now, with which token, and how a page hears that its session has ended."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def browser(owner) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def address() -> str:
    return reverse("accounts:session")


def test_session_says_who_is_signed_in_with_a_token_that_is_taken(browser, owner, address):
    answer = browser.get(address)
    now = answer.json()
    assert (now["person"], now["name"]) == (owner.pk, owner.username)
    assert "no-store" in answer["Cache-Control"]
    density = reverse("accounts:density")
    assert browser.post(density, {"density": "roomy"}).status_code == 403
    accepted = browser.post(density, {"density": "roomy"}, headers={"X-CSRFToken": now["token"]})
    assert accepted.status_code == 302


def test_session_of_nobody_has_a_token_to_sign_in_with(client, address):
    now = client.get(address).json()
    assert (now["person"], now["name"]) == (None, "")
    assert now["token"]


def test_session_is_only_read(browser, address):
    token = {"X-CSRFToken": browser.get(address).json()["token"]}
    assert browser.head(address).status_code == 200
    assert browser.post(address, headers=token).status_code == 405


def test_token_of_an_earlier_sign_in_is_refused_with_the_header(browser, owner, address):
    old = browser.get(address).json()["token"]
    browser.post(reverse("accounts:logout"), headers={"X-CSRFToken": old})
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    browser.cookies.pop("csrftoken")
    browser.get(address)
    answer = browser.post(reverse("accounts:density"), headers={"X-CSRFToken": old, **HTMX})
    assert (answer.status_code, answer["X-Session-Ended"]) == (403, "1")


def test_who_is_not_signed_in_is_told_by_the_header(client, collection):
    board = reverse("leaderboards:board", args=[collection.slug])
    assert client.get(board, headers=HTMX)["X-Session-Ended"] == "1"
    stream = client.get(
        reverse("corpus:events", args=[collection.slug]), headers={"Accept": "text/event-stream"}
    )
    assert (stream.status_code, stream["X-Session-Ended"]) == (401, "1")


def test_redirect_is_told_to_the_outbox_and_followed_by_others(client_of, owner, collection):
    stop = reverse("accounts:keys-reset")
    plain = client_of(owner).post(stop, headers=HTMX)
    assert plain.status_code == 302
    by_outbox = client_of(owner).post(stop, headers={**HTMX, "X-Outbox": "true"})
    assert (by_outbox.status_code, by_outbox["HX-Redirect"]) == (200, plain.url)
    assert "X-Session-Ended" not in by_outbox
