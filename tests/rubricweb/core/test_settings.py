"""Settings that must fail loudly or be strict when the server is real."""

import contextlib
import io
import os
import runpy
import shutil
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from django.utils.module_loading import import_string

from rubricweb import settings


@dataclass(frozen=True)
class Start:
    """What a process prints that reads the settings, and how it ends."""

    stdout: str
    stderr: str

    @property
    def returncode(self) -> int:
        return int(bool(self.stderr))


def _settings(tmp_path, code: str, *lines: str, **env: str) -> Start:
    """Runs `code` with a copy of the settings, beside a `.env` of these lines and nobody's own."""
    (tmp_path / "rubricweb").mkdir()
    copy = shutil.copy(Path(settings.__file__), tmp_path / "rubricweb")
    (tmp_path / ".env").write_text("\n".join(lines))
    there = {"PATH": os.environ["PATH"], "RUBRIC_DATA_DIR": str(tmp_path)} | env
    printed = io.StringIO()
    with mock.patch.dict(os.environ, there, clear=True), contextlib.redirect_stdout(printed):
        try:
            exec(code, {"settings": SimpleNamespace(**runpy.run_path(copy))})
        except Exception:  # noqa: BLE001 - whatever ends the process
            return Start(printed.getvalue(), traceback.format_exc())
    return Start(printed.getvalue(), "")


def test_every_setting_is_read_from_the_file_too(tmp_path):
    """The environment goes before it."""
    lines = (
        "REDIS_URL=redis://there:1/0",
        "RUBRIC_LEASE_SECONDS=7",
        "RUBRIC_CHUNK_CELLS=9",
        "RUBRIC_PRICES=",
    )
    code = "print(settings.REDIS_URL, settings.LEASE_SECONDS, settings.CHUNK_CELLS, settings.PRICES)"
    answer = _settings(tmp_path, code, *lines, RUBRIC_CHUNK_CELLS="5", RUBRIC_LEASE_SECONDS="")
    assert answer.stdout.split() == ["redis://there:1/0", "7", "5", "{}"]


def test_what_is_set_to_nothing_has_its_default(tmp_path):
    ours = ("DATA_DIR", "DEBUG", "ALLOWED_HOSTS", "LEASE_SECONDS", "PRICES", "LOG_LEVEL", "SSL_REDIRECT")
    empty = dict.fromkeys([f"RUBRIC_{name}" for name in ours] + ["DATABASE_URL", "REDIS_URL"], "")
    code = "print(settings.DATA_DIR == settings.BASE_DIR / 'var', settings.DEBUG, settings.LEASE_SECONDS)"
    assert _settings(tmp_path, code, **empty).stdout.split() == ["True", "True", "60"]


def test_a_secret_key_of_nothing_is_none(tmp_path):
    answer = _settings(tmp_path, "", RUBRIC_DEBUG="0", RUBRIC_SECRET_KEY="")
    assert answer.returncode != 0
    assert "RUBRIC_SECRET_KEY" in answer.stderr


def test_without_debug_a_secret_key_is_needed(tmp_path):
    answer = _settings(tmp_path, "", RUBRIC_DEBUG="0")
    assert answer.returncode != 0
    assert "RUBRIC_SECRET_KEY" in answer.stderr


def test_cookies_are_secure_without_debug(tmp_path):
    code = "print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_SSL_REDIRECT)"
    answer = _settings(tmp_path, code, RUBRIC_DEBUG="0", RUBRIC_SECRET_KEY="long-and-random")
    assert answer.stdout.split() == ["True", "True", "True"]


def test_without_debug_pages_a_machine_of_ones_own_is_no_stricter(tmp_path):
    code = "print(settings.DEBUG, settings.SESSION_COOKIE_SECURE, settings.WHITENOISE_USE_FINDERS)"
    answer = _settings(tmp_path, code, RUBRIC_DEBUG_PAGES="false")
    assert answer.stdout.split() == ["False", "False", "True"]


@pytest.mark.parametrize("url", ["postgresql://u:p@db.example/rubric", "sqlite:////tmp/x.sqlite3"])
def test_the_database_url_is_honoured(tmp_path, url):
    answer = _settings(tmp_path, "print(settings.DATABASES['default']['ENGINE'])", DATABASE_URL=url)
    assert ("postgresql" in answer.stdout) == url.startswith("postgresql")


def test_a_very_long_path_still_gives_a_usable_redis_socket(tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    answer = _settings(tmp_path, "print(settings.REDIS_URL)", RUBRIC_DATA_DIR=str(deep))
    socket = answer.stdout.strip().removeprefix("unix://").removesuffix("?db=0")
    assert len(socket) <= 100


SECRETS = ["RUBRIC_OPENAI_API_KEY", "RUBRIC_SECRET_KEY", "RUBRIC_EMAIL_PASSWORD", "RUBRIC_METRICS_TOKEN"]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_read_without_blanks_and_refused_with_a_line_end(tmp_path, name):
    code = "print(repr(vars(settings)[name]))"
    setting = {"RUBRIC_EMAIL_PASSWORD": "EMAIL_HOST_PASSWORD"}.get(name, name.removeprefix("RUBRIC_"))
    answer = _settings(tmp_path, f"name = {setting!r}; {code}", **{name: " k3J-x8Qw_2mN5v\r\n"})
    assert answer.stdout.strip() == "'k3J-x8Qw_2mN5v'"


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("value", ["k3J-x8Qw\n2mN5v", "k3J-x8Qw\x0b2mN5v"])
def test_a_secret_with_a_line_end_stops_the_start_and_does_not_show(tmp_path, name, value):
    answer = _settings(tmp_path, "", **{name: value})
    assert answer.returncode != 0
    assert f"{name} has a line end or another control character in it: give it on one line." in answer.stderr
    assert "k3J" not in answer.stderr


@pytest.mark.parametrize("name", ["RUBRIC_OPENAI_API_KEY", "RUBRIC_METRICS_TOKEN"])
def test_a_key_that_no_header_can_carry_stops_the_start(tmp_path, name):
    answer = _settings(tmp_path, "", **{name: "k3J\u2013x8Qw"})
    assert f"{name} has a character outside ASCII" in answer.stderr
    assert "k3J" not in answer.stderr


def test_keys_of_archives_are_read_without_blanks(tmp_path):
    answer = _settings(
        tmp_path, "print(settings.ARCHIVE_KEYS)", RUBRIC_ARCHIVE_KEYS=f"{'5e' * 32}, {'a1' * 32} "
    )
    assert answer.stdout.strip() == str(["5e" * 32, "a1" * 32])


def test_a_key_of_archives_with_a_letter_missing_stops_the_start_and_does_not_show(tmp_path):
    answer = _settings(tmp_path, "", RUBRIC_ARCHIVE_KEYS=f"{'5e' * 32},k3J")
    assert "RUBRIC_ARCHIVE_KEYS has a key that is not 64 hexadecimal digits" in answer.stderr
    assert "k3J" not in answer.stderr


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "DATABASE_URL",
            "postgresql://u:k3J%0Ax@db.example/rubric",
            "the password in DATABASE_URL has a line end",
        ),
        ("REDIS_URL", "redis://:k3J\nx@there:1/0", "REDIS_URL has a line end"),
        ("RUBRIC_OPENAI_BASE_URL", "http://u:k3J\n@there/v1", "RUBRIC_OPENAI_BASE_URL has a line end"),
    ],
)
def test_an_address_with_a_line_end_stops_the_start(tmp_path, name, value, words):
    answer = _settings(tmp_path, "", **{name: value})
    assert words in answer.stderr
    assert "k3J" not in answer.stderr


LONG = "k3J-x8Qw_2mN5vB7cZ1pLr9Tt4Yy6Uu0Aa-Ss_Dd"


@pytest.mark.parametrize(
    ("env", "objection"),
    [
        ({"RUBRIC_DEBUG": "1", "RUBRIC_SECRET_KEY": LONG}, "RUBRIC_DEBUG is on"),
        ({"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": "insecure, for development only"}, "is published"),
        ({"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": "changeme"}, "has 8 characters"),
        ({"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": LONG[:31]}, "has 31 characters"),
        ({"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": "changeme" * 5}, "can be guessed"),
        ({"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": "a" * 40}, "can be guessed"),
    ],
)
def test_a_server_that_others_reach_refuses(tmp_path, env, objection):
    answer = _settings(tmp_path, "", RUBRIC_ALLOWED_HOSTS="localhost,rubric.example.org", **env)
    assert answer.returncode != 0
    assert objection in answer.stderr
    assert "rubric.example.org" in answer.stderr


def test_a_server_that_others_reach_starts_with_a_key_of_its_own(tmp_path):
    env = {"RUBRIC_DEBUG": "0", "RUBRIC_SECRET_KEY": LONG, "RUBRIC_ALLOWED_HOSTS": "rubric.example.org"}
    assert _settings(tmp_path, "print('starts')", **env).stdout.strip() == "starts"


def test_this_machine_alone_may_have_any_key(tmp_path):
    hosts = "localhost,127.0.0.1,[::1],rubric.localhost"
    env = {"RUBRIC_DEBUG": "1", "RUBRIC_SECRET_KEY": "changeme", "RUBRIC_ALLOWED_HOSTS": hosts}
    assert _settings(tmp_path, "print('starts')", **env).stdout.strip() == "starts"


def test_dotted_paths_name_what_exists():
    lists = (settings.KINDS_OF_WORK, settings.JOB_LISTINGS, settings.WORKER_DUTIES)
    more = (settings.IMPORTERS.values(), settings.KEPT_REPLIES, settings.ON_LEAVING)
    assert all(import_string(path) for paths in (*lists, *more) for path in paths)
