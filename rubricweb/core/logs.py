"""Log lines with the reference of their request, and tracebacks without texts or secrets."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from grading.secret import MASK

NO_REQUEST = "-"
SAFE_CHARACTERS = 60
"""Length beyond which an exception message may quote a passage."""
LINE_CHARACTERS = 300
TOKEN = re.compile(r"(?<=/)[A-Za-z0-9_-]{24,}(?=/)|(?<=/password/set/)[A-Za-z0-9_/-]+|(?<=/join/)[^/\s]+")
"""Paths that give access to their holders: published boards, links for passwords and invitations."""

reference: ContextVar[str] = ContextVar("reference", default=NO_REQUEST)

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class WithReference(logging.Filter):
    """A filter that adds `reference`, the one on the error page, and redacts tokens."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        record.reference = getattr(request, "reference", None) or reference.get()
        if record.name.startswith(("django.", "uvicorn.", "axes")) and isinstance(record.args, tuple):
            record.args = tuple(TOKEN.sub(MASK, arg) if isinstance(arg, str) else arg for arg in record.args)
        return True


class PrivateFormatter(logging.Formatter):
    """A formatter of tracebacks that omits messages that may quote a passage or a secret."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name that logging calls; Any: as its stub
        error = ei[1]
        return "\n".join(_traceback_lines(error)) if error is not None else "no exception"

    def format(self, record: logging.LogRecord) -> str:
        return _without_secrets(super().format(record))


class JsonFormatter(PrivateFormatter):
    """A formatter with one line of JSON per record, and equally little content."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "reference": getattr(record, "reference", NO_REQUEST),
            "message": _without_secrets(record.getMessage()),
        }
        if record.exc_info:
            line["exception"] = _without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


@contextmanager
def about(name: str) -> Iterator[None]:
    """Set `name` as the reference of log lines inside the block, such as the name of a worker's task."""
    token = reference.set(name)
    try:
        yield
    finally:
        reference.reset(token)


def _without_secrets(text: str) -> str:
    from rubricweb.core.secrets import redacted  # late, since the settings configure logging

    return redacted(text)


def _traceback_lines(error: BaseException) -> Iterator[str]:
    """Yield the lines of `error`, after those of its causes."""
    import traceback

    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _traceback_lines(earlier)
        yield "This led to:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    yield f"{type(error).__module__}.{type(error).__qualname__}: {safe_message(error)}"


def safe_message(error: BaseException) -> str:
    """Return the first line of the message, or a placeholder if the message may quote a text."""
    text = str(error)
    first = text.partition("\n")[0]
    if isinstance(error, _safe_errors()):
        return first[:LINE_CHARACTERS]
    if len(text) <= SAFE_CHARACTERS:
        return first
    return f"(a message of {len(text):,} characters is left out, since it may quote a text)"


def _safe_errors() -> tuple[type[BaseException], ...]:
    """Return the errors whose first line names code, hosts and tables, never rows."""
    from django.core.exceptions import ImproperlyConfigured
    from django.db import IntegrityError, InterfaceError, OperationalError, ProgrammingError
    from django.template import TemplateSyntaxError
    from django.urls import NoReverseMatch
    from redis import RedisError

    database = (IntegrityError, InterfaceError, OperationalError, ProgrammingError)
    code = (AttributeError, ImportError, NameError, TypeError, NoReverseMatch, TemplateSyntaxError)
    return (*database, *code, ImproperlyConfigured, OSError, RedisError)
