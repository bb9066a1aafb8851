"""`rubricweb leaderboard`."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from grading.formats import registry as leaderboard_formats
from grading.formats.official import read_official
from grading.measures.registry import RAG24
from rubricweb.banks.versions import name_version
from tests import factories
from tests.worked import judge

pytestmark = pytest.mark.portable


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

    names = "run_tag rank score stderr n_topics n_answered rank_first rank_last is_clearly_behind low high"
    assert [line.split("\t") for line in lines[len(comments) :]] == [
        [*names.split(), "judged", "verified"],
        ["both", "1", "0.75", "0.25", "2", "2", "1", "4", "False", "NaN", "NaN", "1.0", "NaN"],
        ["first", "2", "0.25", "0.25", "2", "2", "1", "4", "False", "NaN", "NaN", "1.0", "NaN"],
        ["lacks", "2", "0.25", "0.25", "2", "1", "1", "4", "False", "NaN", "NaN", "1.0", "NaN"],
        [
            "stray",
            "2",
            "0.25",
            "0.25",
            "2",
            "2",
            "1",
            "4",
            "False",
            "NaN",
            "NaN",
            "0.6666666666666666",
            "NaN",
        ],
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


def test_last_of_two_formats_counts(made):
    assert json.loads(output("--format", "tsv", "--json", *made.names))["rows"]
    assert output("--json", "--format", "tsv", *made.names).startswith("#")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--measure", "foo"], "no measure 'foo'; known are"),
        (["--format", "xml"], "no format 'xml'; known are tsv, tex, json"),
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
    with pytest.raises(CommandError, match="no collection spring; there are: autumn"):
        call_command("leaderboard", "spring", *made.names)


def test_every_option_of_the_command(made, developer):
    name_version(made.bank, name="First", by=developer)
    options = ["--measure", "cover-4", "--columns", "rag24", "--missing", "skip", "--test", "studentised"]
    found = json.loads(output(*made.names, *options, "--bank-version", "1", "--ratings", "corrected"))

    assert (found["missing"], found["test"], found["ratings"], found["bank_version"]) == (
        "skip",
        "studentised",
        "corrected",
        1,
    )
    assert list(found["rows"][0]["columns"]) == [*RAG24.measures]
    assert found["rows"][0]["columns"]["cover-4"]["score"] == found["rows"][0]["score"] == 1
    assert (found["rows"][0]["rank_first"], found["rows"][0]["low"]) == (1, None)
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
    error = r"$\pm$ std. err."
    assert rf"Rank & Possible ranks & Run & Rubric-Cover@20 & {error} & P\_1 & {error} \\" in lines
    assert r"1 & 1--4 & both & 1.000 & 0.000 & 1.000 & 0.000 \\" in lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--definition", "x"], "no definition 'x'; known are papers, workbench, workbench_0"),
        (["--ratings", "x"], "no ratings 'x'; known are grader, humans, corrected"),
        (["--test", "x"], "no test 'x'; known are sign_flips, studentised"),
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


def tsv(*arguments):
    """The comments by name, and the rows by run tag and column."""
    lines = output("--format", "tsv", *arguments).splitlines()
    said = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    header, *rows = (line.split("\t") for line in lines if not line.startswith("# "))
    return said, {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def test_each_further_column_has_its_own_error_and_number_of_topics(made):
    """Only t1 is judged, so that the column of judgments is a mean over one topic."""
    factories.JudgmentFactory(topic=made.topics["t1"], doc_id="d1", relevance=3)
    options = ["--columns", "cover-1,judgments/P_1", *made.names]
    said, rows = tsv(*options)
    first = rows["first"]

    assert [first[name] for name in ("cover-1", "cover-1_stderr", "cover-1_n_topics")] == [
        "0.75",
        "0.25",
        "2",
    ]
    names = ("judgments/P_1", "judgments/P_1_stderr", "judgments/P_1_n_topics")
    assert [first[name] for name in names] == ["1.0", "NaN", "1"]
    found = json.loads(output(*options))
    row = next(row for row in found["rows"] if row["run_tag"] == "first")
    assert row["columns"]["cover-1"] == {"score": 0.75, "stderr": 0.25, "n_topics": 2}
    assert row["columns"]["judgments/P_1"] == {"score": 1.0, "stderr": None, "n_topics": 1}
    over = "mean over all 1 topics with judgments; 2 without are left out"
    assert over in found["columns"][1]["denominator"]
    assert over in said["P_1 by judgments"]
    tex = output("--format", "tex", *options)
    assert tex.count("std. err.") == 3
    assert over in tex


def test_no_two_columns_have_one_head(made):
    options = [
        "--measure",
        "rubric_cover",
        "--columns",
        "rag24,rubric_cover:4,judgments/P_20,P_20:4",
        *made.names,
    ]
    tex = output("--format", "tex", *options)
    line = next(line for line in tex.splitlines() if line.startswith("Rank & "))
    heads = [head for head in line.removesuffix(r" \\").split(" & ") if "std. err." not in head]

    assert len(set(heads)) == len(heads) == 3 + 11
    assert r"Rubric-Cover@20 $\geq$ 1" in heads
    assert r"Rubric-Cover@20 $\geq$ 4" in heads


def test_no_threshold_is_said_of_gains(made):
    judge(made)
    text = output("--format", "tsv", "--columns", "ndcg_cut_10,judgments/ndcg_cut_10,P_5", *made.names)
    about = [line for line in text.splitlines() if "ndcg" in line and line.startswith("# ")]

    assert len(about) >= 2
    assert not [line for line in about if "relevant from" in line or "relevant: " in line]
    assert "# P_5: labels: highest rating; relevant: label >= 4; mean over" in text
    gains = output("--measure", "ndcg_cut_10", "--format", "tsv", *made.names)
    assert "# gains: the labels" in gains.splitlines()
    assert "relevant from" not in gains


def test_vital_scores_say_when_importance_tells_nothing_apart(made):
    options = ["--measure", "nuggets_strict_vital", *made.names]
    assert "no item is marked okay or to avoid" in output("--format", "tsv", *options)
    made.bank.items.update(importance="okay")
    assert "no item is vital" in json.loads(output(*options))["importance"]
    made.bank.items.filter(pk=made.bank.items.first().pk).update(importance="vital")
    assert json.loads(output(*options))["importance"] is None
    assert json.loads(output(*made.names))["importance"] is None


def test_a_bank_s_name_does_not_break_out_of_its_comment(made):
    made.bank.name = "main\nrun_tag\tscore\nevil\t1.0"
    made.bank.save()
    _, rows = tsv(*made.names)
    assert set(rows) == {"both", "first", "lacks", "stray"}


@pytest.mark.parametrize("form", ["ir_measures", "tot", "rag4reports", "trec_eval", "jsonl"])
def test_a_row_for_each_topic_and_one_of_all(made, tmp_path, form):
    judge(made)
    path = tmp_path / "board.txt"
    path.write_text(output("--format", form, "--columns", "judgments/map", *made.names))
    one = leaderboard_formats.find(f"leaderboard-{form}")
    rows = [row for row in one.read(path) if row.measure != "runid"]
    board = json.loads(output("--columns", "judgments/map", *made.names))
    scores = {row["run_tag"]: row["score"] for row in board["rows"]}
    means = {
        row.run_tag: row.value for row in rows if row.query_id == "all" and row.measure != "judgments/map"
    }
    assert means == scores
    (measure,) = {row.measure for row in rows} - {"judgments/map"}
    assert measure == f"rubric_cover@{board['cutoff']}:{board['min_grade']}"
    by_run = {
        tag: [row.value for row in rows if row.run_tag == tag and row.measure == measure] for tag in scores
    }
    assert all(values[-1] == pytest.approx(sum(values[:-1]) / len(values[:-1])) for values in by_run.values())
    assert read_official(path, measure="judgments/map").values.keys() == scores.keys()


def test_the_measures_of_those_files(made):
    """As AutoJudge's tools write them: YAML, which has JSON's strings."""
    judge(made)
    written = output("--format", "eval.measures.yml", "--columns", "judgments/map", *made.names)
    names = ("rubric_cover@20:4", "Rubric-Cover@20 \N{GREATER-THAN OR EQUAL TO} 4"), ("judgments/map", "map")
    lines = written.splitlines()
    assert lines[0] == "measures:"
    assert [json.loads(line.partition(": ")[2]) for line in lines[1::3]] == [name for name, _ in names]
    assert set(lines[2::3]) == {"  dtype: float"}
    assert json.loads(lines[3].removeprefix("  description: ")) == names[0][1]


def test_topics_without_items_have_no_rows(made):
    made.bank.items.all().delete()
    assert output("--bank", "main", "--format", "ir_measures", *made.names) == "\n"


def test_topics_by_an_attribute(made):
    judge(made)
    for query_id, kind in {"t1": "what", "t2": "why", "t3": "why"}.items():
        made.topics[query_id].attributes = {"kind": kind}
        made.topics[query_id].save()
    found = json.loads(output("--topics", "kind=why", *made.names))

    assert {row["run_tag"]: row["score"] for row in found["rows"]} == {
        "both": 1,
        "stray": 1,
        "first": 0,
        "lacks": 0,
    }
    assert (found["topics"], found["topics_left_out"], found["items"]) == (1, 1, 1)
    assert found["slice"] == {
        "topics": "kind=why",
        "stated": "2 of 3 topics: kind = why",
        "query_ids": ["t2", "t3"],
    }
    assert found["correlations"][0]["spearman"]["value"] == 1, "judgments of the same topics"
    assert "# slice: 2 of 3 topics: kind = why" in output(
        "--topics", "kind=why", "--format", "tsv", *made.names
    )
    with pytest.raises(CommandError, match="no topic with kind = how; there are what, why"):
        output("--topics", "kind=how", *made.names)
