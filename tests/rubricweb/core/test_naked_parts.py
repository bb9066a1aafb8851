"""An address that a reader opens or shortens shows a page, never the bare part that htmx puts into one."""

import pytest

from tests.rubricweb.markup import markup
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.walking import is_page
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = [pytest.mark.django_db, pytest.mark.portable]


def test_no_address_shows_a_bare_part(collection, owner, viewer, client_of):
    bank = world(collection, owner, viewer)
    known = parameters(bank, viewer, blind_campaign(bank, by=owner, assignees=[viewer]))
    client = client_of(owner)
    answers = {route.name: client.get(route.address(known)) for route in readable_routes()}
    pages = {
        name: markup(answer)
        for name, answer in answers.items()
        if answer.status_code < 300 and is_page(answer)
    }
    assert len(pages) > 60
    assert [name for name, text in pages.items() if "<!doctype html>" not in text[:200].lower()] == []
