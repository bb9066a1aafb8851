"""Redaction: no secret stands in a log line, a traceback or a stored message.

An error message of a library or a server may quote a key or a password, in a spelling of its own. Messages
from calls of a model are redacted where they arise (`grading.graders.connection`); all others are redacted
here: values stored in a `MessageField`, log lines, and Django's page of an error.
"""

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

from django.conf import settings
from django.db import models
from django.views.debug import SafeExceptionReporterFilter

from grading import secret
from grading.graders.connection import Address

NO_REQUEST = "-"
SAFE_CHARACTERS = 60
"""Length beyond which an exception message may quote a passage."""
LINE_CHARACTERS = 300
TOKEN = re.compile(r"(?<=/)[A-Za-z0-9_-]{24,}(?=/)|(?<=/password/set/)[A-Za-z0-9_/-]+|(?<=/join/)[^/\s]+")
"""Paths that give access to their holders: published boards, links for passwords and invitations."""


def redacted(text: str) -> str:
    """Return `text` without the secrets of the settings, in whatever spelling they stand in it."""
    return secret.redacted(text, secrets())


def _without_keys(value: Any) -> Any:  # Any: of a column
    """Redact keys; plain words stay, since texts contain them and they are no good as passwords."""
    if not isinstance(value, str):
        return value
    return secret.redacted(value, (each for each in secrets() if not each.isalpha()))


class _Redacted:
    """A mixin that redacts stored and read values. Raw SQL has to redact by itself."""

    def deconstruct(self) -> Any:  # Any: as Django has it
        """Return the description of Django's field, so that no migration is needed."""
        name, _, arguments, keywords = super().deconstruct()  # type: ignore[misc]
        return name, f"django.db.models.{self.django_field}", arguments, keywords

    django_field: str

    def get_prep_value(self, value: Any) -> Any:
        return _without_keys(super().get_prep_value(value))  # type: ignore[misc]

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return _without_keys(value)


class MessageField(_Redacted, models.TextField):  # type: ignore[type-arg]  # Django has none at run time
    """A text column for messages of models, servers and libraries, most of all errors."""

    django_field = "TextField"


class ShortMessageField(_Redacted, models.CharField):  # type: ignore[type-arg]
    """A MessageField of limited length."""

    django_field = "CharField"


class SettingsFilter(SafeExceptionReporterFilter):
    """A filter that hides addresses with passwords by content, and other settings by name."""

    def cleanse_setting(self, key: Any, value: Any) -> Any:
        value = super().cleanse_setting(key, value)
        return redacted(value) if isinstance(value, str) else value


def secrets() -> Iterator[str]:
    """Return the secrets of the present settings; empty where one is not set."""
    yield from (settings.SECRET_KEY, settings.METRICS_TOKEN, settings.OPENAI_API_KEY)
    yield settings.EMAIL_HOST_PASSWORD
    yield from settings.ARCHIVE_KEYS
    yield settings.DATABASES["default"].get("PASSWORD") or ""
    for url in (settings.REDIS_URL, *settings.OPENAI_BASE_URL.split(",")):
        yield from Address.of(url).credentials


reference: ContextVar[str] = ContextVar("reference", default=NO_REQUEST)

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class WithReference(logging.Filter):
    """A filter that adds `reference`, the one on the error page, and redacts tokens."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        record.reference = getattr(request, "reference", None) or reference.get()
        if record.name.startswith(("django.", "uvicorn.", "axes")) and isinstance(record.args, tuple):
            record.args = tuple(
                TOKEN.sub(secret.MASK, arg) if isinstance(arg, str) else arg for arg in record.args
            )
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
    from rubricweb.core.redaction import redacted  # late, since the settings configure logging

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
    from django.core.exceptions import ImproperlyConfigured
    from django.db import IntegrityError, InterfaceError, OperationalError, ProgrammingError
    from django.template import TemplateSyntaxError
    from django.urls import NoReverseMatch
    from redis import RedisError

    database = (IntegrityError, InterfaceError, OperationalError, ProgrammingError)
    code = (AttributeError, ImportError, NameError, TypeError, NoReverseMatch, TemplateSyntaxError)
    safe_errors = (*database, *code, ImproperlyConfigured, OSError, RedisError)
    if isinstance(error, safe_errors):
        return first[:LINE_CHARACTERS]
    if len(text) <= SAFE_CHARACTERS:
        return first
    return f"(a message of {len(text):,} characters is left out, since it may quote a text)"
