"""Two runs beside each other: on the page, from the API, on the command line."""

import html
import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.rubricweb.markup import markup

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/comparison/"
CHOSEN = {"first": "first", "second": "both"}
VERDICT = "With 2 topics no run can be clearly ahead."
SAID = "both is ahead of first by 0.750 (2 topics)."


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def test_the_page_says_it_and_shows_each_topic(made, viewer, client_of):
    t1, t2 = (made.collection.topics.get(query_id=query_id) for query_id in ("t1", "t2"))
    shown = text(client_of(viewer).get(PAGE, CHOSEN))
    assert f"{VERDICT} {SAID}" in shown
    assert "An interval takes six topics or more" in shown
    assert f"Topic both first Difference {t2} 1.000 0.000 1.000 {t1} 1.000 0.500 0.500" in shown
    assert t2.text in str(t2)


def test_by_default_it_is_of_the_first_two(made, viewer, client_of):
    shown = text(client_of(viewer).get(PAGE, {"test": "studentised"}))
    assert f"{VERDICT} both is ahead of stray by 0.500 (2 topics)." in shown


def test_refused_controls_and_roles(made, viewer, outsider, client_of):
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    assert client.get(PAGE, {"first": "nobody"}).status_code == 422
    same = client.get(PAGE, {"first": "both", "second": "both"})
    assert (same.status_code, "Choose two different runs." in text(same)) == (422, True)
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="comparison"')


def test_one_run_is_beside_none(made, viewer, client_of):
    made.collection.runs.exclude(run_tag="both").update(state="withdrawn")
    made.collection.save()
    assert "A comparison takes two runs" in text(client_of(viewer).get(PAGE))


def test_the_command_says_the_same(made):
    out = StringIO()
    call_command("compare_runs", "autumn", "first", "both", *made.names, stdout=out)
    assert out.getvalue() == f"{VERDICT} {SAID}\n"
    out = StringIO()
    call_command("compare_runs", "autumn", "first", "both", *made.names, "--format", "json", stdout=out)
    assert json.loads(out.getvalue())["difference"] == 0.75
    with pytest.raises(CommandError, match=r"no run nobody; its runs are both, first, lacks, stray\."):
        call_command("compare_runs", "autumn", "nobody", "both", *made.names)
