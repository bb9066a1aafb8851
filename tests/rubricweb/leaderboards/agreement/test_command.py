"""The command of inter-annotator tables."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.worked import judge

pytestmark = pytest.mark.portable


def command(*options):
    out = StringIO()
    call_command("agreement", "autumn", *map(str, options), stdout=out)
    return out.getvalue()


def test_the_command_prints_json_and_tables(made):
    judge(made)
    found = json.loads(command("--min-relevant-judgment", 2, "--json"))
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
