"""A failed request reaches the log with the reference of its page, and without what it read."""

import json
import logging
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError
from django.test import Client

from grading import secret
from rubricweb.core import redaction

ROOT = Path(__file__).resolve().parents[3]
PASSAGE = "The sourdough culture doubles within four hours when it is kept at twenty-six degrees."
KEY = "k3J-x8Qw_2mN5vB7cZ1pLr9Tt4Yy6Uu0Aa-Ss_Dd"


@contextmanager
def _server(folder: Path):
    """A uvicorn with RUBRIC_DEBUG off over a database that has no tables, and its standard error."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {
        "PATH": os.environ["PATH"],
        "RUBRIC_DATA_DIR": str(folder),
        "RUBRIC_DEBUG": "false",
        "RUBRIC_SECRET_KEY": KEY,
        "RUBRIC_ALLOWED_HOSTS": "127.0.0.1",
        "RUBRIC_SSL_REDIRECT": "false",
    }
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "rubricweb.asgi:application",
        "--lifespan",
        "off",
        "--port",
        str(port),
    ]
    errors = folder / "stderr"
    with errors.open("w") as stderr:
        process = subprocess.Popen(command, cwd=ROOT, env=env, stderr=stderr)
    try:
        yield f"http://127.0.0.1:{port}", errors, process
    finally:
        process.terminate()
        process.wait(20)


def _answer(url: str, process: subprocess.Popen[bytes], **headers: str) -> tuple[int, str, str]:
    """Status, body and reference of the page at `url`, as soon as the server answers."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
                return answer.status, answer.read().decode(), answer.headers["X-Request-Reference"]
        except urllib.error.HTTPError as answer:
            return answer.code, answer.read().decode(), answer.headers["X-Request-Reference"]
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not answer")


def test_a_failed_request_is_in_the_log_under_the_reference_of_its_page(tmp_path):
    with _server(tmp_path) as (url, errors, process):
        status, page, reference = _answer(f"{url}/", process, Cookie=f"sessionid={'s' * 32}")
        _answer(f"{url}/leaderboards/public/{'t' * 32}/", process)
    log = errors.read_text()
    assert status == 500
    assert re.fullmatch(r"[0-9a-f]{10}", reference)
    assert reference in page
    assert f"ERROR django.request [{reference}]: Internal Server Error: /" in log
    assert "Traceback (most recent call last)" in log
    assert "no such table: django_session" in log
    assert KEY not in log
    assert "t" * 32 not in log


@pytest.mark.django_db
def test_each_request_has_a_reference_of_its_own(client: Client):
    first, second = (client.get("/accounts/sign-in/")["X-Request-Reference"] for _ in range(2))
    assert first != second
    assert redaction.reference.get() == redaction.NO_REQUEST


def _logged(error: BaseException) -> str:
    """The lines that our handler writes for `error`."""
    formatter = redaction.PrivateFormatter("{levelname} [{reference}]: {message}", style="{")
    try:
        raise error
    except type(error) as raised:
        record = logging.LogRecord(
            "django.request",
            logging.ERROR,
            "",
            0,
            "Broke at %s",
            ("/x/",),
            (type(raised), raised, raised.__traceback__),
        )
    redaction.WithReference().filter(record)
    return formatter.format(record)


@pytest.mark.parametrize(
    "error", [ValueError(PASSAGE), IntegrityError(f"duplicate key\nDETAIL: ({PASSAGE})")]
)
def test_a_traceback_quotes_no_passage(error):
    text = _logged(error)
    assert "sourdough" not in text
    assert type(error).__name__ in text
    assert "in _logged" in text


def test_a_short_message_stays():
    assert "KeyError: 17" in _logged(KeyError(17))
    assert "too many clients already" in _logged(OperationalError("FATAL: sorry, too many clients already"))


def test_the_cause_comes_before_what_it_led_to():
    error = ValueError("second")
    error.__cause__ = KeyError("first")
    text = _logged(error)
    assert text.index("KeyError: 'first'") < text.index("This led to:") < text.index("ValueError: second")


def test_secrets_are_masked(monkeypatch):
    monkeypatch.setattr(settings, "OPENAI_API_KEY", "sk-very-secret")
    text = _logged(OSError("401 for key sk-very-secret"))
    assert "sk-very-secret" not in text
    assert secret.MASK in text


def test_a_line_of_any_library_is_redacted(tmp_path):
    """Whoever logs, the one handler writes it."""
    code = (
        "import django, logging; django.setup();"
        "[logging.getLogger(name).error('sent %s', {'Authorization': 'Bearer sk-\"very\"-secret'})"
        " for name in ('httpx', 'rq.worker', 'uvicorn.error', 'rubricweb.jobs', 'django.request')]"
    )
    env = {
        "PATH": os.environ["PATH"],
        "RUBRIC_DATA_DIR": str(tmp_path),
        "RUBRIC_OPENAI_API_KEY": 'sk-"very"-secret',
        "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
    }
    answer = subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert answer.stderr.count("sent {'Authorization': 'Bearer [secret]'}") == 5
    assert "very" not in answer.stderr + answer.stdout


def test_the_page_has_its_reference_when_the_template_fails(rf, monkeypatch):
    from rubricweb.core import errors

    def broken(*args: object) -> str:
        raise ValueError("no manifest")

    monkeypatch.setattr(errors, "render_to_string", broken)
    request = rf.get("/")
    request.reference = "0123456789"
    answer = errors.server_error(request)
    assert answer.status_code == 500
    assert b"0123456789" in answer.content


def test_a_line_of_json_says_as_little(monkeypatch):
    monkeypatch.setattr(settings, "OPENAI_API_KEY", 'sk-"quoted"-secret')
    error = ValueError(PASSAGE)
    record = logging.LogRecord(
        "rubricweb.jobs",
        logging.WARNING,
        "",
        0,
        "refused: %s",
        ('sk-"quoted"-secret',),
        (type(error), error, None),
    )
    with redaction.about("chunk-7-1"):
        redaction.WithReference().filter(record)
    line = json.loads(redaction.JsonFormatter().format(record))
    assert {key: line[key] for key in ("level", "logger", "reference", "message")} == {
        "level": "WARNING",
        "logger": "rubricweb.jobs",
        "reference": "chunk-7-1",
        "message": "refused: [secret]",
    }
    assert "ValueError" in line["exception"]
    assert "sourdough" not in line["exception"]
    assert datetime.fromisoformat(line["time"]).tzinfo is not None
