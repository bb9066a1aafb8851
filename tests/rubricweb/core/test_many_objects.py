"""Forms with a box for each object, in collections with more objects than Django takes fields by default."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Topic
from tests.factories import MembershipFactory, UserFactory, gradable, grade, lexical_config
from tests.rubricweb.forms import Form, forms_of
from tests.rubricweb.routes import readable_routes
from tests.rubricweb.worlds import blind_campaign, parameters, world

pytestmark = pytest.mark.django_db
OBJECTS = 5_000
"""Runs, topics, items, people... of a large collection."""
MANY = 1_100
"""More than Django takes by default."""
FIXED = "submissions:call"
"""The rules of a track: what comes several times there comes from us."""
LEAST_BYTES = len("&item=123456789")


def in_large(form: Form) -> tuple[int, int]:
    """Return how many fields and bytes the form sends, if what comes several times comes for each object."""
    pairs = [(re.sub(r"\d+", "0", name), name, value) for name, value in form.all_chosen()]
    counts = Counter(pattern for pattern, _, _ in pairs)
    repeated = [pattern for pattern, count in counts.items() if count > 1]
    sizes = dict.fromkeys(repeated, LEAST_BYTES)
    for pattern, name, value in pairs:
        sizes[pattern] = max(sizes.get(pattern, 0), len(urlencode({name: value})) + 1)
    return len(repeated) * OBJECTS, sum(sizes[pattern] for pattern in repeated) * OBJECTS


@pytest.mark.portable
def test_forms_that_grow_with_the_collection_are_within_the_limits(
    collection, owner, assessor, client_of, settings
):
    second = MembershipFactory(
        user=UserFactory(username="second"), collection=collection, role=Role.ASSESSOR
    ).user
    bank = world(collection, owner, second)
    values = parameters(bank, assessor, blind_campaign(bank, by=owner))
    client, large = client_of(owner), {}
    for route in readable_routes():
        page = client.get(route.address(values))
        if page.status_code != 200 or not page["Content-Type"].startswith("text/html"):
            continue
        for number, form in enumerate(forms_of(page)):
            if form.method == "post" and in_large(form)[0] and not route.name.startswith(FIXED):
                large[route.name, number] = in_large(form)
    assert len(large) > 20
    most_fields, most_bytes = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS, settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    assert {form: sizes for form, sizes in large.items() if sizes > (most_fields, 0)} == {}
    assert {form: sizes for form, sizes in large.items() if sizes[1] > most_bytes} == {}


def test_campaign_of_all_topics_of_a_large_collection(collection, owner, client_of):
    bank = gradable(collection, topics=1, passages=1, items=1)
    grade(lexical_config(), bank.items.get(), collection.passages.get(), 3)
    Topic.objects.bulk_create(
        Topic(collection=collection, query_id=f"q{n}", text=f"need {n}", position=10 + n) for n in range(MANY)
    )
    client, address = client_of(owner), reverse("campaigns:campaign-new", args=[collection.slug])
    form = next(
        form for form in forms_of(client.get(address)) if form.attributes.get("id") == "campaign-form"
    )
    assert len(form.all_chosen()) > MANY
    answer = client.post(address, form.body(), content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 422  # the last question asks for cells that failed, and none did
