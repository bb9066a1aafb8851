"""Wrong passwords: who is locked out, by which address, and what they see."""

import pytest
from django.test import Client
from django.urls import reverse

from rubricweb.accounts.passwords import client_address

WRONG = "not-the-password"
RIGHT = "sign-in-password"
LIMIT = 10


@pytest.fixture
def person(owner):
    owner.set_password(RIGHT)
    owner.save(update_fields=["password"])
    return owner


def _sign_in(username: str, password: str, **extra: str):
    return Client().post(reverse("accounts:login"), {"username": username, "password": password}, **extra)


def test_another_forwarded_address_each_time_does_not_help(person):
    statuses = [
        _sign_in("owner", WRONG, HTTP_X_FORWARDED_FOR=f"203.0.113.{number}").status_code
        for number in range(LIMIT + 4)
    ]
    assert statuses[LIMIT - 2 :] == [200, 429, 429, 429, 429, 429]
    assert _sign_in("owner", RIGHT, HTTP_X_FORWARDED_FOR="203.0.113.99").status_code == 429


def test_the_lockout_page_looks_like_the_product(person):
    pages = [_sign_in("owner", WRONG) for _ in range(LIMIT)]
    assert b"Too many wrong passwords" in pages[-1].content
    assert b"site-header" in pages[-1].content


def test_one_address_that_tries_many_accounts_is_locked_out(person, settings):
    settings.ADDRESS_FAILURE_LIMIT = 12
    statuses = [_sign_in(f"person-{number}", WRONG).status_code for number in range(12)]
    assert statuses == [200] * 11 + [429]
    assert _sign_in("owner", RIGHT).status_code == 429
    assert _sign_in("owner", RIGHT, REMOTE_ADDR="198.51.100.7").status_code == 302


def test_behind_a_trusted_proxy_people_have_addresses_of_their_own(person, settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    for _ in range(LIMIT):
        locked = _sign_in("owner", WRONG, HTTP_X_FORWARDED_FOR="203.0.113.1")
    assert locked.status_code == 429
    assert _sign_in("owner", RIGHT, HTTP_X_FORWARDED_FOR="203.0.113.2").status_code == 302


@pytest.mark.parametrize(
    ("trusted", "peer", "forwarded", "expected"),
    [
        ([], "192.0.2.1", "203.0.113.5", "192.0.2.1"),
        (["192.0.2.0/24"], "192.0.2.1", "203.0.113.5", "203.0.113.5"),
        (["192.0.2.0/24"], "192.0.2.1", "6.6.6.6, 203.0.113.5", "203.0.113.5"),
        (["192.0.2.0/24"], "192.0.2.1", "6.6.6.6, 203.0.113.5, 192.0.2.9", "203.0.113.5"),
        (["192.0.2.0/24"], "192.0.2.1", "nonsense", "192.0.2.1"),
        (["192.0.2.0/24"], "192.0.2.1", "", "192.0.2.1"),
        (["unix"], "", "203.0.113.5", "203.0.113.5"),
        ([], "", "203.0.113.5", "127.0.0.1"),
        ([], "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::"),
        ([], "::ffff:192.0.2.1", "", "192.0.2.1"),
    ],
)
def test_the_nearest_address_that_is_no_trusted_proxy_counts(
    rf, settings, trusted, peer, forwarded, expected
):
    settings.TRUSTED_PROXIES = trusted
    request = rf.get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == expected


def test_an_address_that_uvicorn_took_from_the_header_does_not_count(rf):
    request = rf.get("/", REMOTE_ADDR="203.0.113.5", REMOTE_PORT="0", HTTP_X_FORWARDED_FOR="203.0.113.5")
    assert client_address(request) == "127.0.0.1"
