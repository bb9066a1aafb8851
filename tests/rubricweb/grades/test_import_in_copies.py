"""Large imports on SQLite: made in a copy, and all or nothing, as others are."""

from __future__ import annotations

import pytest
from django.db import connection

from grading.errors import BadFormat
from rubricweb.core import copies
from rubricweb.corpus.models import Collection
from rubricweb.grades.importers import ImportFiles, import_files, in_copies, preview_import
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, database, passage, rated, uid

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL locks rows, not the database"),
]


@pytest.fixture(autouse=True)
def every_import_is_large(monkeypatch, settings, tmp_path):
    monkeypatch.setattr(in_copies, "LARGE_BYTES", 1)
    settings.DATA_DIR = tmp_path


@pytest.fixture
def folder(tmp_path) -> Folder:
    return Folder(tmp_path / "files")


@pytest.fixture
def files(folder) -> ImportFiles:
    graded = folder.graded(passage("d1", rated({uid(RED): 5})), passage("d2", rated({uid(RED): 0})))
    bank = folder.lines("bank.jsonl", bank_line(RED, FALL))
    return ImportFiles(graded=(graded,), banks=(bank,), queries=folder.queries())


def without_keys(rows: dict) -> dict:
    """What the rows say, whatever their keys and random numbers are."""
    return {
        table: [
            {
                name: value
                for name, value in row.items()
                if not name.endswith("id")
                and name not in {"stamp", "number", "at", "created_at", "name_salt"}
            }
            for row in found
        ]
        for table, found in rows.items()
    }


def test_a_copy_makes_the_same_import(files, monkeypatch):
    """As one transaction does into another collection."""
    in_copy = import_files("autumn", files=files, by=None)
    monkeypatch.setattr(in_copies, "LARGE_BYTES", 10**9)
    assert import_files("winter", files=files, by=None).counts == in_copy.counts
    rows = without_keys(database())
    for table in ("grades.Grade", "banks.Item", "corpus.Passage", "corpus.Topic", "grades.MatrixStamp"):
        half = len(rows[table]) // 2
        assert half > 0
        assert rows[table][:half] == rows[table][half:]


def test_a_preview_changes_nothing(files):
    import_files("autumn", files=files, by=None)
    before = database()
    summary = preview_import("autumn", files=files, by=None)
    assert summary.counts["grades"].unchanged == 2
    assert not summary.has_changed
    assert database() == before


def test_a_refused_file_changes_nothing(files, folder):
    import_files("autumn", files=files, by=None)
    before = database()
    other = folder.graded(passage("d1", rated({uid(RED): 1})), name="other.jsonl")
    with pytest.raises(BadFormat, match="expected the same grade"):
        import_files("autumn", files=ImportFiles(graded=(other,)), by=None)
    assert database() == before


def test_settings_that_were_changed_meanwhile_are_kept(files, folder, monkeypatch):
    import_files("autumn", files=files, by=None)
    more = folder.graded(passage("d3", rated({uid(RED): 1})), name="more.jsonl")

    def overtake(summary):
        raise AssertionError("never taken over")

    real = copies.Changes._write

    def changed_before(self):
        Collection.objects.update(name="Renamed meanwhile")
        real(self)

    monkeypatch.setattr(copies.Changes, "_write", changed_before)
    with pytest.raises(copies.Overtaken):
        import_files("autumn", files=ImportFiles(graded=(more,)), by=None, then=overtake)
    assert not Collection.objects.get().passages.filter(doc_id="d3").exists()
