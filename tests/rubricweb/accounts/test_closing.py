"""Accounts are closed: nothing personal stays, and everything that was rated does."""

from __future__ import annotations

import pytest
from django.test import Client

from rubricweb.accounts.actions import CannotClose, close_account, set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.campaigns.leases import top_up
from rubricweb.core.models import AuditEntry
from rubricweb.grades.human_models import HumanGrade
from rubricweb.review.models import Flag, SavedView
from tests.factories import PASSWORD
from tests.rubricweb.markup import markup
from tests.rubricweb.worlds import blind_campaign, world

ACCOUNT = "/accounts/"
PAGE = "/accounts/close/"


def test_ratings_stay_under_a_pseudonym_and_the_person_goes(collection, owner, assessor, client_of):
    bank = world(collection, owner, assessor)
    campaign = blind_campaign(bank, by=owner)
    top_up(campaign, assessor)
    SavedView.objects.create(user=assessor, collection=collection, name="Mine")
    set_role(assessor, collection, role=Role.ASSESSOR, by=owner)
    client = client_of(assessor)
    assert client.post(PAGE, {"password": PASSWORD})["Location"] == "/accounts/sign-in/"
    assert client.get("/")["Location"].startswith("/accounts/sign-in/")

    closed = User.objects.get(pk=assessor.pk)
    assert closed.username.startswith("assessor-")
    assert (closed.first_name, closed.email, closed.is_active) == ("", "", False)
    assert not closed.memberships.exists()
    assert HumanGrade.objects.filter(by=closed).count() == 12
    assert not campaign.turns.filter(person=closed).exists()
    assert not SavedView.objects.exists()
    details = " ".join(AuditEntry.objects.values_list("detail", flat=True))
    assert "assessor: assessor" not in details
    assert f"{closed.username}: assessor" in details
    signed_in = Client().post("/accounts/sign-in/", {"username": "assessor", "password": PASSWORD})
    assert signed_in.status_code == 200


def test_a_wrong_password_closes_nothing(assessor, client_of):
    answer = client_of(assessor).post(PAGE, {"password": "guess"})
    assert answer.status_code == 422
    assert "not your password" in markup(answer)
    assert User.objects.get(pk=assessor.pk).is_active


def test_the_last_organizer_hands_over_first(collection, owner, assessor, client_of):
    assert "Nobody else organizes Autumn track" in markup(client_of(owner).get(ACCOUNT))
    client_of(owner).post(PAGE, {"password": PASSWORD})
    assert User.objects.get(pk=owner.pk).is_active
    with pytest.raises(CannotClose, match="organizes Autumn track"):
        close_account(owner, by=owner)
    set_role(assessor, collection, role=Role.ORGANIZER, by=owner)
    close_account(owner, by=owner)
    assert not User.objects.get(pk=owner.pk).is_active


def test_the_last_administrator_stays(outsider):
    outsider.is_superuser = True
    outsider.save()
    with pytest.raises(CannotClose, match="administers"):
        close_account(outsider, by=outsider)


def test_staff_closes_accounts_on_the_admin_pages(owner, assessor, outsider, client_of):
    outsider.is_staff = outsider.is_superuser = True
    outsider.save()
    sent = {"action": "close_accounts", "_selected_action": [assessor.pk, owner.pk]}
    answer = client_of(outsider).post("/admin/accounts/user/", sent, follow=True)
    told = [str(message) for message in answer.context["messages"]]
    assert [words.split(".")[0][:20] for words in told] == ["assessor is closed, ", "owner is still open"]
    assert User.objects.filter(pk__in=[assessor.pk, owner.pk], is_active=True).get() == owner
    assert not Flag.objects.exists()
