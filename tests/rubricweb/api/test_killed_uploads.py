"""An upload whose web process is killed is made once, and who sends it again learns what became of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.schema import copy_sqlite

ROOT = Path(__file__).resolve().parents[3]
PROCESS = """
import json, os, signal, sys, traceback
import django; django.setup()
from django.urls import get_resolver
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

get_resolver().url_patterns

def die(*arguments, **named):
    os.kill(os.getpid(), signal.SIGKILL)

def upload(place, dies, late):
    if not User.objects.filter(username="owner").exists():
        collection = CollectionFactory(slug="autumn")
        TopicFactory(collection=collection, query_id="t1")
        CallFactory(collection=collection)
        MembershipFactory(collection=collection, user__username="owner", role="organizer")
    if late:
        KeptAnswer.objects.update(lease_until=timezone.now() - timezone.timedelta(seconds=1))
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
    headers = {"Idempotency-Key": "a1", "host": "localhost"}
    answer = client.post(address, b"t1\\twhy\\n", content_type="text/plain", headers=headers)
    rows = {"imports": Import.objects.count(), "submissions": Submission.objects.count()}
    return [answer.status_code, answer.get("Retry-After"), answer.json().get("id"), rows]

print("loaded", flush=True)
for line in sys.stdin:
    reader, writer = os.pipe()
    if child := os.fork():
        os.close(writer)
        answer = open(reader).read()
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), answer]), flush=True)
        continue
    try:
        os.write(writer, json.dumps(upload(*json.loads(line))).encode())
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
"""
"""It loads the product once, and each upload that it reads of is made by a child, which is a web process."""
PLACES = {"imports": "imports/?name=queries.tsv", "submissions": "calls/1/submissions/?name=a.run&team=oak"}


class Machine:
    """A web process after the other on one database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = os.environ | {
            "RUBRIC_DATA_DIR": str(folder),
            "DATABASE_URL": f"sqlite:///{folder}/rubricweb.sqlite3",
            "DJANGO_SETTINGS_MODULE": "rubricweb.settings",
        }
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.parent = subprocess.Popen([sys.executable, "-c", PROCESS], cwd=ROOT, env=environment, **pipes)
        assert self.parent.stdout.readline() == "loaded\n"

    def begin(self) -> None:
        """Leave no data but an empty database."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()
        copy_sqlite(self.folder / "rubricweb.sqlite3")

    def upload(self, what: str, *, dies: str = "nowhere", late: bool = False) -> tuple[int, str]:
        """Return how the process ended, and what it was answered."""
        self.parent.stdin.write(json.dumps([PLACES[what], dies, late]) + "\n")
        self.parent.stdin.flush()
        code, answer = json.loads(self.parent.stdout.readline())
        return code, answer


@pytest.fixture(scope="module")
def running_machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("machine"))
    with machine.parent:
        yield machine
        machine.parent.stdin.close()


@pytest.fixture
def machine(running_machine):
    running_machine.begin()
    return running_machine


def answered(ended: tuple[int, str]) -> list[object]:
    code, answer = ended
    assert code == 0
    return json.loads(answer)


@pytest.mark.parametrize(
    ("what", "dies", "status"),
    [
        ("imports", "before the check", 202),
        ("imports", "before the answer", 202),
        ("submissions", "while the file is kept", 201),
        ("submissions", "before the answer", 201),
    ],
)
def test_an_upload_after_a_kill_is_answered_and_made_once(machine, what, dies, status):
    killed = machine.upload(what, dies=dies)
    assert killed[0] == -signal.SIGKILL
    answer = answered(machine.upload(what))
    assert answer[0] == 409
    assert 0 < int(str(answer[1])) <= 60, "seconds after which it can be sent again"
    again = answered(machine.upload(what, late=True))
    assert (again[0], again[3][what]) == (status, 1)
    assert answered(machine.upload(what))[:3] == again[:3]
