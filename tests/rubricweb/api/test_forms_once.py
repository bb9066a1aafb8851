"""A form that is sent twice is done once, at once or one after the other."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from rubricweb.api import idempotency
from rubricweb.api.models import KeptAnswer, Token
from rubricweb.releases.models import Release
from tests.factories import gradable
from tests.rubricweb.markup import markup

RELEASES = "/collections/autumn/releases/"
OPENED = f"{RELEASES}?make=release"
TOKENS = "/api/tokens/"


def once_of(client: Client, page: str) -> str:
    return re.search(r'name="once" value="(\w+)"', client.get(page).content.decode())[1]


def browser(user) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.mark.django_db(transaction=True)
@pytest.mark.concurrent
def test_six_clicks_at_once_make_one_release(collection, owner):
    gradable(collection)
    client = browser(owner)
    sent = {"make": "release", "title": "Autumn", "once": once_of(client, OPENED)}

    def click(_: int) -> str:
        try:
            return browser(owner).post(RELEASES, sent)["Location"]
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as clicks:
        places = set(clicks.map(click, range(6)))
    release = Release.objects.get()
    assert places == {release.get_absolute_url()}


@pytest.mark.django_db
def test_a_second_click_is_told_and_leads_where_the_first_led(collection, owner):
    gradable(collection)
    client = browser(owner)
    sent = {"make": "release", "title": "Autumn", "once": once_of(client, OPENED)}
    first, second = client.post(RELEASES, sent), client.post(RELEASES, sent, follow=True)
    assert second.redirect_chain == [(first["Location"], 302)]
    assert "This was sent twice, and done once." in markup(second)
    assert Release.objects.count() == 1


@pytest.mark.django_db
def test_another_form_is_done(collection, owner):
    """With other contents, from another page, by somebody else, or without a key, as a script sends it."""
    gradable(collection)
    client = browser(owner)
    once = once_of(client, OPENED)
    for title, key in (
        ("A", once),
        ("B", once),
        ("A", once_of(client, OPENED)),
        ("A", ""),
        ("A", "x" * 65),
    ):
        client.post(RELEASES, {"make": "release", "title": title, "once": key})
    assert Release.objects.count() == 5


@pytest.mark.django_db
def test_a_refused_form_is_done_once_it_fits(collection, owner):
    gradable(collection)
    client = browser(owner)
    once = once_of(client, OPENED)
    assert client.post(RELEASES, {"make": "release", "title": "", "once": once}).status_code == 422
    assert client.post(RELEASES, {"make": "release", "title": "", "once": once}).status_code == 422
    assert client.post(RELEASES, {"make": "release", "title": "Autumn", "once": once}).status_code == 302
    assert KeptAnswer.objects.count() == 1


@pytest.mark.django_db
def test_a_secret_is_shown_once_and_the_second_click_is_told(owner):
    client = browser(owner)
    sent = {"name": "nightly", "scopes": ["read"], "days": "3", "once": once_of(client, "/accounts/")}
    assert "rw_" in markup(client.post(TOKENS, sent))
    second = client.post(TOKENS, sent, follow=True)
    assert "if you did not see it, revoke it and make another" in markup(second)
    assert Token.objects.count() == 1
    assert not any("rw_" in str(row.body) + str(row.headers) for row in KeptAnswer.objects.all())


@pytest.mark.django_db
def test_a_link_to_join_that_is_sent_twice_is_one_and_leads_back_to_people(collection, owner):
    client, people = browser(owner), "/collections/autumn/people/"
    sent = {"role": "viewer", "days": "7", "once": once_of(client, people)}
    assert client.post(f"{people}links/", sent).status_code == 200
    second = client.post(f"{people}links/", sent, follow=True)
    assert second.redirect_chain[-1] == (people, 302)
    assert "This was sent twice, and done once." in markup(second)
    assert collection.invitations.count() == 1


@pytest.mark.django_db
def test_a_form_whose_process_was_killed_is_done_by_the_next_click(collection, owner, monkeypatch):
    gradable(collection)
    client = browser(owner)
    sent = {"make": "release", "title": "Autumn", "once": once_of(client, OPENED)}
    client.post(RELEASES, sent)
    KeptAnswer.objects.update(status=0, lease_until=timezone.now() + timezone.timedelta(hours=1))
    monkeypatch.setattr(idempotency, "WAITED", 0.0)
    waiting = client.post(RELEASES, sent, follow=True)
    assert "is still being worked on" in markup(waiting)
    KeptAnswer.objects.update(lease_until=timezone.now())
    client.post(RELEASES, sent)
    assert Release.objects.count() == 2
