"""Tables for programs: all digits, and nothing that breaks a line or a column."""

import csv

import pytest

from grading.formats.tables import DataTable, from_mappings, tsv_lines


def test_numbers_keep_all_their_digits():
    rows = [
        {"run_tag": "bm25", "score": 0.1 + 0.2, "n": 1375},
        {"run_tag": "none", "score": float("nan"), "n": None},
    ]
    table = from_mappings(rows, [("collection", "autumn"), ("bank", "main, version 2")])
    assert tsv_lines(table) == [
        "# collection: autumn",
        "# bank: main, version 2",
        "run_tag\tscore\tn",
        "bm25\t0.30000000000000004\t1375",
        "none\tNaN\tNaN",
    ]


@pytest.mark.parametrize(
    "break_", ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\0", "\t"]
)
def test_no_text_ends_its_line_or_its_column(break_):
    text = f"a{break_}b"
    lines = tsv_lines(DataTable((text, "n"), ((text, 1),), ((text, text),)))
    assert lines == ["# a b: a b", "a b\tn", "a b\t1"]
    assert len("\n".join(lines).splitlines()) == 3
    assert list(csv.reader(lines[1:], delimiter="\t")) == [["a b", "n"], ["a b", "1"]]


def test_text_is_otherwise_as_it_was():
    assert tsv_lines(DataTable(("text",), (("two  spaces, -1 = é",),)))[1] == "two  spaces, -1 = é"
