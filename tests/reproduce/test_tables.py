"""Published tables: those without files of others agree; others say what they lack, and read made files."""

import hashlib
import json
from dataclasses import replace

import pytest

from reproduce import (
    __main__ as command,
    _support,
    dragun_counts,
    judges_rag26,
    llmjudge_labels,
    support_opus,
    support_rag24,
    workbench_dl20_qrels as workbench,
)
from reproduce._tables import Artefact, Figure, Lacking, Table

TABLES = {name: command.table_named(name) for name in command.NAMES}
OWN = [name for name, table in TABLES.items() if not table.artefacts]


@pytest.mark.parametrize("name", OWN)
def test_a_table_without_files_agrees_with_what_is_printed(name):
    figures = TABLES[name].computed()
    assert figures
    assert [figure.cells for figure in figures if not figure.agrees] == []


def test_there_are_ten_tables_and_each_states_its_source():
    assert len(TABLES) >= 10
    assert all(table.title and table.source for table in TABLES.values())
    artefacts = [artefact for table in TABLES.values() for artefact in table.artefacts]
    assert all(len(artefact.md5) == 32 and "github.com/" in artefact.source for artefact in artefacts)


def test_the_document_has_a_section_of_each_table():
    text = command.DOCUMENT.read_text(encoding="utf-8")
    assert [
        name for name in TABLES if f"<!-- {name} -->" not in text or f"<!-- /{name} -->" not in text
    ] == []


@pytest.mark.parametrize("name", OWN)
def test_the_document_has_what_the_tables_compute(name):
    assert command.section(name, TABLES[name].computed()) in command.DOCUMENT.read_text(encoding="utf-8")


def test_a_file_that_is_not_there_or_another_one_is_named(tmp_path):
    artefact = Artefact("a.txt", "github.com/somebody/something", hashlib.md5(b"one\n").hexdigest())
    with pytest.raises(Lacking, match=r"a.txt is not in .*: get it from github.com/somebody/something"):
        artefact.found_in([tmp_path])
    (tmp_path / "a.txt").write_text("two\n")
    with pytest.raises(Lacking, match="is another file: its md5 is"):
        artefact.found_in([tmp_path])
    (tmp_path / "a.txt").write_text("one\n")
    assert artefact.found_in([tmp_path / "none", tmp_path]).name == "a.txt"


@pytest.mark.parametrize(
    ("figure", "agrees"),
    [
        (Figure("n", 5, 5), True),
        (Figure("n", 5, 6), False),
        (Figure("n", 5, 6, tolerance=1), True),
        (Figure("k", 0.25, 0.2488, 2), True),
        (Figure("k", 0.25, 0.2562, 2), False),
    ],
)
def test_a_figure_agrees_to_half_of_its_last_digit(figure, agrees):
    assert figure.agrees is agrees


def test_the_command_fails_where_a_number_is_off_and_not_where_files_lack(monkeypatch, capsys):
    assert command.main(["arena_strengths"]) == 0
    off = replace(TABLES["arena_strengths"], figures=lambda files: [Figure("count", 3, 4)])
    monkeypatch.setattr(command, "table_named", lambda name: off)
    assert command.main(["arena_strengths"]) == 1
    out, err = capsys.readouterr()
    assert "1 beyond their tolerance" in out
    assert "count | 3 | 4 | +1 | 0" in err
    lacking = Table("Nothing", "nowhere", lambda files: [], (Artefact("x", "github.com/a/b", "0" * 32),))
    monkeypatch.setattr(command, "table_named", lambda name: lacking)
    assert command.main(["arena_strengths"]) == 0
    assert "not computed: x is not in" in capsys.readouterr().out


def test_write_replaces_the_section_of_a_table(monkeypatch, tmp_path):
    document = tmp_path / "reproduce.md"
    document.write_text("# Title\n\n<!-- arena_strengths -->\nold\n<!-- /arena_strengths -->\n")
    monkeypatch.setattr(command, "DOCUMENT", document)
    command.main(["arena_strengths", "rubric_agreement", "--write"])
    text = document.read_text()
    assert "old" not in text
    assert text.count("<!-- arena_strengths -->") == text.count("<!-- rubric_agreement -->") == 1
    before = text
    command.main(["arena_strengths", "--write"])
    assert document.read_text() == before


def answer(run_id, *labels):
    """A made line of support labels; each argument has those of a sentence."""
    sentences = [
        {"text": "A.", "citations": [{"reference": "d", "support": str(label)} for label in sentence]}
        for sentence in labels
    ]
    return json.dumps({"topic_id": "t1", "run_id": run_id, "sentences": sentences})


def test_support_labels_are_counted_and_scored_by_first_citations(tmp_path):
    path = tmp_path / "labels.jsonl"
    path.write_text(f"{answer('a', [2, 0], [1], [])}\n{answer('b', [-1], [])}\n{answer('c')}\n")
    answers = _support.read(path)
    assert _support.counts(answers) == {
        "answers": 3,
        "topics": 1,
        "runs": 3,
        "sentences": 5,
        "citations": 4,
        "label -1": 1,
        "label 0": 1,
        "label 1": 1,
        "label 2": 1,
    }
    assert _support.run_precisions(answers, 2) == {"a": 0.375, "b": 0.0, "c": 0.0}


def ours(table, **files):
    return {figure.quantity: figure.ours for figure in table.figures(files)}


def test_repeated_verdicts_count_once(tmp_path):
    verdicts, labels = tmp_path / "verdicts.jsonl", tmp_path / "labels.jsonl"
    row = {"run_id": "a", "topic_id": "t1", "citation_slot": 0, "human_label": "FS", "opus_nist_label": "PS"}
    lines = [json.dumps(row | {"sentence_index": place}) for place in (0, 1, 1)]
    verdicts.write_text("\n".join(lines))
    labels.write_text(answer("a", [2], [1]))
    names = {support_opus.FILE: verdicts, support_rag24.FIRST: labels, support_rag24.SECOND: labels}
    found = ours(support_opus.TABLE, **names)
    assert (found["citations labelled by both"], found["equal labels"]) == (2, 0)
    assert found["equal labels, people's from NIST's files"] == 1


def test_assessments_judges_and_labels_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_text("topic_id,run_tag,answer_id,auto_assessment\nt,r,na-1,none\nt,r,na-2,partial\n")
    found = ours(dragun_counts.TABLE, **{dragun_counts.FILE: path})
    assert (found["short answers"], found["label partial"], found["runs"]) == (2, 1, 1)
    path.write_text("t1 0 d1 4\nt1 0 d2 0\nt2 0 d1 2\n")
    found = ours(judges_rag26.TABLE, **dict.fromkeys(judges_rag26.JUDGES.values(), path))
    assert (found["GPT-5.5: topics"], found["kappa of Qwen v2 and Qwen v1"]) == (2, 1.0)
    path.write_text("q1 0 p1 3\nq1 0 p2 0\n")
    found = ours(llmjudge_labels.TABLE, **dict.fromkeys(llmjudge_labels.SETS, path))
    assert (found["test: judged pairs"], found["test: label 3"]) == (2, 1)


def test_a_page_of_results_gives_its_coefficients(tmp_path):
    path = tmp_path / "page.mkd"
    columns = [f"**{kind}-{grade}**" for kind in ("nugget", "question") for grade in (3, 4, 5)]
    head = f"| method | {' | '.join(columns)} | **official rank** |"
    rows = [f"| run\\_{n} | " + " | ".join([f"**{1 - n / 10}**"] * 6) + f" | **{n}** |" for n in range(1, 5)]
    path.write_text(
        "\n".join([head, "| :-- |" + " :-- |" * 7, *rows, "| spearman |" + " **1** |" * 6 + "  |"])
    )
    found = ours(workbench.TABLE, **{workbench.TABLE.artefacts[0].file: path})
    assert found["runs"] == 4
    assert {value for name, value in found.items() if name != "runs"} == {1.0}
