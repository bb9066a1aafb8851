"""Who may do what, and the one call that says so."""

import pytest
from django.core.exceptions import PermissionDenied
from django.http import Http404

from rubricweb.accounts import actions, roles
from rubricweb.accounts.models import Membership
from rubricweb.accounts.roles import Role
from rubricweb.core.models import AuditEntry

ORDER = [Role.VIEWER, Role.ASSESSOR, Role.DEVELOPER, Role.ORGANIZER]


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


def test_enough_role_passes(developer, collection):
    assert roles.require(developer, collection, roles.TO_GRADE) is Role.DEVELOPER


def test_setting_a_role_changes_the_one_membership_and_is_audited(viewer, owner, collection):
    actions.set_role(viewer, collection, role=Role.ASSESSOR, by=owner)
    assert Membership.objects.get(user=viewer).role == Role.ASSESSOR
    entry = AuditEntry.objects.get(verb="role set")
    assert (entry.by, entry.detail) == (owner, "viewer: assessor")
