"""An import in the browser: upload, check, options, import, history; and what is refused."""

from __future__ import annotations

import gzip
import json
import re
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from rubricweb.core.models import AuditEntry
from rubricweb.corpus.models import Collection
from rubricweb.imports import actions, kind, staging
from rubricweb.imports.models import Import
from rubricweb.jobs import leases
from rubricweb.jobs.kinds import kind_of
from tests.rubricweb.import_files import FALL, RED, bank_line, database, passage, rated, uid
from tests.rubricweb.imports.conftest import OPTIONS, PAGE, QRELS, QUERIES, RUN, sent, staged, worked, zipped
from tests.rubricweb.markup import markup

pytestmark = pytest.mark.django_db

GRADED = json.dumps(["t1", [passage("d1", rated({uid(RED): 5})), passage("d2", rated({uid(RED): 0}))]])
BANK = json.dumps(bank_line(RED, FALL))
ALL = {"queries.json": QUERIES, "graded.jsonl": GRADED, "bank.jsonl": BANK, "a.run": RUN, "q.txt": QRELS}
JOBS = "/collections/autumn/grades/jobs/"


def words(answer) -> str:
    return re.sub(r"\s+", " ", markup(answer))


def files(batch: Import) -> dict[str, tuple[str, str]]:
    return {file.name: (file.format, file.read) for file in batch.files.all()}


# Upload and check


def test_a_check_says_what_each_file_is_and_what_it_would_change(upload, client, collection):
    before = database()
    batch = upload(ALL)
    assert files(batch) == {
        "queries.json": ("workbench-queries", "1 topic"),
        "graded.jsonl": ("workbench-graded", "2 graded passages"),
        "bank.jsonl": ("workbench-bank", "2 items"),
        "a.run": ("trec-run", "1 topic"),
        "q.txt": ("trec-qrels", "2 judgments"),
    }
    assert batch.counts["grades"] == {"new": 2, "changed": 0, "unchanged": 0}
    assert batch.counts["items"] == {"new": 2, "changed": 0, "unchanged": 0}
    after = database()
    for table in ("imports.Import", "imports.ImportFile"):
        before.pop(table), after.pop(table)
    assert after == before
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "5 files read. Nothing is imported yet." in page
    assert "why leaves turn red" in page
    assert "Import 5 files" in page


def test_every_refused_file_has_its_message_beside_it_and_can_be_left_out(upload, client, started):
    wrong = {"a.run": RUN + "t1 Q0 d3 3 bm25\n", "q.txt": "t1 0 d1 x\n", "lines.tsv": "t1\tred\n"}
    batch = upload(wrong | {"queries.json": QUERIES})
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "2 files refused: exclude them, or upload them corrected." in page
    assert "line 3:</strong> 5 columns, expected 6" in page
    assert "t1 Q0 d3 3 bm25" in page
    assert "line 1:</strong>" in page
    assert "Import 1 file" not in page
    assert "Choose the format of 1 file. Nothing is imported yet." in page
    for name in ("a.run", "q.txt", "lines.tsv"):
        row = batch.files.get(name=name)
        client.post(f"{PAGE}{batch.pk}/files/{row.pk}/", {"deed": "leave-out"})
        batch = worked(batch)
    assert "Import 1 file" in words(client.get(f"{PAGE}{batch.pk}/"))
    assert started(batch).is_imported
    assert Collection.objects.get(slug="autumn").topics.count() == 1


def test_what_files_say_together_is_refused_at_its_file_and_line(upload, client):
    other = GRADED.replace('"t1"', '"t9"')
    batch = upload({"queries.json": QUERIES, "graded.jsonl": other})
    assert (batch.problem_file, batch.problem_line) == ("graded.jsonl", 1)
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "query t9 is unknown, expected one of the queries of queries.json" in page
    assert "1 file refused" in page


def test_a_second_file_of_what_an_import_takes_once_is_refused(upload):
    batch = upload({"queries.json": QUERIES, "more.json": '{"t2": "why is the sky blue"}'})
    assert "queries.json has topics too" in batch.files.get(name="more.json").problem
    assert batch.counts == {}


def test_more_files_gzip_and_pasted_text(upload, client):
    batch = upload({"graded.jsonl.gz": gzip.compress(GRADED.encode())}, pasted=QRELS)
    assert sorted(name for name, _ in files(batch).values()) == ["trec-qrels", "workbench-graded"]
    client.post(f"{PAGE}{batch.pk}/add/", {"uploads": [sent("a.run", RUN)]})
    batch = worked(batch)
    assert files(batch)["a.run"] == ("trec-run", "1 topic")
    assert batch.counts["runs"]["new"] == 1


def test_a_zip_is_its_files(upload):
    batch = upload({"all.zip": zipped({f"track/{name}": text for name, text in ALL.items()})})
    assert sorted(files(batch)) == sorted(f"track/{name}" for name in ALL)
    assert batch.counts["grades"]["new"] == 2
    assert staged(batch) == sorted(ALL)


def test_a_refused_zip_has_its_message_and_the_other_files_stay(upload, client):
    batch = upload({"bad.zip": zipped({"../a.run": RUN}), "queries.json": QUERIES})
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "bad.zip: ../a.run" in page
    assert "names a place outside of the zip" in page
    assert "Import 1 file" in page
    assert staged(batch) == ["queries.json"]


def test_an_upload_without_anything_keeps_the_page(client, collection):
    answer = client.post(PAGE, {"pasted": " "})
    assert answer.status_code == 422
    assert "Choose a file, or paste text." in words(answer)
    assert not Import.objects.exists()


def test_an_upload_over_the_limit_is_refused_by_name(upload, client, settings):
    settings.UPLOAD_BYTES = 100
    batch = upload({"queries.json": QUERIES, "big.run": RUN * 10})
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "the upload is too large, expected at most 100 bytes at once" in page
    assert batch.files.get(name="big.run").problem
    assert staged(batch) == ["queries.json"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/etc/passwd", "a\\..\\..\\x", "x" * 400, "."])
def test_no_name_leads_out_of_the_folder(collection, owner, name, data_dir):
    batch = actions.begin_import(collection, by=owner)
    [file] = [staging._stage(batch, staging.shown_name(name), [b"t1 0 d1 1\n"])]
    path = staging.path_of(file).resolve()
    assert path.parent == (data_dir / "imports" / str(batch.pk) / str(file.pk)).resolve()
    assert path.read_bytes() == b"t1 0 d1 1\n"


def test_a_file_that_may_be_two_things_waits_for_its_format(upload, client, started):
    batch = upload({"lines.tsv": "t1\twhy leaves turn red\n"})
    file = batch.files.get()
    assert file.fitting_formats == ["topics-tsv", "passages-tsv"]
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "Choose the format of 1 file. Nothing is imported yet." in page
    assert 'value="topics-tsv">Topics as TSV</button>' in page
    assert "file refused" not in page
    assert "Import 1 file" not in page
    client.post(f"{PAGE}{batch.pk}/files/{file.pk}/", {"format": "topics-tsv"})
    batch = worked(batch)
    assert files(batch) == {"lines.tsv": ("topics-tsv", "1 topic")}
    assert batch.files.get().fitting_formats == []
    assert started(batch).is_imported


def test_options_are_checked_before_they_are_imported(upload, client, started):
    batch = started(upload(ALL), bank_name="other", judgments="lowest", min_relevant="2")
    assert (batch.step, batch.state) == ("check", "done")
    assert not Collection.objects.get().banks.exists()
    batch = started(batch, bank_name="other", judgments="lowest", min_relevant="2")
    assert batch.is_imported
    assert [bank.name for bank in Collection.objects.get().banks.all()] == ["other"]


def test_a_whole_response_can_be_one_passage(upload, client, started):
    answer = [{"text": "Leaves turn red.", "citations": []}, {"text": "Chlorophyll goes.", "citations": []}]
    metadata = {"team_id": "a", "run_id": "r1", "type": "automatic", "narrative_id": "t1", "narrative": "x"}
    response = json.dumps({"metadata": metadata, "references": [], "answer": answer})
    batch = upload({"queries.json": QUERIES, "r1.jsonl": response})
    assert batch.counts["passages"]["new"] == 2
    started(batch, passages_of="response")
    assert started(Import.objects.get(), passages_of="response").is_imported
    [made] = Collection.objects.get().passages.all()
    assert made.text == "Leaves turn red. Chlorophyll goes."


def test_documents_are_cut_into_passages(upload, client, started):
    text = " ".join(f"This is sentence {n}." for n in range(20))
    documents = "\n".join(json.dumps({"id": key, "text": text}) for key in ("d1", "d2"))
    batch = started(upload({"docs.jsonl": documents}), is_segmenting="on")
    assert started(batch, is_segmenting="on").is_imported
    assert Collection.objects.get().passages.count() == 2 * 3


def test_the_order_of_candidates_can_be_a_run(upload, started):
    candidates = [{"docid": f"d{n}", "score": 9 - n, "doc": {"contents": f"Text {n}."}} for n in (1, 2)]
    request = json.dumps({"query": {"qid": "t1", "text": "why leaves turn red"}, "candidates": candidates})
    batch = started(upload({"requests.jsonl": request}), candidates_run="reranked")
    assert started(batch, candidates_run="reranked").is_imported
    run = Collection.objects.get().runs.get()
    assert (run.run_tag, run.rankings.get().doc_ids) == ("reranked", ["d1", "d2"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"bank_name": ""},
        {"judgments": "best"},
        {"min_relevant": "-1"},
        {"passages_of": "word"},
        {"candidates_run": "two words"},
    ],
)
def test_options_that_do_not_fit_keep_the_page(upload, client, wrong):
    batch = upload(ALL)
    for way in ("start", "check"):
        answer = client.post(f"{PAGE}{batch.pk}/{way}/", OPTIONS | wrong)
        assert answer.status_code == 422
        assert "field-error" in markup(answer)
    assert Import.objects.get().state == "done"


# Importing


def test_the_import_does_what_the_check_said(upload, client, started, owner):
    checked = upload(ALL)
    batch = started(checked)
    assert batch.is_imported
    assert batch.counts == checked.counts
    assert staged(batch) == []
    assert AuditEntry.objects.get(verb="collection imported").by == owner
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "What it changed" in page
    assert "Import 5 files" not in page
    history = words(client.get(PAGE))
    assert f"Import {batch.pk}" in history
    assert "2 grades" in history
    assert "1 run, 1 ranking" in words(client.get(JOBS))
    again = upload(ALL)
    assert {(one["new"], one["changed"]) for one in again.counts.values()} == {(0, 0)}
    assert "checked, not imported yet" in words(client.get(JOBS))
    started(again)
    assert "changed nothing" in words(client.get(JOBS))


def test_a_contradiction_is_refused_unless_it_replaces(upload, started, client):
    started(upload(ALL))
    other = {"q.txt": "t1 0 d1 0\n"}
    batch = upload(other)
    assert "is judged 0 here and 3 in the collection" in batch.problem
    batch = started(started(batch, replace="on"), replace="on")
    assert batch.is_imported
    assert batch.counts["judgments"] == {"new": 0, "changed": 1, "unchanged": 0}


def test_what_changed_since_the_check_is_refused_and_the_files_stay(upload, started, client):
    first, second = (
        upload({"q.txt": QRELS, "queries.json": QUERIES}),
        upload({"queries.json": '{"t1": "other words"}'}),
    )
    assert started(first).is_imported
    batch = started(second)
    assert not batch.is_imported
    assert "expected one text a query id" in batch.problem
    assert staged(batch) == ["queries.json"]
    assert Collection.objects.get().topics.get().text == "why leaves turn red"


def test_an_import_that_was_lost_in_the_middle_is_made_again_once(upload, client, monkeypatch):
    """The first worker dies after its last statement, before the commit."""
    batch = upload(ALL)
    client.post(f"{PAGE}{batch.pk}/start/", OPTIONS)
    real = kind.leases.finish

    def dies(lease, **fields):
        real(lease, **fields)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind.leases, "finish", dies)
    with pytest.raises(KeyboardInterrupt):
        worked(batch)
    assert not Collection.objects.get().topics.exists()
    assert staged(batch) == sorted(ALL)
    monkeypatch.undo()
    Import.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    batch = worked(batch)
    assert (batch.is_imported, batch.attempts) == (True, 2)
    assert batch.counts["grades"]["new"] == 2


def test_a_worker_that_lost_its_lease_imports_nothing(upload, client):
    batch = upload(ALL)
    client.post(f"{PAGE}{batch.pk}/start/", OPTIONS)
    lease = leases.claim(kind_of(batch), batch.pk)
    Import.objects.update(worker="another")
    with pytest.raises(leases.LeaseLost):
        kind.write(lease)
    assert not Collection.objects.get().topics.exists()


def test_an_error_that_passes_is_tried_again(upload, monkeypatch, client):
    batch = upload(ALL)
    client.post(f"{PAGE}{batch.pk}/check/", OPTIONS)

    def overloaded(*args, **kwargs):
        raise OperationalError("too many locks")

    monkeypatch.setattr(kind, "import_collection", overloaded)
    assert (worked(batch).state, worked(batch).attempts) == ("queued", 2)
    batch = worked(batch)
    assert (batch.state, batch.error) == ("failed", "OperationalError: too many locks")
    assert "Nothing was imported." in words(client.get(f"{PAGE}{batch.pk}/"))


def test_a_worker_without_the_files_says_what_it_needs(upload, client, data_dir, redis_server):
    redis_server.flush()  # no worker of another test is alive
    batch = upload(ALL)
    client.post(f"{PAGE}{batch.pk}/check/", OPTIONS)
    data_dir.rename(data_dir.with_name("elsewhere"))
    batch = worked(batch)
    assert batch.state == "failed"
    assert "RUBRIC_DATA_DIR" in batch.error


def test_nothing_changes_while_a_worker_has_it(upload, client, redis_server):
    batch = upload(ALL)
    client.post(f"{PAGE}{batch.pk}/start/", OPTIONS)
    page = words(client.get(f"{PAGE}{batch.pk}/"))
    assert "No worker is running that can do this" in page
    assert "sse:progress" in page
    file = batch.files.first()
    for address, content in {
        f"files/{file.pk}/": {"deed": "leave-out"},
        "add/": {"uploads": [sent("b.run", RUN)]},
        "discard/": {},
        "leave-out/": {},
        "check/": OPTIONS,
    }.items():
        assert client.post(f"{PAGE}{batch.pk}/{address}", content).status_code == 302
    batch.refresh_from_db()
    assert (batch.state, batch.step, batch.files.count()) == ("queued", "write", len(ALL))
    assert not batch.files.filter(is_left_out=True).exists()


# Discarding


def test_discarding_deletes_the_files(upload, client, django_capture_on_commit_callbacks):
    batch = upload(ALL)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(f"{PAGE}{batch.pk}/discard/")
    assert not Import.objects.exists()
    assert staged(batch) == []


def test_files_that_nobody_imports_are_deleted_after_a_week(upload, owner, collection):
    old, new = upload(ALL), upload({"q.txt": QRELS})
    Import.objects.filter(pk=old.pk).update(created_at=timezone.now() - actions.KEPT_FOR)
    actions.begin_import(collection, by=owner)
    assert not Import.objects.filter(pk=old.pk).exists()
    assert Import.objects.filter(pk=new.pk).exists()


# The page


def test_the_part_is_the_page_without_its_frame(upload, client):
    batch = upload(ALL)
    part = markup(client.get(f"{PAGE}{batch.pk}/", headers={"HX-Request": "true"}))
    assert part.lstrip().startswith("<div")
    assert "<html" not in part


def test_pages_ask_few_questions_whatever_the_number_of_files(upload, client, django_assert_max_num_queries):
    batch = upload({f"run{n}.run": RUN.replace("bm25", f"run{n}") for n in range(30)} | {"q.json": QUERIES})
    with django_assert_max_num_queries(12):
        client.get(f"{PAGE}{batch.pk}/")
    with django_assert_max_num_queries(12):
        client.get(PAGE)
