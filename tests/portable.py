"""Which tests prove what is no matter of the database, so that one is enough."""

from __future__ import annotations

from pathlib import Path

import pytest

DATABASE_FIXTURES = {"db", "transactional_db"}
BROWSERS = {"client", "client_of"}
SQL_OF_THEIR_OWN = {"api", "archives", "core", "exports", "grades", "imports", "jobs", "releases", "review"}
"""Rooms with SQL for one database or the other, and those that hand out what is stored as it is stored."""


def is_portable(item: pytest.Item) -> bool:
    """Whether a test asks for no database, or for pages of a room that leaves all SQL to Django.

    What reads and writes the rows of these pages has tests of its own, and `test_safe_requests` asks every
    page on both databases.
    """
    fixtures = set(item.fixturenames)
    if item.get_closest_marker("django_db") is None and DATABASE_FIXTURES.isdisjoint(fixtures):
        return True
    if BROWSERS.isdisjoint(fixtures) or item.get_closest_marker("concurrent"):
        return False
    folder, *rooms = item.path.relative_to(Path(__file__).parent).parts
    return folder == "rubricweb" and SQL_OF_THEIR_OWN.isdisjoint(rooms)
