"""A call for answers, two teams that send runs in, and a file that the check refuses."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from django.db import transaction
from django.utils import timezone

from grading.submissions import parse_rules
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.corpus.models import Collection, Response, Run
from rubricweb.demo.loading import FOLDER, account
from rubricweb.submissions.actions import CallTerms, Described, Sent, accept, open_call, receive
from rubricweb.submissions.models import Call, Submission

FILES = FOLDER / "submissions"
RUNS = {
    "maple_cited": "Two or three sentences, each with the passage that says so.",
    "maple_long": "Everything that was retrieved, in one piece.",
    "tern_bold": "A model that is sure of itself; passages were added afterwards.",
    "tern_plain": "A small model without retrieval.",
}
"""Run -> what its team says of it. It begins with the team's name, which is also that of its account."""
REFUSED = "tern_first_try"
TEAMS = ("maple", "tern")


@transaction.atomic
def submit_runs(collection: Collection) -> None:
    """Through the same actions as in the browser: what the teams sent is checked, and accepted."""
    organizer = User.objects.get(username="organizer")
    for team in TEAMS:
        set_role(account(team), collection, role=Role.PARTICIPANT, team=team, by=organizer)
    call = _call(collection, organizer)
    _receive(call, REFUSED, Described(description="Our first try."))
    for run_tag, description in RUNS.items():
        described = Described(Run.Type.AUTOMATIC, description=description)
        accept(_receive(call, run_tag, described), by=organizer)


def _call(collection: Collection, by: User) -> Call:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    terms = CallTerms(
        task="answers",
        takes=Call.Takes.RESPONSES,
        opens_at=now - timedelta(days=14),
        deadline=now + timedelta(days=14),
        time_zone="UTC",
        runs_per_team=3,
        asks_priority=False,
        checks_documents=True,
        passages_of=Response.PassagesOf.RESPONSE,
        text="Answer each topic in at most 100 words. Cite the passages of the collection that say so.",
    )
    rules = (FILES / "rules.toml").read_text(encoding="utf-8")
    return open_call(collection, terms, parse_rules(rules, file="rules.toml"), by=by)


def _receive(call: Call, name: str, described: Described) -> Submission:
    path, team = Path(FILES / f"{name}.jsonl"), name.partition("_")[0]
    sent = Sent(path.name, [path.read_bytes()])
    return receive(call, sent, team=team, by=User.objects.get(username=team), described=described)
