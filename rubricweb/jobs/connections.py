"""Database connections of a process that lives long."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError, ProgrammingError, connections

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
    cause = error.__cause__
    if not isinstance(error, CONNECTION_LOST) or not hasattr(cause, "sqlstate"):
        return False
    code: str | None = cause.sqlstate  # type: ignore[union-attr]
    return code is None or code.startswith(("08", "57P"))
