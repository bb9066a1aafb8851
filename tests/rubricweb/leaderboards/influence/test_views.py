"""The page of influence, view by view."""

import html
import re

import pytest

from tests import factories

PAGE = "/leaderboards/autumn/influence/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.content.decode())).split())


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("items", "Which pigment makes leaves red? t1 0.500 0.333"),
        ("runs", "stray 2 4 Why does bread rise? t2"),
        ("pairs", "Nothing to show"),
        ("holes", "stray 2 0.500 0.333 0.333 0.333 1"),
        ("teams", "On average a run would be"),
        ("origins", "All items of this board have one origin"),
        ("nonsense", "Which pigment makes leaves red?"),
    ],
)
def test_views(made, viewer, client_of, view, said):
    response = client_of(viewer).get(PAGE, {"view": view})
    assert response.status_code == 200
    assert said in text(response)


def test_items_link_to_their_grid_and_come_in_order(made, viewer, client_of):
    asked = r"(Which pigment|When does|Why does)"
    hard, easy = (client_of(viewer).get(PAGE, {"by": by, "all": "1"}) for by in ("hard", "easy"))
    assert f"/review/banks/{made.bank.pk}/topics/{made.topics['t1'].pk}/grid/" in hard.content.decode()
    body = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    first, last = (re.findall(asked, body.search(found.content.decode())[0]) for found in (hard, easy))
    assert first[0] == last[-1] == "Which pigment", "the fewest passages cover it"


def test_controls_travel_along(made, viewer, client_of):
    response = client_of(viewer).get(PAGE, {"view": "teams", "kind": "question", "teams": "b*"})
    assert '<input type="hidden" name="kind" value="question"' in response.content.decode()
    assert "b*" in text(response)
    refused = client_of(viewer).get(PAGE, {"view": "teams", "depth": "0"})
    assert refused.status_code == 422
    assert "greater than or equal to 1" in text(refused)


def test_roles_and_parts(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<div id="influence"')


def test_without_grades(viewer, client_of):
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client_of(viewer).get("/leaderboards/empty/influence/"))


def test_few_queries(made, viewer, client_of, django_assert_max_num_queries):
    client = client_of(viewer)
    client.get(PAGE)
    with django_assert_max_num_queries(30):
        client.get(PAGE)
