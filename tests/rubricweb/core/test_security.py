"""What holds for every page: sign-in, a strict content policy, and answers for htmx after login loss."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.rubricweb.routes import routes

TOKEN = "t" * 32
PUBLIC = {
    "/accounts/sign-in/",
    f"/leaderboards/public/{TOKEN}/",
    f"/leaderboards/public/{TOKEN}/leaderboard.tsv",
    "/help/",
    "/help/search/",
    "/help/1/",
    "/help/1.md",
}
GIVEN = {"slug": "autumn", "token": TOKEN}


def _addresses() -> list[str]:
    """Every address of ours with plausible arguments, but for those of people who are not signed in."""
    listed = [route for route in routes() if not route.name.startswith("accounts:")]
    addresses = [route.address({name: GIVEN.get(name, 1) for name in route.parameters}) for route in listed]
    addresses.append(reverse("corpus:events", args=["autumn"]))
    return sorted(set(addresses) - PUBLIC)


@pytest.mark.django_db
def test_every_address_asks_to_sign_in(client: Client):
    addresses = _addresses()
    assert len(addresses) > 5
    for address in addresses:
        answer = client.get(address)
        if address.startswith("/api/v1/"):
            assert answer.status_code in (401, 405), address
        elif answer.status_code != 405:
            assert answer.status_code == 302, address
            assert answer["Location"].startswith("/accounts/sign-in/"), address


@pytest.mark.django_db
def test_a_public_address_that_nobody_gave_out_is_not_found(client: Client):
    for tail in ("", "leaderboard.tsv"):
        assert client.get(f"/leaderboards/public/{TOKEN}/{tail}").status_code == 404


@pytest.mark.django_db
def test_the_content_policy_allows_no_inline_code(client: Client):
    policy = client.get("/accounts/sign-in/")["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


@pytest.mark.django_db
def test_htmx_leaves_the_page_when_the_session_ended(client: Client):
    answer = client.get("/", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert answer["HX-Redirect"] == "/accounts/sign-in/?next=/"


@pytest.mark.django_db
def test_a_change_without_csrf_token_is_refused(owner):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.post("/accounts/sign-out/").status_code == 403
