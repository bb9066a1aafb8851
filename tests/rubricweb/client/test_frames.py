"""Boards and rows as data frames."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rubricweb.client import to_pandas

pytestmark = pytest.mark.django_db


def test_a_board_is_a_frame_by_run_with_its_further_columns(bank, owner, client_for):
    with client_for(owner) as rubric:
        board = rubric.board("autumn", min_grade=2, columns="weighted_cover")
    frame = to_pandas(board)
    assert list(frame.index) == [row["run_tag"] for row in board["rows"]]
    assert list(frame["score"]) == [row["score"] for row in board["rows"]]
    for column in board["columns"]:
        assert {column["token"], f"{column['token']}_stderr"} <= set(frame)
    assert frame.attrs["board"]["denominator"] == board["denominator"]


def test_grades_are_a_frame_in_which_a_missing_rating_is_not_0(bank, owner, client_for):
    with client_for(owner) as rubric:
        rows = list(rubric.grades("autumn"))
    frame = to_pandas([*rows, {**rows[0], "id": 0, "rating": None}])
    assert list(frame.index) == [row["id"] for row in rows] + [0]
    assert str(frame["rating"].dtype) == "Int8"
    assert frame["rating"].isna().sum() == 1
    assert frame["rating"].sum() == sum(row["rating"] for row in rows)
    assert str(frame["at"].dt.tz) == "UTC"


def test_no_rows_are_an_empty_frame():
    assert to_pandas([]).empty


def test_the_client_imports_neither_pandas_nor_django():
    script = "import sys, rubricweb.client; print(*(set(sys.modules) & {'pandas', 'django', 'numpy'}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
