"""What the help says of webhooks: what it says of signatures runs, and what it lists is what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from rubricweb.webhooks.deliveries import WAITS, headers_of
from rubricweb.webhooks.models import CHOSEN, Endpoint, Message

PAGE = (Path(__file__).resolve().parents[3] / "docs/help/programs.md").read_text(encoding="utf-8")
TEXT = PAGE.partition("\n## Webhooks\n")[2].partition("\n## ")[0]


def block(language: str) -> str:
    (code,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return code


def test_its_python_verifies_a_signature():
    names: dict = {}
    exec(block("python"), names)
    message, endpoint = Message(body=block("json")), Endpoint()
    headers = headers_of(message, endpoint, timezone.now())
    assert names["receive"](endpoint.secret, message.body.encode(), headers)["type"] == "job.ended"
    with pytest.raises(WebhookVerificationError):
        names["receive"](endpoint.secret, message.body.replace("12", "13").encode(), headers)


def test_it_lists_every_event_and_every_pause():
    assert re.findall(r"^\| `([a-z.]+)` \|", TEXT, re.MULTILINE) == [event for event, _ in CHOSEN]
    seconds = [5, 5 * 60, 30 * 60, *(hours * 3_600 for hours in (2, 5, 10, 14, 20, 24))]
    assert [wait.total_seconds() for wait in WAITS] == seconds
    assert json.loads(block("json"))["data"]["job"]["state"] == "done"
