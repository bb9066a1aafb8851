"""A passage beside the items, with their grades on it."""

import re

import pytest
from django.urls import reverse

from tests.rubricweb.markup import markup


@pytest.fixture
def editor(autumn) -> str:
    return reverse("review:topic", args=[autumn.bank.pk, autumn.topic.pk])


def test_the_first_is_the_one_with_the_highest_judgment(client_of, viewer, autumn, editor):
    page = client_of(viewer).get(f"{editor}?beside=first")
    beside = page.context["beside"]
    assert (beside.passage, beside.before, beside.after.judgment) == (autumn.passages["d1"], None, 2)
    assert "Anthocyanins make maple leaves red in autumn." in markup(page)
    rows = [row for group in page.context["sheet"].groups for row in group.rows]
    assert {row.item.pk: row.grade for row in rows} == dict(
        zip([item.pk for item in autumn.items], (5, 0, 0), strict=True)
    )


def test_another_one_by_its_id(client_of, viewer, autumn, editor):
    chosen = autumn.passages["d4"]
    page = client_of(viewer).get(f"{editor}?beside={chosen.pk}")
    assert page.context["beside"].passage == chosen
    assert "<script>alert" not in markup(page)
    nobody = client_of(viewer).get(f"{editor}?beside=999999999")
    assert nobody.context["beside"].number == 1


def test_the_neighbours_have_the_keys_of_next_and_previous(client_of, viewer, autumn, editor):
    html = markup(client_of(viewer).get(f"{editor}?beside={autumn.passages['d2'].pk}"))
    beside = re.findall(r'data-key-action="(\w+)"\s+href="[^"]*beside=\d+', html)
    assert beside == ["previous", "next"]
