"""The page of inter-annotator tables, and its command."""

import html
import json
import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests import factories
from tests.rubricweb.markup import markup
from tests.worked import judge

pytestmark = pytest.mark.portable

PAGE = "/leaderboards/autumn/agreement/"


def text(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup(response))).split())


def command(*options):
    out = StringIO()
    call_command("agreement", "autumn", *map(str, options), stdout=out)
    return out.getvalue()


def test_the_tables(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(PAGE)
    assert response.status_code == 200
    said = text(response)
    assert "Label judged 2 or more less Total" in said
    assert "4\N{EN DASH}5 2 1 3 0.500" in said
    assert "below 4 0 1 1" in said


def test_thresholds_are_in_the_address(made, viewer, client_of):
    judge(made)
    said = text(client_of(viewer).get(PAGE, {"min_grade": "5", "min_relevant": "3"}))
    assert "judged 3 or more" in said
    assert "5 1 0 1 1.000" in said


def test_without_judgments(made, viewer, client_of):
    assert "No human judgments" in text(client_of(viewer).get(PAGE))


def test_what_cannot_be_shown_is_said(made, viewer, client_of):
    judge(made)
    response = client_of(viewer).get(PAGE, {"min_grade": "6"})
    assert response.status_code == 422
    assert "less than or equal to 5" in text(response)
    empty = factories.CollectionFactory(slug="empty")
    factories.MembershipFactory(user=viewer, collection=empty)
    assert "No grades yet" in text(client_of(viewer).get("/leaderboards/empty/agreement/"))


def test_roles_and_parts(made, viewer, outsider, client_of, django_assert_max_num_queries):
    judge(made)
    assert client_of(outsider).get(PAGE).status_code == 404
    client = client_of(viewer)
    assert client.post(PAGE).status_code == 405
    part = client.get(PAGE, headers={"HX-Request": "true"})
    assert markup(part).lstrip().startswith('<div id="agreement"')
    with django_assert_max_num_queries(60):
        client.get(PAGE)


def test_the_command_prints_json_and_tables(made):
    judge(made)
    found = json.loads(command("--min-relevant-judgment", 2))
    assert found["graders"][0]["binary"] == [[2, 1], [0, 1]]
    assert found["graders"][0]["kappa"] == 0.5
    lines = command("--format", "tsv").splitlines()
    header, *rows = [line.split("\t") for line in lines if not line.startswith("# ")]
    assert header[:2] == ["table", "grader"]
    assert len(rows) == 4 + 18
    assert {len(row) for row in rows} == {len(header)}
    assert command("--format", "table").startswith("Labels against human judgments, binarised\n")
    tex = command("--format", "tex", "--min-answers", 1)
    assert r"Grader & Label & judged 2 or more & less & Total & Cohen's $\kappa$" in tex
    assert tex.count(r"\begin{tabular}") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--llm", "gpt"), "no llm gpt; there are lexical"),
        (("--min-grade", 9), "min grade is 9, expected 1 to 5"),
        (("--format", "csv"), "no format 'csv'"),
    ],
)
def test_the_command_says_what_is_wrong(made, options, message):
    judge(made)
    with pytest.raises(CommandError, match=message):
        command(*options)


def test_the_command_needs_judgments(made):
    with pytest.raises(CommandError, match="no human judgments"):
        command()
