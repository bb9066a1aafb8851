"""What people see when something is refused looks like the product and says what to do."""

import pytest
from django.test import Client

from tests.rubricweb.markup import markup


def _is_ours(answer) -> bool:
    page = markup(answer)
    return "site-header" in page and "bundles/base.css" in page and "To your collections" in page


@pytest.mark.django_db
def test_an_address_that_does_not_exist(client: Client):
    answer = client.get("/nowhere/")
    assert answer.status_code == 404
    assert _is_ours(answer)


@pytest.mark.django_db
def test_a_form_without_its_token(owner):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    answer = browser.post("/accounts/sign-out/")
    assert answer.status_code == 403
    assert _is_ours(answer)
    assert "was not accepted" in markup(answer)


@pytest.mark.django_db
def test_too_little_role(client_of, viewer, collection):
    answer = client_of(viewer).get(f"/collections/{collection.slug}/settings/")
    assert answer.status_code == 403
    assert _is_ours(answer)
    assert "This needs the role organizer; your role here is viewer." in markup(answer)


@pytest.mark.django_db
def test_what_only_staff_may_do_says_nothing_of_a_collection(client_of, viewer):
    answer = client_of(viewer).get("/new-collection/")
    assert answer.status_code == 403
    assert _is_ours(answer)
    assert "Only staff can create collections." in markup(answer)
    assert "this collection" not in markup(answer)


def test_a_host_that_is_not_served(client: Client):
    answer = client.get("/accounts/sign-in/", headers={"host": "evil.example"})
    assert answer.status_code == 400
    assert _is_ours(answer)


@pytest.mark.django_db
def test_a_fault_of_ours(collection, client_of, owner, monkeypatch):
    def broken(*args: object) -> None:
        raise KeyError("a topic that is gone")

    monkeypatch.setattr("rubricweb.corpus.access.roles.require", broken)
    browser = client_of(owner)
    browser.raise_request_exception = False
    answer = browser.get(f"/collections/{collection.slug}/settings/")
    assert answer.status_code == 500
    assert _is_ours(answer)
    assert answer["X-Request-Reference"] in markup(answer)
