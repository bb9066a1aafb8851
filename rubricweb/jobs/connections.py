"""Database connections of a process that lives long, and what of their errors is not the work's own fault."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError, ProgrammingError, connections

from rubricweb.core.errors import sqlstate

CONNECTION_LOST = (OperationalError, InterfaceError, ProgrammingError)
"""The last is what SQLite says of a closed connection."""


def close_dead_connections() -> None:
    """Database connections that broke are closed, and the next query opens new ones."""
    for connection in connections.all(initialized_only=True):
        if connection.connection is not None and not connection.is_usable():
            connection.close()


def has_lost_connection(error: Exception) -> bool:
    """Whether PostgreSQL went away, rather than refused what was asked.

    Source: PostgreSQL documentation, Appendix A: classes 08 and 57P; what the client itself notices has none.
    """
    if not isinstance(error, CONNECTION_LOST) or not hasattr(error.__cause__, "sqlstate"):
        return False
    code = sqlstate(error)
    return code is None or code.startswith(("08", "57P"))
