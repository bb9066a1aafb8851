"""Database connections of a process that lives long, and what of their errors is not the work's own fault."""

from __future__ import annotations

import errno

from django.db import DatabaseError, InterfaceError, OperationalError, ProgrammingError, connections

CONNECTION_LOST = (OperationalError, InterfaceError, ProgrammingError)
"""The last is what SQLite says of a closed connection."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


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
    code = _sqlstate(error)
    return code is None or code.startswith(("08", "57P"))


def is_disk_full(error: BaseException | None) -> bool:
    """Whether there was no room for rows or for a file, by any error that led to this one.

    Source: PostgreSQL documentation, Appendix A, 53100; SQLite documentation, Result Codes, SQLITE_FULL.
    """
    if error is None:
        return False
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return True
    is_full = _sqlstate(error) == "53100" or "database or disk is full" in str(error)
    return (isinstance(error, DatabaseError) and is_full) or is_disk_full(error.__cause__)


def _sqlstate(error: BaseException) -> str | None:
    """None where the database did not say, or is SQLite."""
    code: str | None = getattr(error.__cause__, "sqlstate", None)
    return code
