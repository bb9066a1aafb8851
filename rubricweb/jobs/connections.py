"""Database connections of long-lived processes, and errors that mean a lost connection."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError, ProgrammingError, connections

from rubricweb.core.errors import sqlstate

CONNECTION_LOST = (OperationalError, InterfaceError, ProgrammingError)
"""Errors of a lost connection; the last is SQLite's for a closed one."""


def close_dead_connections() -> None:
    """Close database connections that broke; the next query opens new ones."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.is_usable():
            connection.close()


def has_lost_connection(error: Exception) -> bool:
    """Return whether PostgreSQL went away, rather than refused a statement.

    Source: PostgreSQL documentation, Appendix A: classes 08 and 57P; what the client itself notices has none.
    """
    if not isinstance(error, CONNECTION_LOST) or not hasattr(error.__cause__, "sqlstate"):
        return False
    code = sqlstate(error)
    return code is None or code.startswith(("08", "57P"))
