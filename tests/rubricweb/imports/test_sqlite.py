"""An import into SQLite: others read meanwhile, and what would keep them from saving too long is refused."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections, transaction

from grading.errors import BadFormat
from rubricweb.corpus.models import Collection
from rubricweb.grades import import_grades
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.grades.models import Grade
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, passage, rated, uid

pytestmark = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL locks rows, not the database"
)


@pytest.fixture
def files(tmp_path) -> ImportFiles:
    folder = Folder(tmp_path / "files")
    graded = folder.graded(passage("d1", rated({uid(RED): 5})), passage("d2", rated({uid(RED): 0})))
    bank = folder.lines("bank.jsonl", bank_line(RED, FALL))
    return ImportFiles(graded=(graded,), banks=(bank,), queries=folder.queries())


@pytest.mark.django_db(transaction=True)
def test_page_is_read_while_an_import_runs(files, client_of, viewer):
    reader = client_of(viewer)
    statuses: list[int] = []

    def read() -> None:
        statuses.append(reader.get("/collections/autumn/").status_code)
        connections.close_all()

    with transaction.atomic():
        import_collection("autumn", files=files, by=None)
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert statuses == [200]
    assert Collection.objects.get().topics.exists()


@pytest.mark.django_db
def test_import_of_too_many_grades_is_refused(files, monkeypatch):
    monkeypatch.setattr(import_grades, "MOST_ON_SQLITE", 1)
    with pytest.raises(BadFormat, match=r"more than 1 grades.*PostgreSQL"):
        import_collection("autumn", files=files, by=None)
    assert not Grade.objects.exists()
