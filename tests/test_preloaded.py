"""A process that is forked is what it would be if it had been started anew."""

from __future__ import annotations

import os

import pytest

from tests import preloaded

pytestmark = pytest.mark.portable

NAMES = ("AXES_ENABLED", "DATA_DIR", "LEASE_SECONDS", "STATIC_ROOT", "TEMPLATES")
"""Settings of the environment, of a default, and those that apps add or change as they start."""


def settings_of(start, environment, log):
    process = start(["manage.py", "diffsettings", "--all"], environment, log)
    assert process.wait(timeout=60) == 0, log.read_text(encoding="utf-8")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert any(line.startswith("DATABASES = ") and environment["DATABASE_URL"][10:] in line for line in lines)
    return [line for line in lines if line.removeprefix("### ").partition(" = ")[0] in NAMES]


def test_a_forked_process_has_the_settings_of_its_environment(tmp_path):
    own = {"DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3", "RUBRIC_LEASE_SECONDS": "77"}
    environment = {**os.environ, **own, "RUBRIC_DATA_DIR": str(tmp_path)}
    forked = settings_of(preloaded.start, environment, tmp_path / "forked.log")
    assert len(forked) == len(NAMES)
    assert "LEASE_SECONDS = 77" in "\n".join(forked)
    assert forked == settings_of(preloaded.anew, environment, tmp_path / "anew.log")


def test_a_forked_process_has_the_exit_status_of_its_command(tmp_path):
    process = preloaded.start(["manage.py", "no_such_command"], dict(os.environ), tmp_path / "log")
    assert process.wait(timeout=60) == 1
    assert "no_such_command" in (tmp_path / "log").read_text(encoding="utf-8")
