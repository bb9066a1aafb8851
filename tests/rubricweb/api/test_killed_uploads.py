"""An upload whose web process is killed is made once, and who sends it again learns what became of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schema import copy_sqlite

ROOT = Path(__file__).resolve().parents[3]
PROCESS = """
import json, os, signal, sys
import django; django.setup()
from django.utils import timezone
from rest_framework.test import APIClient
from rubricweb.accounts.models import User
from rubricweb.api import idempotency
from rubricweb.api.models import KeptAnswer
from rubricweb.imports import actions as imports
from rubricweb.imports.models import Import
from rubricweb.submissions import files
from rubricweb.submissions.models import Submission
from tests.factories import CallFactory, CollectionFactory, MembershipFactory, TopicFactory

place, dies, is_late = sys.argv[1:]
if not User.objects.filter(username="owner").exists():
    collection = CollectionFactory(slug="autumn")
    TopicFactory(collection=collection, query_id="t1")
    CallFactory(collection=collection)
    MembershipFactory(collection=collection, user__username="owner", role="organizer")
if is_late == "late":
    KeptAnswer.objects.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

holder, name = {
    "nowhere": (None, ""),
    "before the answer": (idempotency, "_keep"),
    "while the file is kept": (files, "keep"),
    "before the check": (imports, "start_check"),
}[dies]
if holder:
    setattr(holder, name, die)
client = APIClient()
client.force_authenticate(User.objects.get(username="owner"))
address = "/api/v1/collections/autumn/" + place
answer = client.post(
    address, b"t1\\twhy\\n", content_type="text/plain", headers={"Idempotency-Key": "a1", "host": "localhost"}
)
rows = {"imports": Import.objects.count(), "submissions": Submission.objects.count()}
print(json.dumps([answer.status_code, answer.get("Retry-After"), answer.json().get("id"), rows]))
"""
PLACES = {"imports": "imports/?name=queries.tsv", "submissions": "calls/1/submissions/?name=a.run&team=oak"}


class Machine:
    """A web process after the other on one database."""

    def __init__(self, folder: Path) -> None:
        copy_sqlite(folder / "rubricweb.sqlite3")
        self.environment = os.environ | {
            "RUBRIC_DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder}/rubricweb.sqlite3",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }

    def upload(
        self, what: str, *, dies: str = "nowhere", late: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-c", PROCESS, PLACES[what], dies, "late" if late else "at once"]
        return subprocess.run(command, cwd=ROOT, env=self.environment, check=False, capture_output=True)


def said(process: subprocess.CompletedProcess[bytes]) -> list[object]:
    assert process.returncode == 0, process.stderr.decode()[-2_000:]
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("what", "dies", "status"),
    [
        ("imports", "before the check", 202),
        ("imports", "before the answer", 202),
        ("submissions", "while the file is kept", 201),
        ("submissions", "before the answer", 201),
    ],
)
def test_an_upload_after_a_kill_is_answered_and_made_once(tmp_path, what, dies, status):
    machine = Machine(tmp_path)
    killed = machine.upload(what, dies=dies)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2_000:]
    answer = said(machine.upload(what))
    assert answer[0] == 409
    assert 0 < int(str(answer[1])) <= 60, "seconds after which it can be sent again"
    again = said(machine.upload(what, late=True))
    assert (again[0], again[3][what]) == (status, 1)
    assert said(machine.upload(what))[:3] == again[:3]
