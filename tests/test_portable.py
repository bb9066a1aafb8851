"""Rooms with SQL of their own are tried on both databases."""

from __future__ import annotations

import re
from pathlib import Path

from tests.portable import SQL_OF_THEIR_OWN

PRODUCT = Path(__file__).resolve().parents[1] / "rubricweb"
SQL = re.compile(r"\.cursor\(\)|\.vendor\b|\bRawSQL\b|\bWindow\(|\bJSONB_")


def test_no_room_with_sql_leaves_its_pages_to_one_database():
    modules = [path for path in PRODUCT.rglob("*.py") if "migrations" not in path.parts]
    rooms = {path.relative_to(PRODUCT).parts[0] for path in modules if SQL.search(path.read_text("utf-8"))}
    assert len(rooms) > 3
    assert rooms <= SQL_OF_THEIR_OWN
