"""A database of a development version is noticed before anything is changed."""

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from rubricweb.core.database import unknown_migrations

pytestmark = pytest.mark.django_db


@pytest.fixture
def older_database():
    MigrationRecorder(connection).record_applied("corpus", "0024_a_column_of_before")


def test_the_database_of_this_version_has_no_unknown_migration():
    assert unknown_migrations() == []


def test_migrations_of_libraries_are_no_matter():
    MigrationRecorder(connection).record_applied("axes", "9999_of_a_newer_release")
    assert unknown_migrations() == []


def test_migrate_refuses_an_older_database(older_database):
    with pytest.raises(SystemCheckError, match=r"corpus\.0024_a_column_of_before(?s:.)*RUBRIC_DATA_DIR"):
        call_command("migrate", verbosity=0, skip_checks=False)


def test_demo_refuses_an_older_database(older_database):
    with pytest.raises(CommandError, match=r"corpus\.0024_a_column_of_before.*RUBRIC_DATA_DIR"):
        call_command("demo", "--load-only")
