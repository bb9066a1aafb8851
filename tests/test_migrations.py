"""Migrations that the version before can live with: docs/help/server.md, "Upgrade without a pause"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models
from django.db.migrations.loader import MigrationLoader
from django_migration_linter.sql_analyser import analyse_sql_statements, get_sql_analyser_class

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="on SQLite one version runs, on one machine: it is stopped"
    ),
]

BEFORE_THE_RULE = {
    "accounts": 5,
    "api": 1,
    "archives": 3,
    "arena": 4,
    "banks": 11,
    "calibration": 1,
    "campaigns": 3,
    "core": 2,
    "corpus": 24,
    "grades": 19,
    "imports": 4,
    "leaderboards": 3,
    "prompts": 2,
    "releases": 1,
    "review": 10,
    "submissions": 3,
    "support": 4,
    "systems": 3,
    "webhooks": 1,
}
"""The newest migration of each app in 0.1.0, the first release: nobody comes from an earlier one."""


def _objections(statements: Sequence[str]) -> list[str]:
    analyser = get_sql_analyser_class(connection.vendor)
    errors, _, _ = analyse_sql_statements(analyser, list(statements))
    return [error.message for error in errors]


def _is_newer(app: str, name: str) -> bool:
    is_ours = apps.get_app_config(app).name.startswith("rubricweb.")
    return is_ours and int(name[:4]) > BEFORE_THE_RULE.get(app, 0)


@pytest.mark.parametrize(
    ("options", "is_refused"), [({"default": 0}, True), ({"db_default": 0}, False), ({"null": True}, False)]
)
def test_a_new_column_is_one_that_old_code_can_leave_out(options: dict[str, Any], is_refused):
    column = models.IntegerField(**options)
    run = column.model = apps.get_model("corpus", "run")
    column.set_attributes_from_name("worth")
    with connection.schema_editor(collect_sql=True) as editor:
        editor.add_field(run, column)
    assert bool(_objections(editor.collected_sql)) is is_refused


def test_a_column_that_old_code_reads_stays():
    run = apps.get_model("corpus", "run")
    with connection.schema_editor(collect_sql=True) as editor:
        editor.remove_field(run, run._meta.get_field("description"))
    assert _objections(editor.collected_sql)


def test_migrations_only_add():
    objections = {
        f"{app}.{name}": found
        for app, name in sorted(MigrationLoader(connection).disk_migrations)
        if _is_newer(app, name)
        and (found := _objections(call_command("sqlmigrate", app, name, no_color=True).splitlines()))
    }
    assert objections == {}
