"""Whether this worker's code fits the database, while an upgrade runs and old and new workers live together.

Migrations only add until every process is new; one that takes away is a release later, and has `_contract` in
its name, by which older workers know that they are too old. docs/help/server.md has the rules.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path

from django.apps import apps
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from rubricweb.jobs import worker_state

logger = logging.getLogger(__name__)

CONTRACT = "_contract"
Names = frozenset[tuple[str, str]]
"""Migrations by app and name."""


def look() -> None:
    """Ask the database which migrations it has; called with each beat. Raises DatabaseError."""
    objection = objection_to(frozenset(MigrationRecorder(connection).applied_migrations()))
    if objection != worker_state.now.objection:
        logger.warning("%s", objection or "the database fits this worker again: it takes work")
    worker_state.now.objection = objection


def objection_to(applied: Names) -> str:
    """Why this worker takes no work from a database with these migrations; empty if it may."""
    known = own_migrations()
    if lacking := sorted(known - applied):
        return f"this worker takes no work until the database is migrated: it lacks {'.'.join(lacking[0])}"
    apps_known = {app for app, _ in known}
    newer = sorted(one for one in applied - known if one[0] in apps_known and CONTRACT in one[1])
    return f"this worker takes no work: it is older than the database ({'.'.join(newer[0])})" if newer else ""


@cache
def own_migrations() -> Names:
    """Those of RubricWeb, by the names of their files: to import them takes most of a second."""
    own = (app for app in apps.get_app_configs() if app.name.startswith("rubricweb."))
    return frozenset(
        (app.label, path.stem) for app in own for path in (Path(app.path) / "migrations").glob("[0-9]*.py")
    )
