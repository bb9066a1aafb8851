"""`rubricweb meta_evaluate`."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.worked import judge

pytestmark = pytest.mark.portable


def run(*args):
    out = StringIO()
    call_command("meta_evaluate", "autumn", *map(str, args), stdout=out)
    return out.getvalue()


@pytest.fixture
def official(tmp_path):
    path = tmp_path / "trec.tsv"
    path.write_text("run_tag\trank\nboth\t1\nstray\t2\nfirst\t3\nlacks\t4\n", encoding="utf-8")
    return path


def test_json_against_a_file(made, official):
    (found,) = json.loads(run("--official", official, "--measure", "rubric_cover", "--min-grade", "4"))
    (row,) = found["rows"]
    assert (found["against"], row["min_grade"], row["bank"]) == ("trec.tsv", 4, "main")
    assert row["measures"]["rubric_cover"]["kendall"]["value"] == pytest.approx(5 / 30**0.5)
    assert row["measures"]["rubric_cover"]["kendall"]["void"] is None
    assert not made.collection.official_scores.exists(), "comparing imports nothing"


def test_measures_have_short_names_here_too(made, official):
    options = ("--official", official, "--min-grade", "1", "--measure", "cover-4", "--measure", "P.2")
    (found,) = json.loads(run(*options))
    assert list(found["rows"][0]["measures"]) == ["cover-4", "P_2"]
    (plain,) = json.loads(run("--official", official, "--min-grade", "4", "--measure", "rubric_cover"))
    assert found["rows"][0]["measures"]["cover-4"] == plain["rows"][0]["measures"]["rubric_cover"]


def test_tables_for_papers(made, official):
    judge(made)
    lines = run("--official", official, "--against", "judgments", "--measure", "P_2", "--format", "tsv")
    header, *rows = [line.split("\t") for line in lines.splitlines() if not line.startswith("# ")]
    found = [dict(zip(header, row, strict=True)) for row in rows]
    assert [row["against"] for row in found] == ["trec.tsv (ranks)"] * 4 + [
        "human judgments (P_2, relevant from 2)"
    ] * 4
    assert {row["measure"] for row in found} == {"P_2"}
    assert {row["spearman_low"] for row in found} == {"NaN"}, "two topics are too few"
    assert "# collection: autumn" in lines
    assert "Wins\n" in run("--official", official, "--format", "table")
    tex = run("--official", official, "--format", "tex", "--min-grade", "4")
    assert r"\begin{tabular}{lllrrrrrrrrrrrrrrrrrrrrr}" in tex


@pytest.mark.parametrize("kind", ["table", "tex"])
def test_tables_say_why_a_dash_is_void(made, official, kind):
    options = "--official", official, "--measure", "P_2", "--format", kind

    assert "a dash is void: fewer than 3 runs in both\n" in run(*options, "--top", "2")
    assert "void" not in run(*options)


def test_default_is_what_the_collection_holds(made):
    judge(made)
    (found,) = json.loads(run("--min-relevant-judgment", "3"))
    assert found["against"] == "judgments"
    assert [row["min_grade"] for row in found["rows"]] == [1, 3, 4, 5]
    assert "relevant from 3" in found["rows"][0]["measures"]["map"]["against"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to compare with"),
        (("--against", "TREC"), "named TREC; there are none"),
        (("--llm", "gpt"), "no llm gpt; there are lexical"),
        (("--bank", "other"), "no bank other; there are main"),
        (("--measure", "precision"), "no measure 'precision'"),
        (("--format", "xml"), "no format 'xml'"),
    ],
)
def test_errors_say_what_there_is(made, options, message):
    with pytest.raises(CommandError, match=message):
        run(*options)
