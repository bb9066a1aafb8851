"""The secrets of this server, and columns of messages from which they are redacted.

An error message of a library or a server may quote a key or a password, in a spelling of its own. Messages
from calls of a model are redacted where they arise (`grading.graders.connection`); all others are redacted
here: values stored in a `MessageField`, log lines, and Django's page of an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.db import models
from django.views.debug import SafeExceptionReporterFilter

from grading import secret
from grading.graders.connection import Address


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
