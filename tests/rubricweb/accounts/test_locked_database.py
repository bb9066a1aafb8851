"""On SQLite an import holds the one write lock: people sign in all the same."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from rubricweb.core import database
from tests.factories import UserFactory
from tests.rubricweb.markup import markup

PASSWORD = "sign-in-password"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch, redis_server):
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite has one writer")
    redis_server.start()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.1)
    connection.close()


@contextmanager
def _held() -> Iterator[None]:
    """Somebody else writes, and does not end."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
    finally:
        other.close()


def _signed_in(password: str) -> tuple[Client, int]:
    client = Client()
    answer = client.post(reverse("accounts:login"), {"username": "person", "password": password})
    return client, answer.status_code


@pytest.fixture
def person():
    user = UserFactory(username="person")
    user.set_password(PASSWORD)
    user.save()
    return user


def test_signing_in_works_while_the_database_is_locked_and_lasts_afterwards(person, redis_server):
    with _held():
        client, status = _signed_in(PASSWORD)
        assert status == 302
        assert client.get("/").status_code == 200
    assert client.get("/").status_code == 200
    redis_server.flush()
    assert client.get("/").status_code == 200


def test_signing_out_of_such_a_session_works_too(person):
    with _held():
        client, _ = _signed_in(PASSWORD)
        assert client.post(reverse("accounts:logout")).status_code == 302
        assert client.get("/").status_code == 302


def test_other_changes_are_told_to_wait(person):
    client, _ = _signed_in(PASSWORD)
    with _held():
        answer = client.post(reverse("accounts:keys-reset"))
    assert answer.status_code == 503
    assert "database is busy" in markup(answer)
    assert answer["Retry-After"] == "60"


def test_a_wrong_password_is_never_let_through_uncounted(person):
    with _held():
        assert _signed_in("wrong")[1] == 503


def test_the_usual_patience_comes_back():
    with database.short_wait():
        pass
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        assert cursor.fetchone() == (100,)
