"""Who creates collections, and who imports."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.imports.models import Import
from tests.factories import CollectionFactory, MembershipFactory
from tests.rubricweb.imports.conftest import PAGE, QRELS
from tests.rubricweb.markup import markup

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


def test_staff_creates_a_collection_and_organizes_it(client_of, outsider):
    outsider.is_staff = True
    outsider.save()
    sent = {"name": "Winter track 2026", "slug": "", "description": "", "min_relevant": "2"}
    answer = client_of(outsider).post("/imports/new-collection/", sent)
    assert answer["Location"] == "/collections/winter-track-2026/imports/"
    made = Collection.objects.get(slug="winter-track-2026")
    assert (made.name, made.min_relevant) == ("Winter track 2026", 2)
    assert Membership.objects.get(collection=made, user=outsider).role == Role.ORGANIZER
    assert AuditEntry.objects.filter(verb="collection created", by=outsider, collection=made).exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"slug": "autumn"}, "autumn is taken"),
        ({"name": "…"}, "no letters or digits that an address can have"),
        ({"name": ""}, "This field is required"),
        ({"slug": "two words"}, "letters, numbers, underscores or hyphens"),
        ({"min_relevant": "-1"}, "greater than or equal to 0"),
    ],
)
def test_a_refused_collection_keeps_the_page(client_of, owner, wrong, said):
    owner.is_staff = True
    owner.save()
    sent = {"name": "Winter", "slug": "", "description": "", "min_relevant": "1"} | wrong
    answer = client_of(owner).post("/imports/new-collection/", sent)
    assert answer.status_code == 422
    assert said in words(answer)
    assert Collection.objects.count() == 1


def test_others_create_no_collection(client_of, owner):
    assert client_of(owner).get("/imports/new-collection/").status_code == 403
    assert "new-collection" not in markup(client_of(owner).get("/"))


@pytest.mark.parametrize(
    ("role", "status"),
    [("owner", 200), ("developer", 403), ("assessor", 403), ("viewer", 403), ("outsider", 404)],
)
def test_imports_are_for_organizers(role, status, request, upload, client_of):
    batch = upload({"q.txt": QRELS})
    file = batch.files.get()
    browser = client_of(request.getfixturevalue(role))
    assert browser.get(PAGE).status_code == status
    assert browser.get(f"{PAGE}{batch.pk}/").status_code == status
    shown = reverse("imports:imports", args=["autumn"]) in markup(browser.get("/collections/autumn/"))
    assert shown is (role == "owner")
    for address in ("add", "check", "start", "discard", "leave-out", f"files/{file.pk}"):
        assert browser.get(f"{PAGE}{batch.pk}/{address}/").status_code == 405
        if status != 200:
            assert browser.post(f"{PAGE}{batch.pk}/{address}/").status_code == status
    if status != 200:
        assert browser.post(PAGE, {"pasted": QRELS}).status_code == status
    assert Import.objects.count() == 1


def test_an_import_of_another_collection_is_not_found(upload, client_of, outsider):
    batch = upload({"q.txt": QRELS})
    other = MembershipFactory(user=outsider, role=Role.ORGANIZER, collection=CollectionFactory()).collection
    assert client_of(outsider).get(f"/collections/{other.slug}/imports/{batch.pk}/").status_code == 404


def test_a_collection_without_a_name_is_asked_for_its_name_alone(client_of, outsider):
    outsider.is_staff = True
    outsider.save()
    answer = client_of(outsider).post("/imports/new-collection/", {"name": "", "min_relevant": "1"})
    assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["name"])
