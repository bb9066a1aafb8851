"""The test database is what the migrations make of an empty one."""

import pytest
from django.apps import apps
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests import schema


@pytest.mark.django_db
def test_no_migration_is_left_to_run():
    executor = MigrationExecutor(connection)
    assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []


def test_a_changed_migration_is_noticed(tmp_path, monkeypatch):
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    (migrations / "0001_initial.py").write_text("operations = []", encoding="utf-8")
    monkeypatch.setattr(apps.get_app_config("banks"), "path", str(tmp_path))
    digest = schema.digest_of_migrations.__wrapped__
    before = digest()
    assert digest() == before
    (migrations / "0001_initial.py").write_text("operations = [1]", encoding="utf-8")
    assert digest() != before
