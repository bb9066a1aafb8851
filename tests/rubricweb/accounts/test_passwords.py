"""People change their own password, and set a forgotten one by a link that works once."""

import re

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from rubricweb.accounts import passwords
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.api.tokens import make_token, token_of
from rubricweb.core.models import AuditEntry
from tests.factories import CollectionFactory, MembershipFactory, UserFactory
from tests.rubricweb.markup import markup

OLD = "the-old-password"
NEW = "a-quite-new-password"


@pytest.fixture
def person(assessor) -> User:
    assessor.set_password(OLD)
    assessor.email = "ana@example.org"
    assessor.save()
    return assessor


def _set_by(link: str, password: str) -> int:
    """Follow the link in a browser of its own, and send the form."""
    browser = Client()
    opened = browser.get(link, follow=True)
    if b"new_password1" not in opened.content:
        return 0
    answer = browser.post(opened.request["PATH_INFO"], {"new_password1": password, "new_password2": password})
    return answer.status_code


def test_one_changes_ones_own_password_and_other_browsers_must_sign_in_again(person, client_of):
    here, there = client_of(person), client_of(person)
    sent = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    assert here.post(reverse("accounts:password"), sent).status_code == 302
    person.refresh_from_db()
    assert person.check_password(NEW)
    assert here.get(reverse("accounts:account")).status_code == 200
    assert there.get(reverse("accounts:account")).status_code == 302
    assert AuditEntry.objects.get(verb="password changed").by == person


@pytest.mark.parametrize(
    "sent",
    [
        {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW},
        {"old_password": OLD, "new_password1": NEW, "new_password2": "another"},
        {"old_password": OLD, "new_password1": "short", "new_password2": "short"},
    ],
)
def test_what_does_not_fit_changes_nothing(person, client_of, sent):
    answer = client_of(person).post(reverse("accounts:password"), sent)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) <= {"old_password", "new_password1"}
    person.refresh_from_db()
    assert person.check_password(OLD)


def test_an_organizer_makes_a_link_that_works_once(person, owner, collection, client_of):
    address = reverse("corpus:password-link", args=[collection.slug, person.pk])
    page = client_of(owner).post(address)
    link = re.search(r"http://testserver(/accounts/password/set/[^<]+)", markup(page)).group(1)
    assert page["Cache-Control"] == "no-store"
    assert _set_by(link, NEW) == 302
    assert _set_by(link, "yet-another-password") == 0
    person.refresh_from_db()
    assert person.check_password(NEW)
    made = AuditEntry.objects.get(verb="password link made")
    assert (made.by, made.collection, made.detail) == (owner, collection, "assessor")


def test_only_organizers_make_links_and_only_for_members(
    person, owner, developer, viewer, outsider, collection, client_of
):
    address = reverse("corpus:password-link", args=[collection.slug, person.pk])
    assert client_of(owner).get(address).status_code == 405
    assert client_of(developer).post(address).status_code == 403
    assert client_of(viewer).post(address).status_code == 403
    assert client_of(outsider).post(address).status_code == 404
    stranger = reverse("corpus:password-link", args=[collection.slug, outsider.pk])
    assert client_of(owner).post(stranger).status_code == 404


def test_no_organizer_takes_over_an_account_that_can_do_more(person, owner, collection, client_of):
    address = reverse("corpus:password-link", args=[collection.slug, person.pk])
    MembershipFactory(user=person, collection=CollectionFactory(slug="spring"), role=Role.VIEWER)
    assert client_of(owner).post(address).status_code == 403
    assert passwords.may_make_link(UserFactory(is_superuser=True), person)
    admin = MembershipFactory(user=UserFactory(is_superuser=True), collection=collection).user
    assert not passwords.may_make_link(owner, admin)


@pytest.fixture
def _has_mail(settings):
    settings.EMAIL_HOST = "smtp.example.org"


@pytest.mark.usefixtures("_has_mail")
def test_a_link_is_mailed_once_in_five_minutes(person, client):
    for _ in range(2):
        answer = client.post(reverse("accounts:password-forgotten"), {"email": "Ana@example.org"})
        assert answer.status_code == 302
    (message,) = mail.outbox
    assert message.to == ["ana@example.org"]
    link = re.search(r"http://testserver(\S+)", message.body).group(1)
    assert _set_by(link, NEW) == 302


@pytest.mark.usefixtures("_has_mail")
def test_an_unknown_address_gets_the_same_answer(person, client):
    known, unknown = (
        client.post(reverse("accounts:password-forgotten"), {"email": email}, follow=True).content
        for email in ("ana@example.org", "nobody@example.org")
    )
    sentence = b"If an account has this address"
    assert sentence in known
    assert sentence in unknown
    assert len(mail.outbox) == 1


def test_without_mail_the_page_says_who_makes_a_link(person, client):
    page = markup(client.get(reverse("accounts:login")))
    assert "Ask an organizer" in page
    sent = client.post(reverse("accounts:password-forgotten"), {"email": "ana@example.org"})
    assert (sent.status_code, mail.outbox) == (422, [])
    assert "Ask an organizer" in markup(sent)


@pytest.mark.usefixtures("_has_mail")
def test_what_is_no_address_is_said_where_it_was_typed(client, db):
    sent = client.post(reverse("accounts:password-forgotten"), {"email": "ana"})
    assert sent.status_code == 422
    assert '<details id="forgotten" open>' in markup(sent)
    assert "Enter a valid email address." in markup(sent)


def test_a_new_password_ends_the_lockout(person, client):
    wrong = {"username": person.username, "password": "wrong"}
    statuses = [client.post(reverse("accounts:login"), wrong).status_code for _ in range(10)]
    assert statuses[-1] == 429
    assert _set_by(passwords.link_path(person), NEW) == 302
    right = {"username": person.username, "password": NEW}
    assert client.post(reverse("accounts:login"), right).status_code == 302


def _reset_by_link(person, client_of) -> None:
    assert _set_by(passwords.link_path(person), NEW) == 302


def _reset_on_the_admin_pages(person, client_of) -> None:
    admin = UserFactory(is_staff=True, is_superuser=True)
    sent = {"usable_password": "true", "password1": NEW, "password2": NEW}
    answer = client_of(admin).post(f"/admin/accounts/user/{person.pk}/password/", sent)
    assert answer.status_code == 302


def _changed_with_the_box_ticked(person, client_of) -> None:
    sent = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW, "revokes_tokens": "on"}
    assert client_of(person).post(reverse("accounts:password"), sent).status_code == 302


def _changed_without(person, client_of) -> None:
    sent = {"old_password": OLD, "new_password1": NEW, "new_password2": NEW}
    assert client_of(person).post(reverse("accounts:password"), sent).status_code == 302


@pytest.mark.parametrize(
    ("change", "is_open"),
    [
        (_reset_by_link, False),
        (_reset_on_the_admin_pages, False),
        (_changed_with_the_box_ticked, False),
        (_changed_without, True),
    ],
)
def test_tokens_after_a_new_password(person, client_of, change, is_open):
    _, text = make_token(person, name="nightly", scopes=["read"], days=30)
    change(person, client_of)
    person.refresh_from_db()
    assert person.check_password(NEW)
    assert (token_of(text) is not None) == is_open


def test_a_link_that_was_cut_says_so(client, db):
    page = client.get(reverse("accounts:password-set", args=["MQ", "abc-123"]))
    assert "no longer works" in markup(page)
