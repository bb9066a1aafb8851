"""What people see when something is refused looks like the product and says what to do."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from rubricweb.imports import staging
from rubricweb.imports.actions import begin_import
from rubricweb.imports.models import ImportFile
from tests.rubricweb.markup import markup


def _is_ours(answer) -> bool:
    page = markup(answer)
    return "site-header" in page and "bundles/base.css" in page and "To your collections" in page


@pytest.mark.django_db
def test_an_address_that_does_not_exist(client_of, viewer):
    answer = client_of(viewer).get("/nowhere/")
    assert answer.status_code == 404
    assert _is_ours(answer)
    assert '<a class="button" href="/accounts/sign-in/">' not in markup(answer)


@pytest.mark.django_db
def test_who_is_not_signed_in_finds_the_way_to_sign_in(client: Client):
    for address in ("/nowhere/", f"/leaderboards/public/{'x' * 32}/"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert '<a class="button" href="/accounts/sign-in/">Sign in</a>' in markup(answer)
        assert "To your collections" not in markup(answer)


@pytest.mark.django_db
def test_an_address_that_only_takes_forms(client_of, owner, collection):
    address = f"/collections/{collection.slug}/people/members/"
    answer = client_of(owner).get(address)
    assert (answer.status_code, _is_ours(answer)) == (405, True)
    assert client_of(owner).head(address).content == b""


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("came_from", "goes_back_to"),
    [
        ("http://testserver/collections/autumn/settings/?a=b", "/collections/autumn/settings/%3Fa%3Db"),
        ("https://elsewhere.example/collections/autumn/settings/", "/"),
        ("", "/"),
    ],
)
def test_a_form_sent_after_the_session_ended(client: Client, came_from, goes_back_to):
    """Its own address may have no page to go back to."""
    sent = {"headers": {"referer": came_from}} if came_from else {}
    answer = client.post("/collections/autumn/people/members/", {"username": "viewer"}, **sent)
    assert (answer.status_code, answer.url) == (302, f"/accounts/sign-in/?next={goes_back_to}")
    assert "You were signed out, and nothing was saved." in markup(client.get(answer.url))
    by_htmx = client.get("/collections/autumn/", headers={"HX-Request": "true", "referer": came_from})
    assert by_htmx["HX-Redirect"] == f"/accounts/sign-in/?next={goes_back_to}"


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
    answer = client_of(viewer).get("/imports/new-collection/")
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


@pytest.fixture
def full_database():
    """SQLite that may not grow by a page, and has none to spare: it says what a full disk says."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA page_count")
        pages = cursor.fetchone()[0]
        cursor.execute("PRAGMA max_page_count")
        most = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {pages}")
        yield
        cursor.execute(f"PRAGMA max_page_count = {most}")


TOO_MUCH = "Why? " * 100_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no such limit")
def test_a_full_database_is_said_by_pages_and_by_the_api(collection, owner, client_of, full_database):
    browser = client_of(owner)
    browser.raise_request_exception = False
    answer = browser.post(
        f"/collections/{collection.slug}/settings/", settings_of(browser, description=TOO_MUCH)
    )
    assert (answer.status_code, answer["Retry-After"]) == (503, "60")
    assert "The server's disk is full" in markup(answer)
    address = f"https://hooks.example.org/{'x' * 400}"
    sent = {"address": address, "events": ["job.ended"] * 5, "note": "x" * 120}
    for _ in range(200):
        told = browser.post("/api/v1/collections/autumn/webhooks/", sent, content_type="application/json")
        if told.status_code != 201:
            break
    assert (told.status_code, told["Content-Type"]) == (503, "application/problem+json")
    assert "The server's disk is full" in told.json()["detail"]


def settings_of(browser: Client, **changed: str) -> dict[str, object]:
    page = browser.get("/collections/autumn/settings/").context["settings_form"]
    fields = {name: page[name].value() for name in page.fields}
    left_out = (None, False)
    sent = {name: value for name, value in fields.items() if value not in left_out}
    return sent | {"grader_prompts": []} | changed


@pytest.mark.django_db
def test_an_upload_that_finds_no_room_is_said(collection, owner, client_of, settings, tmp_path):
    """The file that it writes is a device that is always full."""
    settings.DATA_DIR = tmp_path
    browser = client_of(owner)
    browser.raise_request_exception = False
    batch = begin_import(collection, by=owner)
    last = staging.stage_text(batch, "t1\twhy")
    for key in range(last.pk + 1, last.pk + 9):
        place = staging.path_of(ImportFile(pk=key, batch=batch, name="t.tsv"))
        place.parent.mkdir()
        place.symlink_to("/dev/full")
    address = f"/collections/autumn/imports/{batch.pk}/add/"
    answer = browser.post(address, {"uploads": SimpleUploadedFile("t.tsv", b"t1\twhy\n" * 100_000)})
    assert answer.status_code == 503
    assert "disk is full" in markup(answer)
    assert list(batch.files.all()) == [last], "nothing of the upload is left"
