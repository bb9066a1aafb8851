"""Members are removed by organizers, the last organizer by nobody."""

from __future__ import annotations

from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from tests.rubricweb.markup import markup


def page(person) -> str:
    return f"/collections/autumn/people/members/{person.pk}/remove/"


def test_a_removed_member_is_an_outsider(collection, owner, viewer, client_of):
    client = client_of(owner)
    people = markup(client.get("/collections/autumn/people/"))
    assert f'action="{page(viewer)}"' in people
    assert "Ben will no longer see the collection." in people
    assert client.post(page(viewer))["Location"] == "/collections/autumn/people/"
    assert client_of(viewer).get("/collections/autumn/").status_code == 404
    entry = AuditEntry.objects.get(verb="member removed")
    assert (entry.by, entry.detail, entry.collection) == (owner, "viewer: viewer", collection)


def test_the_last_organizer_stays(collection, owner, assessor, client_of):
    assert "Nobody else organizes" in markup(client_of(owner).post(page(owner), follow=True))
    set_role(assessor, collection, role=Role.ORGANIZER, by=owner)
    assert client_of(owner).post(page(owner))["Location"] == "/"
    assert list(Membership.objects.filter(role=Role.ORGANIZER).values_list("user", flat=True)) == [
        assessor.pk
    ]


def test_only_organizers_remove_members(collection, developer, viewer, outsider, client_of):
    answers = [client_of(who).post(page(viewer)).status_code for who in (developer, outsider)]
    assert answers == [403, 404]
    assert client_of(developer).get(page(viewer)).status_code == 405
    assert viewer.memberships.exists()
