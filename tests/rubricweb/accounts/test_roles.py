"""Who may do what, and the one call that says so."""

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import Http404

from rubricweb.accounts import actions, roles
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from tests.factories import MembershipFactory
from tests.rubricweb.routes import routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

SUBMITTING = (
    *("submissions:", "accounts:", "api:call", "api:submission"),
    *("exports:topics-file", "home:results", "home:home"),
)
ORDER = [Role.PARTICIPANT, Role.VIEWER, Role.ASSESSOR, Role.DEVELOPER, Role.ORGANIZER]


@pytest.mark.parametrize("held", ORDER)
@pytest.mark.parametrize("needed", ORDER)
def test_a_role_includes_those_before_it(held, needed):
    assert held.includes(needed) == (ORDER.index(held) >= ORDER.index(needed))


def test_an_outsider_learns_nothing(outsider, collection):
    with pytest.raises(Http404):
        roles.require(outsider, collection, roles.TO_VIEW)


def test_too_little_role_is_said(viewer, collection):
    with pytest.raises(PermissionDenied, match="topic developer"):
        roles.require(viewer, collection, roles.TO_EDIT_BANK)


def test_a_participant_is_an_outsider_but_where_teams_submit(participant, collection):
    assert roles.require(participant, collection, roles.TO_SUBMIT) is Role.PARTICIPANT
    for needed in (roles.TO_VIEW, roles.TO_ORGANIZE):
        with pytest.raises(Http404):
            roles.require(participant, collection, needed)


def test_enough_role_passes(developer, collection):
    assert roles.require(developer, collection, roles.TO_GRADE) is Role.DEVELOPER


def test_setting_a_role_changes_the_one_membership_and_is_audited(viewer, owner, collection):
    actions.set_role(viewer, collection, role=Role.ASSESSOR, by=owner)
    assert Membership.objects.get(user=viewer).role == Role.ASSESSOR
    entry = AuditEntry.objects.get(verb="role set")
    assert (entry.by, entry.detail) == (owner, "viewer: assessor")


@pytest.mark.parametrize(("role", "team"), [(Role.PARTICIPANT, ""), (Role.ORGANIZER, "maple")])
def test_participants_have_a_team_and_nobody_else(viewer, collection, role, team):
    with pytest.raises(IntegrityError, match="participants_have_a_team"), transaction.atomic():
        actions.set_role(viewer, collection, role=role, team=team, by=None)


@pytest.mark.portable
def test_every_other_page_answers_a_participant_as_an_outsider(
    collection, owner, assessor, participant, outsider, client_of
):
    """But for the pages where teams submit, to which Home leads, and their results."""
    second = MembershipFactory(collection=collection, role=Role.ASSESSOR).user
    bank = world(collection, owner, second)
    known = parameters(bank, assessor, blind_campaign(bank, by=owner))
    theirs, others = client_of(participant), client_of(outsider)
    walked, differing = set(), {}
    for route in routes():
        if route.name.startswith(SUBMITTING):
            continue
        address = route.address(known)
        for ask in ("get", "post"):
            answers = [getattr(client, ask)(address).status_code for client in (theirs, others)]
            if answers[0] != answers[1]:
                differing[route.name, ask] = answers
        walked.add(route.name)
    assert differing == {}
    assert len(walked) > 100
    assert list(Collection.objects.visible_to(participant)) == []


def _administers(person) -> None:
    person.is_staff = person.is_superuser = True
    person.save()


def test_the_admin_pages_keep_the_last_organizer(owner, outsider, collection, client_of):
    _administers(outsider)
    page = f"/admin/accounts/membership/{collection.memberships.get(user=owner).pk}/"
    client = client_of(outsider)
    refused = client.post(f"{page}change/", {"role": "viewer", "team": ""})
    assert "Nobody else organizes Autumn track" in refused.content.decode()
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 403
    assert collection.memberships.get(user=owner).role == Role.ORGANIZER


def test_the_admin_pages_give_roles_at_once(viewer, outsider, collection, client_of):
    _administers(outsider)
    client = client_of(outsider)
    page = f"/admin/accounts/membership/{collection.memberships.get(user=viewer).pk}/"
    assert client.post(f"{page}change/", {"role": "participant", "team": "oak"}).status_code == 302
    sent = {"user": outsider.pk, "collection": collection.pk, "role": "assessor", "team": ""}
    assert client.post("/admin/accounts/membership/add/", sent).status_code == 302
    roles_now = dict(collection.memberships.values_list("user__username", "role"))
    assert roles_now == {"viewer": "participant", "outsider": "assessor"}
    assert client.post(f"{page}delete/", {"post": "yes"}).status_code == 302
    assert not collection.memberships.filter(user=viewer).exists()
