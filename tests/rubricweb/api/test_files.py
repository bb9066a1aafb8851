"""Files by scripts: submissions with their reports, imports that are checked and confirmed, releases."""

from __future__ import annotations

import hashlib
import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from grading.submissions import rules_as_json, rules_of
from rubricweb.corpus.models import Collection, Run
from rubricweb.jobs.worker import work_on
from rubricweb.releases.models import Release
from rubricweb.submissions.models import Submission
from tests.factories import CallFactory, TopicFactory
from tests.rubricweb.api.conftest import AT
from tests.rubricweb.imports.conftest import QRELS, QUERIES
from tests.rubricweb.submissions.conftest import answers
from tests.worked import judge, worked

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    return settings.DATA_DIR


@pytest.fixture
def call(collection):
    for query_id in ("t1", "t2"):
        TopicFactory(collection=collection, query_id=query_id, text=f"about {query_id}")
    return CallFactory(collection=collection, rules=rules_as_json(rules_of("rag25")), runs_per_team=2)


@pytest.fixture
def submit(call, participant, script_of):
    """`submit(content)` sends a file as the body of a request."""

    def submit(content: bytes, query: str = "", **headers: str):
        return script_of(participant).post(
            f"{AT}calls/{call.pk}/submissions/?name=a.jsonl{query}",
            content,
            content_type="application/x-ndjson",
            headers=headers,
        )

    return submit


def test_an_upload_is_a_submission_with_its_report(submit, participant, owner, script_of):
    content = answers("m1")
    sent = submit(content, "&type=automatic&description=A%20reader.")
    assert (sent.status_code, sent.json()["outcome"], sent.json()["team"]) == (201, "taken", "maple")
    run = Run.objects.get(run_tag="m1")
    assert (run.state, run.type, run.description) == ("submitted", "automatic", "A reader.")
    script = script_of(participant)
    assert script.get(sent["Location"]).json() == sent.json()
    assert b"".join(script.get(f"{sent['Location']}file/").streaming_content) == content
    (row,) = script.get(f"{AT}submissions/").json()["items"]
    assert (row["name"], row["digest"]) == ("a.jsonl", hashlib.sha256(content).hexdigest())
    assert script.get(f"{AT}calls/").json()["items"][0]["task"] == "generation"
    accepted = script_of(owner).post(f"{sent['Location']}accept/")
    assert (accepted.status_code, Run.objects.get().state) == (200, "accepted")
    assert script.post(f"{sent['Location']}withdraw/").status_code == 200
    assert Run.objects.get().state == "withdrawn"


def test_an_organizer_rejects_with_a_reason_that_the_team_reads(submit, participant, owner, script_of):
    place, script = submit(answers("m1"))["Location"], script_of(owner)
    assert [*script.post(f"{place}reject/").json()["errors"]] == ["reason"]
    rejected = script.post(f"{place}reject/", {"reason": "Off topic."}, format="json").json()
    assert (rejected["run_state"], rejected["reason"]) == ("rejected", "Off topic.")
    assert script_of(participant).get(place).json() == rejected
    (row,) = script_of(participant).get(f"{AT}submissions/").json()["items"]
    assert (row["outcome"], row["run_state"], row["reason"]) == ("taken", "rejected", "Off topic.")
    assert script_of(participant).post(f"{place}undo-rejection/").status_code == 404
    undone = script.post(f"{place}undo-rejection/")
    assert (undone.status_code, undone.json()["run_state"], undone.json()["reason"]) == (200, "submitted", "")
    assert script.post(f"{place}undo-rejection/").status_code == 409


def test_what_breaks_a_rule_is_in_the_report(submit):
    sent = submit(answers("m1").splitlines(keepends=True)[0])
    document = sent.json()
    assert (sent.status_code, document["outcome"], document["errors"] > 0) == (201, "refused", True)
    assert "missing_topics" in {finding["category"] for finding in document["findings"]}


def test_organizers_act_for_a_team_by_a_form(call, owner, script_of):
    at, script = f"{AT}calls/{call.pk}/submissions/", script_of(owner)
    file = SimpleUploadedFile("a.jsonl", answers("m1"))
    unnamed = script.post(at, {"file": file})
    assert (unnamed.status_code, [*unnamed.json()["errors"]]) == (400, ["team"])
    file.seek(0)
    assert script.post(at, {"file": file, "team": "maple"}).json()["outcome"] == "taken"
    assert script.post(at, {"team": "maple"}).status_code == 400


def test_a_file_that_is_sent_twice_with_a_key_is_one_submission(submit):
    key = {"Idempotency-Key": "a1"}
    first, again = submit(answers("m1"), **key), submit(answers("m1"), **key)
    assert (again.status_code, again.json()) == (201, first.json())
    assert submit(answers("m2"), **key).status_code == 422, "the same name, but another file"
    assert Submission.objects.count() == 1


def test_a_key_is_free_again_after_an_error(submit, call):
    key = {"Idempotency-Key": "a1"}
    assert submit(b"", **key).status_code == 400
    assert submit(answers("m1"), **key).status_code == 201


def test_teams_do_not_reach_each_others_submissions(submit, developer, participant, script_of):
    sent = submit(answers("m1"))
    Submission.objects.update(team="oak")
    assert script_of(participant).get(sent["Location"]).status_code == 404
    assert script_of(participant).get(f"{AT}submissions/").json()["items"] == []
    assert script_of(developer).get(f"{AT}submissions/").status_code == 403


def test_files_are_checked_then_imported_then_undone(
    collection, owner, script_of, django_capture_on_commit_callbacks
):
    script = script_of(owner)
    files = [
        SimpleUploadedFile(name, text.encode())
        for name, text in {"queries.json": QUERIES, "q.qrels": QRELS}.items()
    ]
    sent = script.post(f"{AT}imports/", {"file": files})
    at = sent["Location"]
    assert (sent.status_code, sent.json()["is_ready"]) == (202, False)
    assert script.post(f"{at}start/").status_code == 409
    work_on("import", sent.json()["id"])
    checked = script.get(at).json()
    assert checked["is_ready"]
    assert {file["name"]: file["read"] for file in checked["files"]} == {
        "queries.json": "1 topic",
        "q.qrels": "2 judgments",
    }
    assert script.post(f"{at}start/").status_code == 202
    with django_capture_on_commit_callbacks(execute=True):
        work_on("import", sent.json()["id"])
    assert (script.get(at).json()["state"], collection.topics.count()) == ("done", 1)
    assert script.delete(at).status_code == 409
    assert script.post(f"{at}undo/").status_code == 200
    assert (collection.topics.count(), script.get(at).json()["undone_at"] is None) == (0, False)
    assert script.post(f"{at}undo/").status_code == 409


def test_a_script_names_the_author_of_a_file_and_its_format(collection, owner, script_of):
    script = script_of(owner)
    line = b'{"topic_id": "t1", "run_id": "a", "sentences": [{"text": "So.", "citations": []}]}'
    at = script.post(f"{AT}imports/?name=labels.jsonl", line, content_type="text/plain")["Location"]
    batch = script.get(at).json()
    (file,) = batch["files"]
    file_at = f"{at}files/{file['id']}/"
    assert script.patch(file_at, {"author": "people"}, format="json").status_code == 409
    work_on("import", batch["id"])
    document = script.get(at).json()
    assert (document["is_ready"], document["files"][0]["takes_author"]) == (False, True)
    assert "no author" in document["files"][0]["problem"]
    named = script.patch(file_at, {"author": " my  judge "}, format="json")
    assert (named.status_code, named.json()["files"][0]["author"]) == (202, "my judge")
    work_on("import", batch["id"])
    document = script.get(at).json()
    assert document["is_ready"]
    assert {row["kind"]: row["new"] for row in document["counts"]}["labelled answers"] == 1
    assert script.patch(file_at, {"format": "no such"}, format="json").status_code == 400
    left_out = script.patch(file_at, {"format": "support-answers", "is_left_out": True}, format="json")
    assert left_out.json()["files"][0]["state"] == "excluded"


def test_what_cannot_be_read_says_where_and_is_discarded(collection, owner, script_of):
    script = script_of(owner)
    sent = script.post(f"{AT}imports/?name=q.qrels", b"t1 0 d1 3\nt1 0 d2 x\n", content_type="text/plain")
    work_on("import", sent.json()["id"])
    document = script.get(sent["Location"]).json()
    (file,) = document["files"]
    assert (file["state"], file["line"], document["is_ready"]) == ("refused", 2, False)
    again = script.post(f"{sent['Location']}check/", {"bank_name": "main", "replace": True}, format="json")
    assert (again.status_code, again.json()["options"]["bank_name"]) == (202, "main")
    work_on("import", sent.json()["id"])
    assert script.delete(sent["Location"]).status_code == 204
    assert script.get(sent["Location"]).status_code == 404


def test_an_upload_that_is_too_large_is_refused(collection, owner, script_of, settings):
    settings.UPLOAD_BYTES = 10
    script = script_of(owner)
    body = script.post(f"{AT}imports/?name=q.qrels", b"t1 0 d1 3\n" * 9, content_type="text/plain")
    form = script.post(f"{AT}imports/", {"file": SimpleUploadedFile("q.qrels", b"t1 0 d1 3\n" * 9)})
    assert (body.status_code, form.status_code) == (413, 413)
    assert not Collection.objects.get().imports.exists()


def test_a_release_is_made_downloaded_and_deleted(collection, owner, script_of):
    judge(worked(collection))
    script = script_of(owner)
    made = script.post(f"{AT}releases/", {"title": "Autumn 1.0", "license": "CC BY 4.0"}, format="json")
    at = made["Location"]
    assert (made.status_code, made.json()["state"]) == (202, "queued")
    assert script.get(f"{at}file/").status_code == 404
    assert script.delete(at).status_code == 409
    work_on("release", made.json()["id"])
    document = script.get(at).json()
    assert document["state"] == "done"
    zipped = b"".join(script.get(f"{at}file/", headers={"Accept": "application/zip"}).streaming_content)
    assert hashlib.sha256(zipped).hexdigest() == document["sha256"]
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        assert "Autumn 1.0" in archive.read("README.md").decode()
    assert script.delete(at).status_code == 204
    assert not Release.objects.exists()
