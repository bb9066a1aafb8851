"""Signing in by an organization and second factors: off unless the environment turns them on.

What they do then is in `on/`, which is run in a process of its own: the applications of Django differ.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings as project
from django.core.exceptions import ImproperlyConfigured

from rubricweb.core import environment
from rubricweb.settings import Environment

ROOT = Path(__file__).resolve().parents[3]
RIGHT = {
    "RUBRIC_OIDC_URL": "https://id.uni.example/",
    "RUBRIC_OIDC_CLIENT_ID": "rubric",
    "RUBRIC_OIDC_SECRET": "k3J-x8Qw_2mN5v",
}


def _read(monkeypatch: pytest.MonkeyPatch, **variables: str) -> environment.Switches:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return environment.read_switches(Environment(prefix="RUBRIC_"), is_local=False)


def test_off_there_is_no_trace_of_them(client, db):
    assert not project.SSO.is_on
    assert not [config.name for config in apps.get_app_configs() if "allauth" in config.name]
    assert client.get("/sso/code/").status_code == 404
    assert "/sso/" not in client.get("/accounts/sign-in/").text


def test_issuer_is_read_without_its_last_slash_and_the_secret_is_not_shown(monkeypatch):
    pytest.importorskip("allauth")
    read = _read(monkeypatch, **RIGHT)
    assert (read.issuer, read.name, read.is_on) == ("https://id.uni.example", "your organization", True)
    assert RIGHT["RUBRIC_OIDC_SECRET"] not in repr(read)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"RUBRIC_OIDC_CLIENT_ID": ""}, "needs RUBRIC_OIDC_CLIENT_ID and RUBRIC_OIDC_SECRET"),
        ({"RUBRIC_OIDC_SECRET": ""}, "needs RUBRIC_OIDC_CLIENT_ID and RUBRIC_OIDC_SECRET"),
        ({"RUBRIC_OIDC_URL": "http://id.uni.example"}, "must be an https address"),
        ({"RUBRIC_OIDC_URL": "id.uni.example"}, "must be an https address"),
    ],
)
def test_settings_that_cannot_work_stop_the_start(monkeypatch, variables, message):
    pytest.importorskip("allauth")
    with pytest.raises(ImproperlyConfigured, match=message):
        _read(monkeypatch, **RIGHT | variables)


def test_without_the_extra_the_start_says_what_to_install(monkeypatch):
    monkeypatch.setattr(environment, "find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match=r"pip install 'rubricweb\[sso\]'"):
        _read(monkeypatch, RUBRIC_SECOND_FACTOR="true")


def test_switched_on_they_hold():
    """The tests of `on/` pass where both are on."""
    pytest.importorskip("allauth")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    switched_on = {
        "RUBRIC_OIDC_URL": f"http://127.0.0.1:{port}",
        "RUBRIC_OIDC_CLIENT_ID": "rubric",
        "RUBRIC_OIDC_SECRET": "k3J-x8Qw_2mN5v",
        "RUBRIC_OIDC_NAME": "Example University",
        "RUBRIC_SECOND_FACTOR": "true",
    }
    of_xdist = {name: "" for name in os.environ if name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q"]
    run = subprocess.run(
        [*command, "--database", "sqlite", "tests/rubricweb/sso/on"],
        cwd=ROOT,
        env={name: value for name, value in (os.environ | switched_on).items() if name not in of_xdist},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-5_000:] + run.stderr[-2_000:]
