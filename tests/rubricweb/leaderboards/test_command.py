"""`manage.py leaderboard`."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from rubricweb.banks.versions import name_version
from rubricweb.leaderboards.board import columns
from tests.worked import judge


def output(*arguments):
    out = io.StringIO()
    call_command("leaderboard", "autumn", *arguments, stdout=out)
    return out.getvalue()


def test_json_states_everything(made):
    judge(made)
    found = json.loads(output("--measure", "rubric_cover", *made.names))

    assert [(row["rank"], row["run_tag"], row["score"], row["n_topics"]) for row in found["rows"]] == [
        (1, "both", 1.0, 2),
        (2, "stray", 0.5, 2),
        (3, "first", 0.25, 2),
        (3, "lacks", 0.25, 2),
    ]
    assert found["rows"][3]["n_answered"] == 1
    wanted = {
        "collection": "autumn",
        "measure": "rubric_cover",
        "bank": "main",
        "threshold": ">= 4",
        "cutoff": 20,
    }
    assert {key: found[key] for key in wanted} == wanted
    assert found["grader"]["backend"] == "lexical"
    assert found["correlations"][0]["spearman"] == {
        "value": pytest.approx(3.75 / 4.5),
        "runs": 4,
        "reason": "",
    }


def test_what_is_undefined_is_null(made):
    made.bank.items.all().delete()
    found = json.loads(output("--bank", "main", *made.names))

    assert {(row["score"], row["stderr"]) for row in found["rows"]} == {(None, None)}
    assert found["topics"] == 0


def test_tsv_has_a_header_that_states_everything(made):
    judge(made)
    lines = output("--measure", "P_2", "--mode", "binary", "--format", "tsv", *made.names).splitlines()
    comments = [line for line in lines if line.startswith("# ")]

    assert lines[len(comments) :] == [
        "run_tag\tscore\tstderr\tn_topics\trank_first\trank_last\tlow\thigh\tjudged\tverified",
        "both\t0.75\t0.25\t2\t1\t4\t0.5\t1.0\t1.0\t-",
        "first\t0.25\t0.25\t2\t1\t4\t0.0\t0.5\t1.0\t-",
        "lacks\t0.25\t0.25\t2\t1\t4\t0.0\t0.5\t1.0\t-",
        "stray\t0.25\t0.25\t2\t1\t4\t0.0\t0.5\t0.6666666666666666\t-",
    ]
    for stated in (
        "# measure: P_2",
        "# threshold: grade >= 4",
        "# labels: 1 if the highest rating is >= 4, else 0",
    ):
        assert stated in comments
    assert any(
        line.startswith("# Kendall tau-b with human judgments (P_2, relevant from 2): ") for line in comments
    )


def test_json_outranks_the_format(made):
    assert json.loads(output("--json", "--format", "tsv", *made.names))["rows"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--measure", "foo"], "no measure 'foo'; known are"),
        (["--format", "xml"], "no format 'xml'; known are json, tsv, tex"),
        (["--bank", "old"], "autumn has no bank old; its banks are main"),
        (["--min-grade", "0"], "min grade is 0, expected 1 to 5"),
        (["--cutoff", "0"], "cutoff is 0, expected 1 to 100000"),
        (["--kind", "poem"], "not poems"),
        (["--mode", "mean"], "known are max, binary, count"),
        (["--backend", "gpu"], "on back-end gpu; there are grades by lexical"),
    ],
)
def test_one_line_says_what_there_is_instead(made, arguments, told):
    with pytest.raises(CommandError) as caught:
        output(*made.names, *arguments)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_collection_lists_the_known_ones(made):
    with pytest.raises(CommandError, match="no collection spring; there are autumn"):
        call_command("leaderboard", "spring", *made.names)


def test_every_option_of_the_command(made, developer):
    name_version(made.bank, name="First", by=developer)
    options = ["--measure", "cover-4", "--columns", "rag24", "--missing", "skip", "--test", "t"]
    found = json.loads(output(*made.names, *options, "--bank-version", "1", "--ratings", "corrected"))

    assert (found["missing"], found["test"], found["ratings"], found["bank_version"]) == (
        "skip",
        "t",
        "corrected",
        1,
    )
    assert list(found["rows"][0]["columns"]) == [*columns.RAG24]
    assert found["rows"][0]["columns"]["cover-4"] == found["rows"][0]["score"] == 1
    assert (found["rows"][0]["rank_first"], found["rows"][0]["low"]) == (1, 1)
    assert found["marks"]["median"] == pytest.approx(0.5)


def test_a_subtopic_and_a_definition(made):
    made.bank.items.filter(topic=made.topics["t1"]).update(facet_id="a")
    found = json.loads(output(*made.names, "--topic", "t1", "--subtopic", "a", "--by-subtopic"))

    assert (found["topics"], found["topic"], found["subtopic"]) == (1, "t1", "a")
    assert found["top"] is None
    assert {row["rank_last"] for row in found["rows"]} == {None}
    workbench = json.loads(output(*made.names, "--definition", "workbench"))
    assert (workbench["definition"], workbench["missing"]) == ("workbench", "skip")


def test_latex(made):
    lines = output(*made.names, "--format", "tex", "--columns", "P_1").splitlines()

    assert "% measure: Rubric-Cover@20" in lines
    assert r"Ranks & Run & Rubric-Cover@20 & $\pm$ std. err. & P\_1 \\" in lines
    assert r"1--4 & both & 1.000 & 0.000 & 1.000 \\" in lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--definition", "x"], "no definition 'x'; known are papers, workbench, workbench_0"),
        (["--ratings", "x"], "no ratings 'x'; known are grader, humans, corrected"),
        (["--test", "x"], "no test 'x'; known are randomisation, t"),
        (["--missing", "x"], "no missing 'x'; known are zero, skip"),
        (["--bank-version", "3"], "no version 3 of bank main; there are none"),
        (["--topic", "t9"], "autumn has no topic t9"),
        (["--columns", "foo"], "no measure 'foo'"),
    ],
)
def test_options_that_cannot_be_say_what_there_is(made, arguments, told):
    with pytest.raises(CommandError) as caught:
        output(*made.names, *arguments)
    assert told in str(caught.value)
