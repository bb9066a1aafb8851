"""Undo of the last import: all that it added goes, or the reason is told and nothing does."""

from __future__ import annotations

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rubricweb.banks.actions import revise_item
from rubricweb.banks.models import Item
from rubricweb.core.models import AuditEntry
from rubricweb.corpus import pools
from rubricweb.corpus.models import Collection, Passage
from rubricweb.grades import matrices, store
from rubricweb.grades.human_models import HumanGrade, HumanStamp
from rubricweb.grades.human_ratings import Cell, rate_cell
from rubricweb.grades.import_collection import ImportFiles, import_collection
from rubricweb.grades.models import MatrixStamp
from rubricweb.imports import undo
from rubricweb.imports.models import Import
from rubricweb.review.flags.actions import open_flag
from rubricweb.review.models import Kind, Subject
from tests.factories import PassageFactory, grade, lexical_config
from tests.rubricweb.import_files import FALL, RED, Folder, bank_line, database, passage, rated, uid
from tests.rubricweb.imports.conftest import PAGE, QRELS, QUERIES, RUN, worked
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

GRADED = json.dumps(["t1", [passage("d1", rated({uid(RED): 5})), passage("d2", rated({uid(RED): 0}))]])
BANK = json.dumps(bank_line(RED, FALL))
ALL = {"queries.json": QUERIES, "graded.jsonl": GRADED, "bank.jsonl": BANK, "a.run": RUN, "q.txt": QRELS}
OPTIONS = {"bank_name": "main", "judgments": "", "min_relevant": "", "official_measure": ""}
KEPT = {"imports.Import", "imports.ImportFile", "core.AuditEntry", "grades.GraderConfig", "corpus.Collection"}
"""Tables in which an import and its undo leave rows."""
BUILT = {
    "arena.JudgedPair",
    "arena.Question",
    "banks.BankVersion",
    "banks.Draft",
    "banks.DraftChunk",
    "banks.DraftJob",
    "banks.DraftRequest",
    "banks.ImportanceSuggestion",
    "banks.ItemChange",
    "banks.ItemSource",
    "banks.VersionItem",
    "campaigns.Campaign",
    "campaigns.CampaignCell",
    "campaigns.Decision",
    "corpus.AttributeChunk",
    "graders.CalibrationCard",
    "graders.DryRun",
    "grades.AnswerVerdict",
    "grades.JobChunk",
    "grades.JobPart",
    "leaderboards.BoardWatch",
    "submissions.Submission",
    "support.SupportChunk",
    "support.SupportJob",
    "support.SupportSettings",
    "systems.SystemChunk",
    "systems.SystemJob",
}
"""Tables whose rows keep the import on which they stand: people or paid graders made them."""


@pytest.fixture
def imported(upload, client):
    """`imported(files)` uploads, checks and imports."""

    def made(files: dict[str, str | bytes], **options: object) -> Import:
        batch = upload(files)
        if options:
            client.post(f"{PAGE}{batch.pk}/check/", OPTIONS | options)
            worked(batch)
        client.post(f"{PAGE}{batch.pk}/start/", OPTIONS | options)
        batch = worked(batch)
        assert batch.is_imported
        return batch

    return made


def rows() -> dict:
    return {table: found for table, found in database().items() if table not in KEPT}


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


def test_undo_removes_all_that_was_added(imported, client, owner):
    before = rows()
    batch = imported(ALL)
    assert "Undo this import" in words(client.get(f"{PAGE}{batch.pk}/"))
    client.post(f"{PAGE}{batch.pk}/undo/")
    assert rows() == before
    batch.refresh_from_db()
    assert batch.undone_by == owner
    assert AuditEntry.objects.filter(verb="import undone", by=owner, collection=batch.collection).exists()
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "What it added was removed by" in page
    assert "Undo this import" not in page
    assert "undone" in words(client.get(PAGE))


def test_what_workers_derive_from_it_goes_with_it(imported, client, monkeypatch):
    """Snapshots of pools and ratings, and blocks of long replies."""
    before = rows()
    monkeypatch.setattr(store, "TOGETHER", 1)
    because = "5, since it says that anthocyanins make leaves red."
    long = rated({uid(RED): 5}) | {"answers": [[uid(RED), because]]}
    imported(ALL | {"graded.jsonl": json.dumps(["t1", [passage("d1", long)]])})
    for keep in (pools.keep_snapshots, matrices.keep_snapshots):
        keep(), keep()
    there = {table for table, found in rows().items() if found}
    assert {"corpus.PoolSnapshot", "grades.MatrixSnapshot", "grades.ReplyBlock"} <= there
    client.post(f"{PAGE}{Import.objects.get().pk}/undo/")
    assert rows() == before


def test_what_refers_to_an_import_goes_with_it_or_keeps_it():
    """A new table is named in one of these places, or nothing can be undone any more."""
    own = {model for model, _ in undo.kinds().values()}
    known = own | set(undo.DERIVED)
    others = {one.related_model for model in own for one in undo._relations(model)} - known
    assert {model._meta.label for model in others} == BUILT


@pytest.fixture
def asked_to_undo(imported, client, monkeypatch):
    """A large import whose undo waits for a worker, and the rows before it."""
    before = rows()
    batch = imported(ALL)
    monkeypatch.setattr(undo, "AT_ONCE", 0)
    client.post(f"{PAGE}{batch.pk}/undo/")
    return Import.objects.get(), before


def test_a_worker_undoes_a_large_import(asked_to_undo, client, owner, redis_server):
    batch, before = asked_to_undo
    assert rows() != before
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "No worker is running that can do this" in page
    assert "Undo this import" not in page
    batch = worked(batch)
    assert rows() == before
    assert (batch.undone_by, batch.is_imported, batch.is_live) == (owner, True, False)
    assert "What it added was removed by" in words(client.get(f"{PAGE}{batch.pk}/"))


def test_what_was_built_while_a_worker_was_awaited_keeps_the_import(asked_to_undo, client, owner):
    batch, _ = asked_to_undo
    rate(owner)
    before, ended_at = rows(), batch.ended_at
    batch = worked(batch)
    assert rows() == before
    assert (batch.undone_at, batch.undone_by, batch.is_imported) == (None, None, True)
    assert batch.ended_at == ended_at
    assert "Cannot be undone. Since then: 1 human grades" in words(client.get(f"{PAGE}{batch.pk}/"))


def test_an_import_that_is_being_undone_is_no_open_one(asked_to_undo, client):
    batch, _ = asked_to_undo
    client.post(f"{PAGE}{batch.pk}/discard/")
    client.post(f"{PAGE}{batch.pk}/start/", OPTIONS)
    client.post(f"{PAGE}{batch.pk}/undo/")
    assert Import.objects.get().step == Import.Step.UNDO
    assert not Import.objects.open().exists()


def test_while_others_wait_no_statement_goes_through_the_grades_twice(imported, owner):
    batch = imported(ALL)
    with CaptureQueriesContext(connection) as captured:
        undo.undo_import(batch, by=owner)
    of_grades = [sql for one in captured if (sql := one["sql"]).count('FROM "grades_grade"')]
    assert len(of_grades) <= 8, of_grades
    assert [sql for sql in of_grades if sql.count('FROM "grades_grade"') > 1] == []


def test_undo_of_the_second_leaves_the_first(imported, client):
    imported({"queries.json": QUERIES, "bank.jsonl": BANK, "graded.jsonl": GRADED})
    before, stamps = rows(), list(MatrixStamp.objects.values_list("config", "topic", "grades"))
    more = json.dumps(["t1", [passage("d3", rated({uid(FALL): 4}))]])
    batch = imported({"more.jsonl": more, "a.run": RUN})
    client.post(f"{PAGE}{batch.pk}/undo/")
    after = rows()
    for moved in ("grades.MatrixStamp",):
        before.pop(moved), after.pop(moved)
    assert after == before
    assert list(MatrixStamp.objects.values_list("config", "topic", "grades")) == stamps
    first = Import.objects.order_by("pk").first()
    assert undo.why_not(first) == ""


def item() -> Item:
    return Item.objects.get(revision__text=RED)


def rate(owner) -> None:
    place = Collection.objects.get().topics.get().pool.first().passage
    rate_cell(Cell.of(item(), place), rating=3, by=owner, seen=0)


@pytest.mark.parametrize(
    ("since", "said"),
    [
        (rate, "human grades"),
        (lambda owner: grade(lexical_config(), item(), Passage.objects.first(), 3), "grades that belong to"),
        (
            lambda owner: revise_item(item(), text="Which one?", seen=item().version, by=owner),
            "that belong to its",
        ),
        (
            lambda owner: open_flag(
                Subject(item().bank, item().topic, item(), None), kind=Kind.COMMENT, text="Hm.", by=owner
            ),
            "flags",
        ),
        (lambda owner: item().delete(), "Some of its items have been removed"),
    ],
    ids=["rated", "graded", "reworded", "flagged", "removed"],
)
def test_what_was_built_on_it_keeps_it(imported, client, owner, since, said):
    batch = imported(ALL)
    since(owner)
    before = rows()
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert said in page
    assert "Undo this import" not in page
    client.post(f"{PAGE}{batch.pk}/undo/")
    assert rows() == before
    assert Import.objects.get().undone_at is None
    assert "was not undone" in words(client.get(PAGE))


def test_a_later_import_keeps_it_also_one_of_the_command_line(imported, tmp_path):
    first = imported(ALL)
    second = imported({"b.run": RUN.replace("bm25", "dense")})
    assert undo.why_not(first) == "There was a later import."
    assert undo.why_not(second) == ""
    run = Folder(tmp_path).write("c.run", RUN.replace("bm25", "other"))
    import_collection("autumn", files=ImportFiles(run_files=(run,)), by=None)
    assert undo.why_not(second) == "There was a later import."


def test_an_import_that_changed_rows_cannot_be_undone(imported):
    imported(ALL)
    batch = imported({"q.txt": "t1 0 d1 0\n"}, replace="on")
    assert undo.why_not(batch) == "It changed judgments, whose earlier state is not kept."


def test_rows_that_others_added_at_the_same_moment_are_never_taken_for_its_own(collection):
    before = undo.last_keys()
    PassageFactory(collection=collection, doc_id="ours")
    counts = {"passages": {"new": 1, "changed": 0, "unchanged": 0}}
    assert list(undo.added_by(collection, counts, before)) == ["passages"]
    PassageFactory(collection=collection, doc_id="theirs")
    assert undo.added_by(collection, counts, before) == {}


def test_kinds_that_undo_does_not_know_cannot_be_undone(collection):
    counts = {"poems": {"new": 1, "changed": 0, "unchanged": 0}}
    assert undo.added_by(collection, counts, undo.last_keys()) == {}


def test_all_that_imports_count_can_be_undone(imported):
    batch = imported(ALL)
    kinds = {kind for kind, one in batch.counts.items() if one["new"]}
    assert kinds <= undo.kinds().keys()
    assert batch.added.keys() == kinds


@pytest.mark.parametrize("role", ["developer", "assessor", "viewer"])
def test_undo_is_for_organizers(imported, role, request, client_of):
    batch = imported(ALL)
    assert client_of(request.getfixturevalue(role)).post(f"{PAGE}{batch.pk}/undo/").status_code == 403
    assert Import.objects.get().undone_at is None


def test_ratings_of_another_tool_are_checked_imported_and_undone(imported, upload, client):
    imported({"queries.json": QUERIES, "graded.jsonl": GRADED, "bank.jsonl": BANK})
    text = Passage.objects.get(doc_id="d1").text
    lines = [
        {"id": 1, "text": text, "label": ["4"], "query_id": "t1", "question": RED, "user": "ana"},
        {"id": 2, "text": "Unknown.", "label": ["4"], "query_id": "t1", "question": RED, "user": "ana"},
    ]
    content = "".join(f"{json.dumps(line)}\n" for line in lines)
    checked = upload({"ana.jsonl": content})
    assert checked.files.get().read == "2 ratings"
    assert "ratings of passages that the topic's pool lacks, or has twice: 1" in " ".join(checked.notes)
    assert not HumanGrade.objects.exists()
    batch = imported({"ana.jsonl": content})
    assert HumanGrade.objects.get().rating == 4
    stamp = HumanStamp.objects.get().number
    client.post(f"{PAGE}{batch.pk}/undo/")
    assert not HumanGrade.objects.exists()
    assert HumanStamp.objects.get().number != stamp
