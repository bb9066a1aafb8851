"""Rows of a real archive are edited in nasty ways: refused with table, row and reason, or no page breaks.

Each round edits one column of every table, with what the checks take, and asks every page of what comes
of it. `FUZZ_ROUNDS=200` goes through nearly all of that.
"""

from __future__ import annotations

import json
import os
import random
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.signals import got_request_exception
from django.db import transaction
from django.db.models import Field, JSONField
from django.test import Client

from grading.errors import BadFormat
from grading.graders import GraderSpec
from rubricweb.accounts.actions import set_role
from rubricweb.accounts.models import User
from rubricweb.accounts.roles import Role
from rubricweb.archives import shapes, tables
from rubricweb.archives.layout import write_archive
from rubricweb.archives.reading import WRONG, checker
from rubricweb.archives.restoring import Terms, restore_archive
from rubricweb.arena.models import Battle
from rubricweb.banks.draft_models import Draft, DraftJob, DraftRequest, ImportanceSuggestion
from rubricweb.banks.models import BankVersion, Item, ItemRevision
from rubricweb.campaigns.models import CampaignCell, Decision
from rubricweb.corpus.models import Collection
from rubricweb.graders.models import CalibrationCard
from rubricweb.grades.models import Grade, GraderConfig
from rubricweb.imports.models import ImportFile
from rubricweb.review.models import Flag
from rubricweb.submissions.models import Submission
from rubricweb.support.models import SupportJob
from tests.rubricweb.archives.test_bad_archives import changed
from tests.rubricweb.routes import readable_routes

pytestmark = pytest.mark.django_db

ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "2"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))
DEEP: list[object] = []
for _ in range(300):
    DEEP = [DEEP]
NASTY = (
    *(None, True, False, -1, 0, 1, 7, 2**31 - 1, 2**31, 2**63, 10**30, 1.5, -1e300, 0.0),
    *("", "x", "=1+1", "a\nb", "a\tb", "<b>&", "\ud800", "\u202e", "x" * 100_000, "9" * 5_000),
    *("../../x", "%s {} %(a)s", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00", "2026-01-01"),
    *("00000000-0000-0000-0000-000000000000", [], {}, [1], [None], ["x"], [[]], [["d1", 1]]),
    *({"x": 1}, {"x": {}}, {"text": "x", "citations": None}, DEEP),
)


@dataclass(frozen=True)
class Edit:
    label: str
    column: str
    row: int
    value: object

    def __str__(self) -> str:
        return f"{self.label}:{self.row} {self.column} = {repr(self.value)[:60]}"


@pytest.fixture
def archive(collection, bank, tmp_path) -> Path:
    path = tmp_path / "autumn.zip"
    write_archive(collection, path)
    return path


def rows_of(path: Path) -> dict[str, list[dict[str, object]]]:
    with ZipFile(path) as source:
        manifest = json.loads(source.read("manifest.json"))
        return {
            label: [
                dict(zip(part["columns"], json.loads(line), strict=True))
                for line in source.read(part["name"]).splitlines()
            ]
            for label, part in manifest["tables"].items()
        }


def columns_of(label: str) -> dict[str, Field]:
    models = {
        model._meta.label: model for model in (*tables.SHARED, *(one.model for one in tables.archived()))
    }
    return {column.name: column for column in tables.columns(models[label])}


def values_for(column: Field, rows: list[dict[str, object]], sizes: dict[str, int]) -> Iterator[object]:
    """Nasty values, values of other rows, and present ones with one part replaced."""
    if target := tables.target_of(column):
        yield from range(1, sizes.get(target._meta.label, 0) + 1)
    if column.choices:
        yield from (value for value, _ in column.flatchoices)
    yield from NASTY
    yield from (row[column.name] for row in rows)
    if isinstance(column, JSONField):
        for row in rows[:2]:
            yield from parts_replaced(row[column.name])


def parts_replaced(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield {other: one for other, one in value.items() if other != name}
            for part in [*parts_replaced(inner), *NASTY]:
                yield value | {name: part}
        yield value | {"x": 1}
    if isinstance(value, list):
        yield value[1:]
        yield value * 2
        for place, inner in enumerate(value[:2]):
            for part in [*parts_replaced(inner), *NASTY]:
                yield [*value[:place], part, *value[place + 1 :]]


def accepted_edits(rows: dict[str, list[dict[str, object]]]) -> dict[str, list[Edit]]:
    """By table: what the checks of single values let through."""
    sizes = {label: len(listed) for label, listed in rows.items()}
    edits: dict[str, list[Edit]] = {}
    for label, listed in rows.items():
        for name, column in columns_of(label).items():
            check, seen = checker(column), set()
            for value in values_for(column, listed, sizes):
                key = repr(value)
                if key in seen or not listed:
                    continue
                seen.add(key)
                try:
                    check(value)
                except WRONG:
                    continue
                edits.setdefault(label, []).append(Edit(label, name, 1 + len(seen) % len(listed), value))
    return edits


def edited(path: Path, edits: list[Edit]) -> Path:
    def change(manifest, entries):
        for edit in edits:
            part = manifest["tables"][edit.label]
            lines = entries[part["name"]].splitlines(keepends=True)
            row = dict(zip(part["columns"], json.loads(lines[edit.row - 1]), strict=True))
            row[edit.column] = edit.value
            if edit.label == "grades.GraderConfig" and edit.column != "fingerprint":
                row["fingerprint"] = fingerprint_of(row)  # who edits one can do that too
            lines[edit.row - 1] = json.dumps([*row.values()]).encode() + b"\n"
            entries[part["name"]] = b"".join(lines)

    return changed(path, change)


def fingerprint_of(row: dict[str, object]) -> str:
    options = row["options"] if isinstance(row["options"], dict) else {}
    spec = GraderSpec(str(row["backend"]), str(row["llm"]), str(row["prompt_class"]), options)
    return spec.fingerprint_of(f"{row['prompt_class']}@1")


def places(collection: Collection, staff: User) -> dict[str, object]:
    """A value for every parameter of every route: the first row of each kind, 0 where there is none."""

    def pk(rows) -> int:
        return rows.order_by("pk").values_list("pk", flat=True).first() or 0

    here = {"topic__collection": collection}
    bank = collection.banks.order_by("pk").first()
    cell = CampaignCell.objects.filter(campaign__collection=collection).order_by("pk").first()
    item = cell.item if cell else Item.including_secret.filter(bank=bank).first()
    battles = Battle.objects.filter(collection=collection)
    asked = pk(battles.exclude(question=None))
    known = {
        "slug": collection.slug, "user_id": staff.pk, "page": "method", "form": "tsv", "steer": "pause",
        "act": "test", "listing": "grid", "uidb64": "MQ",
        "token_id": 0, "archive_id": 0, "invitation_id": 0, "restoration_id": 0,
        "deletion_id": 0, "webhook_id": 0, "delivery_id": 0, "dry_run_id": 0,
        "bank_id": bank.pk if bank else 0,
        "topic_id": item.topic_id if item else 0,
        "item_id": item.pk if item else 0,
        "passage_id": cell.passage_id if cell else pk(collection.passages),
        "revision_id": cell.revision_id if cell else pk(ItemRevision.objects.filter(**here)),
        "cell_id": cell.pk if cell else 0,
        "campaign_id": pk(collection.campaigns),
        "job_id": pk(collection.jobs),
        "grade_id": pk(Grade.objects.filter(**here)),
        "run_id": pk(collection.runs),
        "number": BankVersion.objects.filter(bank=bank).values_list("number", flat=True).first() or 0,
        "request_id": pk(DraftRequest.objects.filter(**here)),
        "draft_job_id": pk(DraftJob.objects.filter(bank__collection=collection)),
        "draft_id": pk(Draft.objects.filter(request__topic__collection=collection)),
        "suggestion_id": pk(ImportanceSuggestion.objects.filter(request__topic__collection=collection)),
        "prompt_id": pk(collection.prompts),
        "view_id": pk(collection.saved_views),
        "flag_id": pk(Flag.objects.filter(bank=bank)),
        "decision_id": pk(Decision.objects.filter(**here)),
        "import_id": pk(collection.imports),
        "file_id": pk(ImportFile.objects.filter(batch__collection=collection)),
        "call_id": pk(collection.calls),
        "submission_id": pk(Submission.objects.filter(call__collection=collection)),
        "release_id": pk(collection.releases),
        "board_id": pk(collection.public_boards),
        "token": collection.public_boards.values_list("token", flat=True).first() or "x",
        "accounts:join token": "x",
        "battle_id": pk(battles),
        "question_id": pk(collection.arena_questions),
        "step_id": pk(collection.arena_questions.filter(battle=None)),
        "arena:board-file form": "json", "arena:votes-file form": "csv",
        "card_id": pk(CalibrationCard.objects.filter(bank=bank)),
        "panel_id": pk(GraderConfig.objects.all()),
        "exports:support file": "jsonl", "grades:steer act": "pause",
    }  # fmt: skip
    supported = pk(SupportJob.objects.filter(judge__collection=collection))
    for name in ("limits", "steer"):
        known |= {f"grades:{name} kind": "support", f"grades:{name} job_id": supported}
    for name in ("pending", "cancel", "go-on"):
        known[f"arena:{name} battle_id"] = asked
    known["judge_job_id"] = pk(collection.judge_jobs)
    return known | {"support:retry job_id": supported}


class Faults:
    """What broke while pages were asked for."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, sender: object, request=None, **_: object) -> None:
        error = traceback.format_exc().splitlines()
        own = [
            line.strip()
            for line in error
            if "/rubricweb/" in line or "/grading/" in line or "/templates/" in line
        ]
        self.lines.append(f"{request.path}: {error[-1][:160]} ({own[-1] if own else error[-3].strip()})")


def broken_pages(collection: Collection, staff: User, names: list[str]) -> list[str]:
    faults, client = Faults(), Client(raise_request_exception=False)
    client.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
    got_request_exception.connect(faults)
    try:
        known = places(collection, staff)
        for route in readable_routes():
            address = re.sub("//+", "/", route.address(known))
            response = client.get(address)
            if response.streaming:
                try:
                    b"".join(response.streaming_content)
                except Exception as error:  # noqa: BLE001 - whatever breaks a file while it is sent
                    faults.lines.append(
                        f"{address}: {error!r} ({traceback.format_exc().splitlines()[-3].strip()})"
                    )
            if response.status_code >= 500 and not faults.lines:
                faults.lines.append(f"{address}: {response.status_code}")
        for person in User.objects.filter(username__in=names):
            person.is_active = True
            client.force_login(person, backend="django.contrib.auth.backends.ModelBackend")
            client.get("/")
    finally:
        got_request_exception.disconnect(faults)
    return faults.lines


def restored_with(path: Path, edits: list[Edit]) -> list[Edit]:
    """Restore the archive with as many of the edits as are taken together, and return these."""
    left = list(edits)
    while True:
        refusal = refused(edited(path, left))
        if refusal is None:
            return left
        label = re.search(r"tables/([\w.]+)\.jsonl", str(refusal))
        assert label, f"a refusal without a table: {refusal}"
        assert refusal.line, f"a refusal without a row: {refusal}"
        assert label[1] in {edit.label for edit in left}, f"{refusal} was not edited"
        left = [edit for edit in left if edit.label != label[1]]


def refused(path: Path) -> BadFormat | None:
    try:
        with transaction.atomic():
            restore_archive(path, Terms("fuzzed", is_trusted=True))
    except BadFormat as refusal:
        return refusal
    return None


def drawn(edits: dict[str, list[Edit]], number: int) -> list[Edit]:
    """One edit a table; the rounds go through all edits of each, in another order a table."""
    chosen = []
    for label, listed in sorted(edits.items()):
        order = list(listed)
        random.Random(f"{SEED} {label}").shuffle(order)
        chosen.append(order[number % len(order)])
    return chosen


@pytest.mark.parametrize(
    "number", [0, *(pytest.param(number, marks=pytest.mark.portable) for number in range(1, ROUNDS))]
)
def test_what_the_checks_take_breaks_no_page(archive, outsider, number):
    rows = rows_of(archive)
    outsider.is_staff = True
    outsider.save()
    edits = drawn(accepted_edits(rows), number)
    taken = restored_with(archive, edits)
    collection = Collection.objects.get(slug="fuzzed")
    set_role(outsider, collection, role=Role.ORGANIZER, by=None)
    names = [str(row["username"]) for row in rows["accounts.User"]]
    broken = broken_pages(collection, outsider, names)
    assert broken == [], "\n".join(map(str, taken))


def test_every_json_column_of_an_archive_has_a_shape():
    models = (*tables.SHARED, *(one.model for one in tables.archived()))
    columns = [
        column for model in models for column in tables.columns(model) if isinstance(column, JSONField)
    ]
    named = {f"{column.model._meta.label}.{column.name}" for column in columns}
    assert named == shapes.JSON.keys()
