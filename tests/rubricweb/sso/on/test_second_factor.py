"""Second factors: set, asked for on every way in, locked after wrong codes, and removed."""

from __future__ import annotations

import time

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from rubricweb.accounts.models import User
from rubricweb.accounts.passwords import link_path
from rubricweb.api.models import Token
from rubricweb.api.tokens import make_token
from rubricweb.core.models import AuditEntry
from rubricweb.sso import actions
from rubricweb.sso.factors import CODE_FAILURES
from tests.rubricweb.sso.on.conftest import PASSWORD

pytestmark = pytest.mark.django_db

SECRET = "JBSWY3DPEHPK3PXP"
PERIOD = 30


def code(step: int = 1) -> str:
    """The code of the app; of the next half minute, since the present one is spent by setting the factor."""
    return format_hotp_value(hotp_value(SECRET, int(time.time()) // PERIOD + step))


@pytest.fixture
def recovery_codes(person: User) -> list[str]:
    """Set the person's second factor."""
    return actions.set_factor(person, SECRET)


def gave_password(**headers: str) -> Client:
    client = Client(headers=headers)
    answer = client.post(reverse("accounts:login"), {"username": "owner", "password": PASSWORD})
    assert answer.url.startswith(reverse("sso:code")), answer.url
    return client


def is_in(client: Client) -> bool:
    return client.get(reverse("accounts:session")).json()["person"] is not None


def give(client: Client, text: str, **extra: str):
    return client.post(reverse("sso:code"), {"code": text, "next": reverse("accounts:account")}, **extra)


def test_person_sets_a_factor_and_sees_recovery_codes_once(client_of, person):
    client = client_of(person)
    elsewhere = client_of(person)
    page = client.get(reverse("sso:factor"))
    secret = client.session["mfa.totp.secret"]
    assert secret in page.text
    assert page.shows_a_secret
    wrong = client.post(reverse("sso:factor"), {"code": "000000", "password": PASSWORD})
    assert wrong.status_code == 422
    right = format_hotp_value(hotp_value(secret, int(time.time()) // PERIOD))
    assert client.post(reverse("sso:factor"), {"code": right, "password": "x"}).status_code == 422
    page = client.post(reverse("sso:factor"), {"code": right, "password": PASSWORD})
    [codes] = [
        actions.RecoveryCodes(row).generate_codes()
        for row in Authenticator.objects.filter(type="recovery_codes")
    ]
    assert all(each in page.text for each in codes)
    account = client.get(reverse("accounts:account")).text
    assert "You have 10 recovery" in " ".join(account.split())
    assert not any(each in account for each in codes)
    assert not is_in(elsewhere), "a session that was open before is asked, too"
    assert AuditEntry.objects.filter(verb="second factor set", by=person).exists()


def test_password_alone_opens_nothing(person, recovery_codes, collection):
    client = gave_password()
    assert not is_in(client)
    for address in (reverse("home:home"), reverse("accounts:account"), collection.get_absolute_url()):
        answer = client.get(address, follow=True)
        assert answer.request["PATH_INFO"] == reverse("sso:code"), address
    assert client.get("/api/v1/collections/").status_code == 401
    events = client.get(
        reverse("corpus:events", args=[collection.slug]), headers={"Accept": "text/event-stream"}
    )
    assert events.status_code in (302, 401, 404)
    changed = {
        "old_password": PASSWORD,
        "new_password1": "leaves-in-november",
        "new_password2": "leaves-in-november",
    }
    client.post(reverse("accounts:password"), changed)
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    for name in ("sso:factor-remove", "sso:recovery-codes", "sso:factor"):
        client.post(reverse(name), {"code": code(), "password": PASSWORD})
    assert Authenticator.objects.count() == 2
    assert give(client, code()).url == reverse("accounts:account")
    assert is_in(client)


def test_admin_pages_and_links_for_passwords_ask_for_it(person, recovery_codes):
    User.objects.filter(pk=person.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    posted = {"username": "owner", "password": PASSWORD, "next": reverse("admin:index")}
    assert client.post(reverse("admin:login"), posted).url.startswith(reverse("sso:code"))
    assert client.get(reverse("admin:index"), follow=True).request["PATH_INFO"] == reverse("sso:code")
    person.refresh_from_db()
    form = client.get(link_path(person), follow=True)
    posted = {"new_password1": "leaves-in-november", "new_password2": "leaves-in-november"}
    client.post(form.request["PATH_INFO"], posted)
    assert not is_in(client)
    answer = client.post(reverse("accounts:login"), {"username": "owner", "password": "leaves-in-november"})
    assert answer.url.startswith(reverse("sso:code"))
    assert not is_in(client)


def test_page_that_signs_in_again_in_place_says_where_to(person, recovery_codes):
    client = Client(headers={"HX-Request": "true"})
    answer = client.post(reverse("accounts:login"), {"username": "owner", "password": PASSWORD})
    assert answer.status_code == 401
    assert "Sign in again in another tab" in answer.text
    assert not is_in(client)


def test_provider_and_its_invitations_ask_for_it_too(client, person, recovery_codes, arrive, switch):
    switch(links_by_email=True)
    assert arrive(client, next=reverse("accounts:account")).url.startswith(reverse("sso:code"))
    assert not is_in(client)
    assert give(client, code()).status_code == 302
    assert is_in(client)


def test_tokens_of_scripts_need_none(person, recovery_codes):
    _, text = make_token(person, name="script", scopes=list(Token.Scope), days=1)
    answer = Client().get("/api/v1/collections/", headers={"Authorization": f"Bearer {text}"})
    assert answer.status_code == 200


def test_wrong_codes_lock_the_account_from_every_address(person, recovery_codes):
    client = gave_password()
    statuses = [give(client, "000000").status_code for _ in range(CODE_FAILURES)]
    assert statuses == [422] * (CODE_FAILURES - 1) + [429]
    again = gave_password()
    assert give(again, code(), REMOTE_ADDR="198.51.100.7").status_code == 429
    assert give(again, recovery_codes[0]).status_code == 429
    assert not is_in(again)
    assert "000000" not in " ".join(AccessAttempt.objects.values_list("post_data", flat=True))
    AccessAttempt.objects.all().delete()
    assert give(again, code()).status_code == 302


def test_each_code_opens_once(person, recovery_codes):
    first, second, third = gave_password(), gave_password(), gave_password()
    assert give(first, code()).status_code == 302
    assert give(second, code()).status_code == 422
    assert give(second, recovery_codes[3]).status_code == 302
    assert give(third, recovery_codes[3]).status_code == 422
    assert give(third, "").status_code == 422
    assert AuditEntry.objects.filter(verb="recovery code used", by=person).count() == 1


def test_factor_of_somebody_else_opens_nothing(person, recovery_codes, viewer):
    theirs = actions.set_factor(viewer, "KRSXG5CTMVRXEZLU")
    client = gave_password()
    assert give(client, theirs[0]).status_code == 422
    session = client.session
    session["second_factor"] = Authenticator.objects.get(user=viewer, type="totp").pk
    session.save()
    assert not is_in(client)


def test_person_renews_codes_and_removes_the_factor_by_a_code(person, recovery_codes):
    client = gave_password()
    give(client, code())
    account = reverse("accounts:account")
    assert client.post(reverse("sso:factor-remove"), {"code": "000000"}).status_code == 422
    page = client.post(reverse("sso:recovery-codes"), {"code": recovery_codes[0]})
    assert page.status_code == 200
    assert client.post(reverse("sso:factor-remove"), {"code": recovery_codes[1]}).status_code == 422
    newest = actions.RecoveryCodes(Authenticator.objects.get(type="recovery_codes")).get_unused_codes()
    assert client.post(reverse("sso:factor-remove"), {"code": newest[0]}).url == f"{account}#second-factor"
    assert not Authenticator.objects.exists()
    assert is_in(client)
    answer = Client().post(reverse("accounts:login"), {"username": "owner", "password": PASSWORD})
    assert answer.url == reverse("home:home")


def test_administrator_removes_a_factor(person, recovery_codes, viewer, client_of, capsys):
    User.objects.filter(pk=viewer.pk).update(is_staff=True, is_superuser=True)
    client = client_of(viewer)
    chosen = {"action": "remove_factors", "_selected_action": [person.pk], "index": 0}
    page = client.post(reverse("admin:accounts_user_changelist"), chosen)
    assert not Authenticator.objects.exists(), page.status_code
    actions.set_factor(person, SECRET)
    call_command("remove_second_factor", "owner")
    assert "owner: removed" in capsys.readouterr().out
    removed = AuditEntry.objects.filter(verb="second factor removed", object_id=person.pk)
    assert set(removed.values_list("by__username", flat=True)) == {"viewer", None}
    assert client.get("/admin/mfa/authenticator/").status_code == 404
