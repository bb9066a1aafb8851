"""Databases of development versions, whose migrations 0.1.0 no longer has.

Nothing was released before 0.1.0, so its migrations begin anew and no path leads there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

HINT = (
    "Export what you need with the version that made it. Then start with an empty database: set "
    "RUBRIC_DATA_DIR to another folder, or DATABASE_URL to another database."
)


def unknown_migrations(alias: str = "default") -> list[str]:
    """Return the applied migrations of our rooms that this version lacks, as "corpus.0024_name"."""
    own = [config for config in apps.get_app_configs() if config.name.startswith("rubricweb.")]
    labels = {config.label for config in own}
    on_disk = {
        (config.label, path.stem) for config in own for path in Path(config.path).glob("migrations/0*.py")
    }
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied if app in labels and (app, name) not in on_disk)


@register(Tags.database)
def database_of_this_version(databases: Sequence[str] | None = None, **options: Any) -> list[CheckMessage]:
    """Refuse a database of another version before `migrate` changes it."""
    unknown = [name for alias in databases or () for name in unknown_migrations(alias)]
    if not unknown:
        return []
    message = f"Another version of RubricWeb made this database: it has the migration {unknown[-1]}."
    return [Error(message, hint=HINT, id="rubricweb.E001")]
