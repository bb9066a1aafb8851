"""Settings that must fail loudly or be strict when the server is real."""

import os
import subprocess
import sys

import pytest


def _settings(tmp_path, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    known = {"PATH": os.environ["PATH"], "RUBRIC_DATA_DIR": str(tmp_path)}
    return subprocess.run(
        [sys.executable, "-c", f"from rubricweb import settings; {code}"],
        check=False,
        env=known | env,
        capture_output=True,
        text=True,
    )


def test_without_debug_a_secret_key_is_needed(tmp_path):
    answer = _settings(tmp_path, "", RUBRIC_DEBUG="0")
    assert answer.returncode != 0
    assert "RUBRIC_SECRET_KEY" in answer.stderr


def test_cookies_are_secure_without_debug(tmp_path):
    code = "print(settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_SSL_REDIRECT)"
    answer = _settings(tmp_path, code, RUBRIC_DEBUG="0", RUBRIC_SECRET_KEY="long-and-random")
    assert answer.stdout.split() == ["True", "True", "True"]


@pytest.mark.parametrize("url", ["postgresql://u:p@db.example/rubric", "sqlite:////tmp/x.sqlite3"])
def test_the_database_url_is_honoured(tmp_path, url):
    answer = _settings(tmp_path, "print(settings.DATABASES['default']['ENGINE'])", DATABASE_URL=url)
    assert ("postgresql" in answer.stdout) == url.startswith("postgresql")


def test_a_very_long_path_still_gives_a_usable_redis_socket(tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    answer = _settings(tmp_path, "print(settings.REDIS_URL)", RUBRIC_DATA_DIR=str(deep))
    socket = answer.stdout.strip().removeprefix("unix://").removesuffix("?db=0")
    assert len(socket) <= 100
