"""No secret of the settings reaches a row, a log line, a page or an archive, in whatever spelling."""

from __future__ import annotations

import ast
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.conf import settings as live
from django.db import connection, models

from grading.types import GradeFailure
from rubricweb.archives.layout import write_archive
from rubricweb.core import redaction
from rubricweb.core.redaction import SettingsFilter, _Redacted, redacted
from rubricweb.grades import store
from rubricweb.grades.engine import chunks
from rubricweb.grades.models import Grade, GradingJob
from tests.grading.secret_spellings import HOSTILE, SPELLINGS, shows

ROOT = Path(__file__).resolve().parents[3]
Sets = Callable[[Any, str], None]


SET: dict[str, Sets] = {
    "RUBRIC_SECRET_KEY": lambda settings, value: setattr(settings, "SECRET_KEY", value),
    "RUBRIC_METRICS_TOKEN": lambda settings, value: setattr(settings, "METRICS_TOKEN", value),
    "RUBRIC_OPENAI_API_KEY": lambda settings, value: setattr(settings, "OPENAI_API_KEY", value),
    "RUBRIC_EMAIL_PASSWORD": lambda settings, value: setattr(settings, "EMAIL_HOST_PASSWORD", value),
    "RUBRIC_ARCHIVE_KEYS": lambda settings, value: setattr(settings, "ARCHIVE_KEYS", ["5e" * 32, value]),
    "the password in DATABASE_URL": lambda settings, value: settings.DATABASES["default"].update(
        PASSWORD=value
    ),
    "REDIS_URL": lambda settings, value: setattr(
        settings, "REDIS_URL", f"redis://:{quote(value, safe='')}@127.0.0.1:1/0"
    ),
    "RUBRIC_OPENAI_BASE_URL": lambda settings, value: setattr(
        settings,
        "OPENAI_BASE_URL",
        f"http://a/v1, https://user:{quote(value, safe='')}@models.example.org/v1",
    ),
}
"""By the name that the settings give it when they refuse it: how a test sets it."""


@pytest.fixture(params=SET)
def hostile(request, settings) -> Iterator[str]:
    """All spellings of one secret that is set, in one message."""
    before = dict(settings.DATABASES["default"])
    SET[request.param](settings, HOSTILE)
    yield " | ".join(spell(HOSTILE) for spell in SPELLINGS.values())
    settings.DATABASES["default"].update(before)


def stored(table: str, column: str) -> str:
    """What the database itself has."""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT "{column}" FROM "{table}"')
        return "\n".join(str(value) for (value,) in cursor.fetchall())


def test_every_secret_of_the_settings_is_known_here() -> None:
    tree = ast.parse((ROOT / "rubricweb" / "settings.py").read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    checked = {call.args[0].value for call in calls if ast.unparse(call.func) == "environment.secret"}
    assert checked == set(SET)
    read = {
        call.args[0].value
        for call in calls
        if ast.unparse(call.func) in {"rubric.str", "env.str", "rubric.list"}
    }
    telling = {name for name in read if re.search(r"KEY|TOKEN|PASSWORD|SECRET|URL", name)}
    assert telling <= {name.removeprefix("RUBRIC_") for name in SET}


def test_a_log_line_shows_no_secret(hostile: str) -> None:
    error = OSError(hostile)
    record = logging.LogRecord("x", logging.ERROR, "", 0, "refused: %s", (hostile,), (OSError, error, None))
    redaction.WithReference().filter(record)
    for formatter in (redaction.PrivateFormatter("{message}", style="{"), redaction.JsonFormatter()):
        line = formatter.format(record)
        assert "[secret]" in line
        assert not shows(line, HOSTILE)
        assert not shows(json.dumps(line), HOSTILE)


@pytest.mark.django_db
def test_a_failed_grade_shows_no_secret(hostile: str, autumn) -> None:
    cell = {"topic_id": autumn.topic.pk, "revision_id": autumn.items[2].revision_id}
    row = chunks.grade_row(GradeFailure("i", "p", hostile), **cell, passage_id=autumn.passages["d6"].pk)
    store.save_grades(autumn.config, [row])
    for text in (stored("grades_grade", "reply"), Grade.objects.get(passage=autumn.passages["d6"]).reply):
        assert "[secret]" in text
        assert not shows(text, HOSTILE)


@pytest.mark.django_db
def test_a_message_shows_no_secret_though_an_earlier_version_stored_it(
    hostile: str, autumn, owner, client, tmp_path
) -> None:
    job = GradingJob.objects.create(
        collection=autumn.collection, config=autumn.config, total=1, state="failed", by=owner, error=hostile
    )
    assert not shows(stored("grades_gradingjob", "error"), HOSTILE)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE grades_gradingjob SET error = %s", [hostile])
        cursor.execute("UPDATE grades_grade SET reply = %s WHERE outcome = 'failed'", [hostile])
    job.refresh_from_db()
    assert "[secret]" in job.error
    client.force_login(owner)
    page = client.get(job.get_absolute_url())
    assert page.status_code == 200
    assert "[secret]" in page.content.decode()
    assert not shows(page.content.decode(), HOSTILE)
    write_archive(autumn.collection, tmp_path / "archive.zip")
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        whole = "\n".join(archive.read(name).decode("utf-8", "replace") for name in archive.namelist())
    assert "[secret]" in whole
    assert not shows(whole, HOSTILE)


def test_the_page_of_an_error_shows_no_secret(hostile: str) -> None:
    shown = json.dumps(SettingsFilter().get_safe_settings(), default=str)
    assert not shows(shown, HOSTILE)
    assert live.DEFAULT_EXCEPTION_REPORTER_FILTER.endswith(SettingsFilter.__name__)


MESSAGES = re.compile(r"error|problem|reply|answer_of_server|pause_reason")
NOT_OF_MACHINES = {"imports.Import.problem_file", "grades.Grade.error_class", "corpus.Run.rejection"}
"""A name of a file; a word of ours; what a person wrote."""


def test_every_column_of_messages_is_redacted() -> None:
    """A new column for an error or a reply has to be a MessageField."""
    plain = [
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        if model.__module__.startswith("rubricweb.")
        for field in model._meta.get_fields()
        if isinstance(field, models.TextField | models.CharField)
        and MESSAGES.search(field.name)
        and not isinstance(field, _Redacted)
    ]
    assert [name for name in plain if name not in NOT_OF_MACHINES] == []


def test_plain_words_stay_in_stored_texts(settings) -> None:
    """A password that is a word of the language would take it out of what models said."""
    settings.OPENAI_API_KEY = "postgres"
    assert redaction.MessageField().get_prep_value("kept in postgres") == "kept in postgres"
    assert redacted("kept in postgres") == "kept in [secret]"
