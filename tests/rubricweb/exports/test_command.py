"""`rubricweb export_qrels`."""

import gzip
import io
import json

import pytest
from django.core.management import CommandError, call_command

from rubricweb.grades.models import Grade, GraderConfig

WHOLE = "t1 0 d1 5\nt1 0 d2 4\nt1 0 d3 3\nt2 0 e1 2\nt2 0 e2 4\n"


def output(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("export_qrels", "autumn", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_standard_output_holds_the_file_and_nothing_else(made):
    out, err = output(*made.names)

    assert out == WHOLE
    assert err == "5 labels of 2 topics: highest rating\n"


def test_a_file_is_written_whole(made, tmp_path):
    path = tmp_path / "rubric.qrels"
    path.write_text("old")
    out, err = output(*made.names, "--out", str(path))

    assert (out, path.read_text()) == ("", WHOLE)
    assert str(path) in err
    assert [file.name for file in tmp_path.iterdir()] == ["rubric.qrels"]


def test_a_compressed_file(made, tmp_path):
    path = tmp_path / "rubric.qrels.gz"
    output(*made.names, "--out", str(path))

    assert gzip.decompress(path.read_bytes()).decode() == WHOLE


def test_nothing_is_left_where_writing_fails(made, tmp_path):
    with pytest.raises(CommandError, match=r"cannot write .*nowhere/rubric.qrels: No such file"):
        output(*made.names, "--out", str(tmp_path / "nowhere" / "rubric.qrels"))
    with pytest.raises(CommandError, match="cannot write"):
        output(*made.names, "--out", str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_modes(made):
    out, _ = output(*made.names, "--mode", "count", "--min-grade", "3", "--json")
    document = json.loads(out)

    assert [row["label"] for row in document["qrels"]] == [1, 1, 1, 0, 1]
    assert document["by_label"] == {"1": 4, "0": 1}
    assert document["labels"] == "number of items rated >= 3"


def test_json_beside_a_file(made, tmp_path):
    path = tmp_path / "rubric.qrels"
    document = json.loads(output(*made.names, "--json", "--out", str(path))[0])

    assert (document["file"], document["lines"], "qrels" in document) == (str(path), 5, False)
    assert path.read_text() == WHOLE


def test_options_of_boards_hold_for_labels_too(made):
    made.bank.items.filter(topic=made.topics["t1"]).update(facet_id="a")
    out, err = output(*made.names, "--by-subtopic", "--ratings", "corrected")
    assert out == WHOLE.replace("t1 ", "t1/a ")
    statement = "highest rating, ratings by the grader, corrected by people, by subtopic"
    assert err == f"5 labels of 2 topics and subtopics: {statement}\n"

    document = json.loads(output(*made.names, "--definition", "workbench", "--json")[0])
    assert (document["definition"], document["ratings"], document["bank_version"]) == (
        "workbench",
        "grader",
        None,
    )
    with pytest.raises(CommandError, match="the Workbench takes the items of whole topics"):
        output(*made.names, "--definition", "workbench", "--by-subtopic")


def test_right_answers_are_counted_by_the_workbench(made):
    """Where answers are checked and not rated; the papers take the best of them."""
    GraderConfig.objects.update(purpose="verify")
    Grade.objects.exclude(rating=None).update(rating=1)
    labels = [
        output(*made.names, "--definition", definition)[0].split()[3::4]
        for definition in ("papers", "workbench")
    ]

    assert labels == [["1", "1", "1", "1", "1"], ["2", "2", "1", "1", "1"]]


def test_one_line_says_what_there_is_instead(made):
    with pytest.raises(CommandError, match="autumn has no bank old; its banks are main"):
        output(*made.names, "--bank", "old")
    with pytest.raises(CommandError, match="there are grades by lexical · LexicalBaseline"):
        output("--prompt-class", "X", "--llm", "gpt")
