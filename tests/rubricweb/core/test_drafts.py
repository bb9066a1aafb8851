"""What people type outlives the loss of a session: every form with a text of several lines keeps a draft."""

from __future__ import annotations

import pytest

from rubricweb.accounts.roles import Role
from tests.factories import MembershipFactory, UserFactory
from tests.rubricweb.forms import Form, forms_of
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def has_text(form: Form) -> bool:
    return form.method == "post" and any(control.tag == "textarea" for control in form.controls)


@pytest.fixture
def clients(collection, owner, client_of):
    """Browsers of an organizer who is staff, of an assessor and of a team."""
    owner.is_staff = True
    owner.save()
    roles = {Role.ASSESSOR: "", Role.PARTICIPANT: "maple"}
    members = [MembershipFactory(collection=collection, role=role, team=roles[role]).user for role in roles]
    return [client_of(person) for person in (owner, *members)]


def test_every_form_with_a_text_keeps_a_draft(collection, owner, assessor, clients):
    second = MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user
    bank = world(collection, owner, second)
    values = parameters(bank, assessor, blind_campaign(bank, by=owner))
    kept, lost = set(), set()
    for route in readable_routes():
        for client in clients:
            page = client.get(route.address(values))
            if page.status_code != 200 or not page["Content-Type"].startswith("text/html"):
                continue
            for form in filter(has_text, forms_of(page)):
                names = {control.name for control in form.controls if control.tag == "textarea"}
                (kept if form.attributes.get("data-draft") else lost).add((route.name, *sorted(names)))
    assert len(kept) > 20
    assert lost == set()
